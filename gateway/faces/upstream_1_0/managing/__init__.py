"""Queues and bindings at an upstream whose management the gateway speaks (RabbitMQ 4).

management   requests to the management node, and their answers
queues       queues that are made, deleted or emptied
managed      what is made for one binding
tidying      what is removed again
"""
