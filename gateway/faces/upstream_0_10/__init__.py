"""The face of upstreams of 0-10: old brokers that the gateway dials, as a client.

upstream      one upstream: what the bridge asks of it, and its connection's life
connection    one transport to it, from SASL to close
sessions      what keeps one session over connections, and all of them
known         which of its nodes there are
relay         from a queue in transit to the upstream
outgoing      a message as it is sent there
replies       how answers find their way, both ways
unconfirmed   what a relay has sent and the upstream has not confirmed
receiver      from the upstream to one subscription
feeder        from one of its exchanges to a queue that is bound here
consumer      the subscription of either, and its credit
intake        what comes by it: transfers as messages, and their outcomes back
look_ups      whether a node exists
errors        what its errors mean to clients

Each relay and each receiver has a session of its own: an exception ends the session, and so
concerns nobody else.
"""
