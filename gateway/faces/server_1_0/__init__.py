"""The face of 1.0 clients: their connections, sessions and links in the bridge's verbs.

connection     who the client is, its virtual host, its sessions
session        one session: its links, and what their deliveries wait for
attach         what a terminus names, and what is answered
approach       a link that wants to publish to a remote queue, while its upstream is asked
producer       a link by which a client publishes; batch: many messages in one delivery
consumer       a link by which a client consumes or browses
control_link   a link to the gateway's transaction coordinator
transactions   the transactions of one connection
"""
