"""Nodes that live at an upstream, and copies on their way to and from it.

remote              what the bridge and an upstream are to one another
nodes, sources      the remote nodes of one virtual host; what stands for upstreams in the ledger
inlet, inlets       subscriptions to remote queues
feed, feeds         bindings to remote exchanges
carrying            what an upstream's queue holds on its way to another place
reaching            what a verb waits for at an upstream
transit, keeping    what becomes of copies on their way, and of those that came settled
shadows             what is published to a queue, sent to another upstream, too
moving              nodes that change their place while the bridge is at work
transaction, transacted_copies   a transaction whose resource is an upstream
"""
