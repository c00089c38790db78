"""Steps from data frame to data frame: all that decides anything.

ledger, identities      all records summed up; what must be equal
balance                 each identity over a log, and the sums that people see
silence, counters       what checkpoints do not name, and what they count
causes, supposed        what of that single copies explain, or may, which are told of
mistaken, otherwise     steps that a record has of another copy than the one that took them
copies, messages        single copies and messages: which was lost, left twice or changed
checked                 translations by which more is lost than was said
confirmed               what publishers were told, and is not so
outlets, transactions   deliveries and transactions that never ended, or were half done
strays                  what only seemed to be complete in its part of the log
order, ages             what overtook another; what was late, or is there for too long
breaks                  what is wrong, in one form; what of it is proven
kept, parsed            small frames, worked out once; expressions, parsed once
"""
