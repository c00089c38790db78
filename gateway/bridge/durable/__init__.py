"""What of the bridge outlives the process.

topology_rows     rows of exchanges, queues and bindings
row_fields, discipline_fields  the texts and values of which rows are made, and a queue's more
topology_writes   writes and removes them as exchanges and queues change
recovery          from rows and entries to a bridge that is at work
checkpoint        what every queue, subscription and exchange has, for the audit log
homes             where queues lived when their rows were written
absent            queues that the store has and the configuration has not
imports           what `store import` has put into the store, for the audit log
dispatched        which recovered copies may have been seen
notes             small things of others, in pages
subscriptions     durable subscriptions of 1.0 clients, and whose they are
debts             bindings that are to be removed at an upstream
"""
