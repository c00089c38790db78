"""What the houses of upstreams share, whatever protocol an upstream speaks.

dialled         one upstream, as the net layer dials it
context         what all that one upstream has shares
settings        what the configuration says to it, and what it counts
health          how it is, for operators
addresses       what its nodes are called
location        where it is; transports: the connections to it; sleepers: deadlines
takers          whoever receives from it
receiver_states what a receiver goes through
reaching        who waits for a node, and what they are told
outflow         the bridge's side of sending: the subscription to the queue in front of it
returns         what becomes of a copy, by what the upstream says of it
bindings_first  what is sent to an exchange waits for the exchange's subscriptions
suspicion       what is made of connections that break with messages under way
seen_before     messages that it may send again
"""
