"""The face of 0-10 clients: their connections, sessions and commands in the bridge's verbs.

connection                  negotiation, and the sessions that live on it
session                     one session: its commands by class, and which are complete
transfers                   message.transfer into the bridge
deliveries, unsettled       transfers out; accept, reject, release and acquire back
subscription, subscriptions message.subscribe, flow, stop, cancel
declare                     the classes exchange and queue
transactions                the class tx
parking                     commands that wait, in their order
errors                      conditions as exceptions of 0-10
"""
