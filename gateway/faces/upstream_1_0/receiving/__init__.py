"""From an upstream to subscriptions and bindings.

receiver      one link for one subscription of a client
feeder        one link for one binding of a queue to a remote exchange
feeders       all of them
incoming_link the life of such a link, for either
intake        what comes by either: deliveries as messages, and their outcomes back
sources       the filters that the links ask for
reply_nodes   nodes at the upstream by which replies come back
look_ups      whether a node exists
unheard       those of links whose detach has not been answered
"""
