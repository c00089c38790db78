"""The admin port: metrics, health, and what an operator may ask.

http       the port itself
channel    one connection to it: what of a request is read
tokens     who may ask what
control    what may be asked with the admin token
status     upstreams and node rules at a glance
connections     who is there, and whose connection is to end
subscriptions   durable subscriptions, and whose they are
measures   a reader for every row of `gateway.metrics`
"""
