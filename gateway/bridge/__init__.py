"""Messages, exchanges, queues, subscriptions, credit and the ledger; no protocol is named here.

bridge, turns              all virtual hosts, and the turn that is under way
host                       one virtual host: its parts, which faces hold, and what spans them
publishing, subscribing, settlement, declaring, transacting   what the verbs do
topology, owners, refusals, node_names, numbers   names, who owns them, and their numbers
transaction, tickets       work done as one; who hears of the end of a copy
ledger                     every step of every copy: one record, one count
pressure, limits           what all together hold, and may hold
seams                      the values and protocols that the verbs are spoken in
exchanges/                 from a message to the queues that get a copy
queues/                    copies in their places, and who gets which
remote/                    nodes that live at an upstream
durable/                   what outlives the process
"""
