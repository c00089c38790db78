"""Spark jobs that prove from the audit log that every message is accounted for.

reconcile, __main__     the job, and how it is run
source, columns         segments as a Spark data source, each as columns
chain                   is the log whole
sealed                  what its seals are worth
ledger, identities      all records summed up; what must be equal
balance                 each identity over a log, and the sums that people see
kept                    small frames, worked out once
silence, counters       what checkpoints do not name, and what they count
copies, messages        single copies and messages: which was lost, left twice or changed
outlets, transactions   deliveries that never ended; transactions that were half done
order, ages             what overtook another; what was late, or is there for too long
breaks                  what is wrong, in one form; what of it is proven
report, page            what people are told
verdicts                and what other programs are
session, java, bundle   Spark: one here, its Java, what a cluster is given

Imports the standard library, numpy, pyarrow, pyspark, and of `audit` only what reads, so that one
zip for `--py-files` carries it (`bundle`); with trusted keys the driver needs `cryptography`, too.
The daemon never imports it.

A job is: read, check the schema, named steps from data frame to data frame, write. Only steps
decide anything, and steps read nothing.
"""
