"""Messages, exchanges, queues, subscriptions, credit and the ledger; no protocol is named.

    bridge, turns              all virtual hosts, and the turn that is under way
    host                       one virtual host: its parts, which faces hold, and what spans them
    publishing, subscribing, settlement, declaring, transacting   what the verbs do
    placing                    copies into queues: at once, or over several turns
    unwritten                  what waits for the store's thread, and whose it is
    topology, owners, refusals, node_names, numbers   names, who owns them, and their numbers
    senders                    links that send to a queue or exchange, until that is deleted
    confirming                 what publishers are told of their messages
    transaction, tickets       work done as one; who hears of the end of a copy
    ledger                     every step of every copy: one record, one count
    pressure, quotas, limits   what all together hold, what one user or host does, and may hold
    awaited                    what a stop waits for, in words
    living                     every queue there is, some at a time
    seams                      the values and protocols that the verbs are spoken in
    exchanges/                 from a message to the queues that get a copy
    queues/                    copies in their places, and who gets which
    paging/                    queues that are larger than memory
    spread/                    what is done over several turns
    staging/                   content that comes in parts before it is published
    branches/                  work that a manager of distributed transactions decides about
    remote/                    nodes that live at an upstream
    durable/                   what outlives the process

Faces import these of it, and nothing else (held by a contract in `.importlinter`):

    seams                      what the verbs take and answer, and whom the bridge calls
    remote.remote              the same between the bridge and an upstream
    bridge, host               the whole, and one virtual host
    publishing, subscribing, settlement, transacting, declaring, topology, owners, numbers,
    exchanges.bindings, remote.reaching   their parts, to hold what is called
    queues.queue, exchanges.exchange   what names stand for: to read, not to change
    queues.subscription, transaction   what subscribe and begin answer
    branches.branch, branches.branches   distributed transactions
    queues.discipline          to say how a queue is declared
    confirming                 to say what publishers are told
    unwritten                  to say for whom something is done
    staging.area               what is staged, to go on with
    exchanges.filters          filters that the bridge knows, to be given to subscribe
    durable.debts              what is still to be removed at an upstream
"""
