"""Small Twisted clients of both protocols, on the same connections as the faces, in client role.

letter                     a message without a protocol: what the clients say in common
client                     what both offer, and what drives them
client_0_10, codec_0_10    a client of 0-10; letters as its messages
client_1_0, codec_1_0      the same of 1.0
conversation               one conversation on Twisted's reactor
tools, demo                what `send`, `receive` and the demo do
management, broker_j       what `migrate survey` asks a 0-10 broker; by Broker-J's REST
survey, findings           what `check --connect` does: all upstreams, and what was found out
probed, probe, probe_0_10  one peer: what is asked and told, and who asks in which protocol
"""
