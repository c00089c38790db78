"""From a 0-10 broker to the gateway: what a survey holds, what it means, what is planned from it.

document          a survey: what is there at the old broker, as one YAML or JSON document
qmf, broker_j     of a qpidd's management objects, and of Broker-J's REST, to such a document
arguments         what becomes of the arguments of a queue
findings          what of it will not work the same behind the gateway
plan              from a survey, the gateway's configuration and what is to be made at the target
planned_nodes     which exchanges, queues and bindings of it can be in that configuration
targets           what brokers that take the queues over can do, and what is made at them
written           how a plan is written

No I/O: who asks a broker is `clients.management`, who reads and writes files `cli.migrate`.
"""
