"""From a message to the queues that get a copy.

exchange          an exchange and its bindings: direct, fanout, and what is sent elsewhere
headers, topic    the routers of those types; trie: the binding keys of topic
bindings          what may be bound, for how long
unbinding         very many bindings that go at once
marks             what an exchange does with each message beside routing it
filters, scopes   what keeps messages from a binding, and what ends it
"""
