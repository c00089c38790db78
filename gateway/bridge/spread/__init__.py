"""What is done over several turns, as it may be too much for one.

spread          pieces of work, by turns
clearing        queues of which more goes than can go in one turn
entering        what enters over several turns, and as one
committing      transactions that do
displacing      what others take the place of, in rings and by key
rerouting       a message on its way through alternate exchanges
"""
