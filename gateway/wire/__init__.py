"""Protocol-neutral bricks.

buffers               `Reader` and `Writer`: the only two that touch octets
tagged                a value with the type that it has on the wire
serial, numbers       serial numbers and sets of them; small numbers, given out and given back
machine               state machines as tables
durations             how long something took, in buckets
dns_names, places     names of hosts, as they are compared; where else there are containers
limits, accounts      what keeps one peer from harming the gateway; what is kept for it, in octets
work                  what verbs cost, in units, and how much of it is too much
sasl, bearer          SASL mechanisms; those that show a token
scram, scram_server   those of SCRAM: what both sides know with the client's side; the server's
gssapi_server         GSSAPI, the server's side, around a context that somebody else has
cram_md5, digest_md5  those of clients from before SCRAM, the server's side; md5: what they need
"""
