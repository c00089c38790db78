"""The face of upstreams: 1.0 containers that the gateway dials, as a client.

upstream                 one upstream: what the bridge asks of it, and its connection's life
context                  what all its links share; they know this, and not the upstream
connection               one transport to it, from SASL to close
slot, links              what keeps one link over connections, and all of them
sessions                 those of a connection, and which of them a link gets
states                   the table of what a slot goes through
detours                  links that it redirects, to another address or container
errors                   what its errors mean to clients
tokens                   claims-based security, for upstreams that want it
transactions             the link to its coordinator, and the transactions on it
sending/                 from a queue in transit to the upstream
receiving/               from the upstream to subscriptions and bindings
managing/                what is made and removed through its management node
"""
