"""Faces: what a protocol's commands mean in the bridge's four verbs; one per protocol and role.

Three houses, which do not import one another (`.importlinter`):

    server_0_10    clients of 0-10
    server_1_0     clients of 1.0
    upstream_1_0   1.0 containers that the gateway dials

and what they share:

    face           what every face offers to its driver, and what it is given
    crossings      what is needed to translate: contexts, and whose user-id is whose
    doubt          what one connection makes the gateway hold, by octets
    placed         which nodes are an upstream's
    safe_with      what is done once its turn is safe
    filters, outcomes, dynamic           1.0 sources, delivery states and dynamic nodes
    features, feature_uses, losses, qmf  what is not offered or does not cross, counted and told

No Twisted, no clock; a new protocol or role is a new house.
"""
