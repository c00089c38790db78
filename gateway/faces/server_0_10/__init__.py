"""The face of 0-10 clients: their connections, sessions and commands in the bridge's verbs.

connection                  one connection: what came by it, carried out in its order
sessions                    those that live on it, from attach to their end
negotiation                 how it opens: who the client is, and which virtual host it wants
session                     one session: who carries out which command, and when
away                        one that has no connection: its state waits for the next
answers                     what the client is told: complete, accepted, rejected, failed
transfers                   message.transfer into the bridge
outlet, outlets             what a session is sent messages by, whichever class: base of both
subscription, credit        transfers out, as far as message.flow allows
unsettled, deliveries       what was sent; accept, reject, release and acquire
subscriptions               message.subscribe, flow, stop, cancel
contents/                   the classes file and stream
declare                     the classes exchange and queue
transactions                the class tx, and work in a branch; distributed: the class dtx
permissions                 what a command asks for, in the words of access rules
parking                     commands that wait, in their order
errors                      conditions as exceptions of 0-10
"""
