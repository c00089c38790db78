"""The admin port: metrics, health, and what an operator may ask.

http       the port itself
channel    one connection to it: what of a request is read
tokens     who may ask what
control    what may be asked with the admin token
status     upstreams and node rules at a glance
measures   a reader for every row of `gateway.metrics`
"""
