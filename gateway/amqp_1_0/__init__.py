"""AMQP 1.0, sans-IO and for both roles: codec, connection, session, link.

    types       primitive encodings <-> Tagged                       part 1
    fields      typed reads and writes that the generated codec calls
    _spec       one class per described list type (generated)        parts 2 to 5
    sections    a message's sections, found without decoding         part 3.2
    frames      frame header, performatives and SASL frames          part 2.3, 5.3
    states      the state tables of connection, session and link
    events      what a connection tells its driver
    connection, session, link   the endpoints themselves

It knows nothing of queues, exchanges, transports or clocks.
"""
