"""The admin port: metrics, health, and what an operator may ask.

http       the port itself
control    what may be asked with the admin token
status     upstreams and node rules at a glance
measures   a reader for every row of `gateway.metrics`
"""
