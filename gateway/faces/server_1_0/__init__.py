"""The face of 1.0 clients: their connections, sessions and links in the bridge's verbs.

connection     one connection, and the sessions that live on it
opening        how it opens: who the client is, and which virtual host it names
session        one session: what is said on its links, and what it waits for
links          its links, by what they are for; ended: those that are over, and sessions
attach         what a terminus names; terminus: what is answered to it; on_demand: a node to be made
permissions    what a link asks for, in the words of access rules; node_access: of a node
approach       a link that wants to publish to a remote queue, while its upstream is asked
producer       a link by which a client publishes; batch: many messages in one delivery
arrivals       the messages that come by it, and which of them it may publish
dropped        deliveries that came when nobody took them any more
answers        what the client hears of what it publishes
consumer       a link by which a client consumes or browses
suspended      links that may be attached again; lasting_source: what is unsettled of one;
               lasting_target: what came by one
unsettled      what was sent by a link, and the transactions that outcomes wait in
control_link   a link to the gateway's transaction coordinator
transactions   the transactions of one connection
"""
