"""From a queue of the bridge to its node at an upstream.

relay            the outlet of that queue
outflow          the bridge's side of it: the subscription to the queue
sender           one link to one address, and what is unsettled on it
returns          what becomes of a copy, by what the upstream says of it
bindings_first   what is sent to an exchange waits for the exchange's subscriptions
credit_watch     tells of addresses that give no credit
suspicion        what is made of connections that break with messages under way
"""
