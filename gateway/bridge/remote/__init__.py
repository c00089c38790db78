"""Nodes that live at an upstream, and copies on their way to and from it.

remote              what the bridge and an upstream are to one another
nodes               the remote nodes of one virtual host
inlet, feed         a subscription to a remote queue; a binding to a remote exchange
transit, keeping    what becomes of copies on their way, and of those that came settled
moving              nodes that change their place while the bridge is at work
transaction, transacted_copies   a transaction whose resource is an upstream
"""
