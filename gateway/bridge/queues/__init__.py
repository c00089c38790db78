"""Copies in their places, and who gets which.

queue           one queue: its copies in order, who holds which, what it may hold
places          the copies of a queue, each in its place
copies          how copies come into queues and leave them
dead_letters    rejected copies that wait for a later turn
deadlines       the next message that expires, the next queue to be deleted; expiring: in a queue
subscription    an outlet's claim on a queue; credit: what it may be sent
discipline      what a queue does beyond first in, first out
entrance        what a queue lets in, of what is routed to it
alarms          when people are to hear of how much is in a queue
contents        files and streams, of which room is made otherwise
flow            whose publishes wait until there is less in a queue
bands           which copy is next, by level of priority; last_values: the newest of each key
groups          which subscription may have it; keys: by what they are told apart
numbering       the numbers that a queue gives its copies
line            a queue's subscriptions, and which of them gets the next copy; looking: by cursor
latency         how long publishers are not told, and copies not settled
dispatch        from queues to outlets, a bounded number in a turn
"""
