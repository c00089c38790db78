"""AMQP 1.0, sans-IO and for both roles: codec, connection, session, link.

    types       primitive encodings <-> Tagged                       part 1
    primitives/ what `types` is made of, and typed fields
    _spec*      described list types, and conditions (generated)     parts 2 to 5
    sections    a message's sections, found without decoding         part 3.2
    frames      frame header, performatives and SASL frames          part 2.3, 5.3
    states      the state tables of connection, session and link
    errors      what a peer can break, and the scope that it ends
    events      what a connection tells its driver
    connection  one connection: octets in, events out                part 2.4
    layers, sasl_layer, inbox, timers   its beginning, reading and deadlines
    channels    the sessions of a connection; carrier: what they share of it
    session     one session; handles: its links                      part 2.5
    link        one link                                             part 2.6
    transfers/  what they keep of transfers until they are settled
    receiving   what comes for a session, taken apart                parts 2.5 to 2.7
    settling    what dispositions say of which deliveries            part 2.7.6
    weighing    what of it is kept takes of memory
    redirects   where a peer sends us instead                        part 2.8
    transactions   the controller's side                             part 4

`receiving` and `settling` make the events, which name sessions and links; these know neither.
`session`, `link`, `handles`, `transfers.outgoing` and `transfers.send_window` name one another: a
link is of a session and a delivery of a link, as the drivers have it for every message, to which a
protocol in between would be a cost.

It knows nothing of queues, exchanges, transports or clocks.
"""
