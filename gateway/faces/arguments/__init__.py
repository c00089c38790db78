"""By what queues and exchanges are declared: the arguments of 0-10, as deployed clients spell them.

of_queues, of_exchanges   what they mean
of_nodes                  dynamic nodes of 1.0, by the properties of their termini
fates                     what becomes of each, for people
"""
