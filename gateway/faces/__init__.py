"""Faces: what a protocol's commands mean in the bridge's verbs; one per protocol and role.

Four houses, which do not import one another (`.importlinter`):

    server_0_10    clients of 0-10
    server_1_0     clients of 1.0
    upstream_1_0   1.0 containers that the gateway dials
    upstream_0_10  0-10 brokers that it dials

and what they share:

    dialled        upstreams, whatever they speak: settings, health, what comes back of what is sent
    face           what every face offers to its driver, and what it is given; counts
    client         a server's client: who it is, and what its sessions have in common
    visit          one connection in the audit log and in the log's lines
    doubt          what one connection makes the gateway hold, by octets
    arguments      by what queues and exchanges are declared
    access         what clients may, by the access rules in force; asking: questions about nodes
    hiding         what a new node would take from 1.0 clients
    replying       on whose behalf what comes by reply nodes of an upstream is published
    withdrawn      a transaction's publishes, decided again at its commit by other rules
    agenda         what one connection has asked for; a share of it is done in a turn
    leaving        the end of a connection, a share of a turn at a time; sessions that outlive it
    owning         who has what a session declares exclusively
    containers     connections of 1.0 by the container that opened them
    accounts       what is kept for users, virtual hosts and upstreams, by octets
    room           how much a connection is given ahead of what its transport takes
    safe_with      what is done once its turn is safe
    host_nodes     the names of a virtual host; placed: which of them are an upstream's
    source_filters, outcomes, dynamic    1.0 sources, delivery states and dynamic nodes
    features, feature_uses, losses, qmf  what is not offered or does not cross, counted and told
    checking     one translation of 64, held against what came

No Twisted, no clock; a new protocol or role is a new house.
"""
