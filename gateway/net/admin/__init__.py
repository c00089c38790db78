"""The admin port: metrics, health, and what an operator may ask.

http       the port itself
channel    one connection to it: what of a request is read
unread     what has come and is not looked at
clear      who speaks plain HTTP where HTTPS is spoken
missing    what is said of a path that nothing is at
tokens     who may ask what
control    what may be asked with the admin token
asked      how that is read
shadows    what is mirrored: begun and ended, and counted
status     upstreams and node rules at a glance
connections     who is there, and whose connection is to end
sessions   those that are kept without a connection, and links that are suspended
subscriptions   durable subscriptions, and whose they are
moves      what is carried from upstream to upstream, and its metrics
branches   distributed transactions, and how operators end them
measures   a reader for every row of `gateway.metrics`
samples    what readers make of what is counted
expiring   certificates that are shown to upstreams
limits     what things are limited to
products   connections by what their clients are
by_queue   readers for the rows that are by name of queue
scrape     metrics as they are asked for
census     what all queues hold, in sums
keeping    what is kept of the audit log
disk       how much of the data directory there is
pieces     requests, and what answers are made of, a piece a pass of the event loop
answers    long answers while they are read
"""
