"""AMQP 1.0, sans-IO and for both roles: codec, connection, session, link.

    types       primitive encodings <-> Tagged                       part 1
    primitives/ what `types` is made of, and typed fields
    _spec       one class per described list type (generated)        parts 2 to 5
    sections    a message's sections, found without decoding         part 3.2
    frames      frame header, performatives and SASL frames          part 2.3, 5.3
    states      the state tables of connection, session and link
    errors      what a peer can break, and the scope that it ends
    events      what a connection tells its driver
    connection  one connection: octets in, events out                part 2.4
    layers, sasl_layer, inbox, timers   its beginning, reading and deadlines
    session     one session; unsettled, dispositions, send_window    part 2.5
    link        one link; outgoing: the deliveries that it sends     part 2.6

It knows nothing of queues, exchanges, transports or clocks.
"""
