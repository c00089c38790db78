"""Spark jobs that prove from the audit log that every message is accounted for.

reconcile, __main__     the job, and how it is run
command_line, addresses, lengths   the words it is run with
reading, state          one log as it is read; what a run leaves for the next
judging                 all breaks of one log, put together
rows                    of several results, by one job
runs, once              the directories of runs; what follows a reconciliation
several                 several logs in one run
following               a run as often as segments are closed
closing                 another job: a closed book, of a reconciliation of closed segments
comparing               another one: what one side says against another, message by message
segments                the log as a data source; is it whole
steps                   what must be equal, and what is wrong where it is not
locations               where all of it is: paths of this machine, URIs of others
telling                 what people and other programs are told
session, java, bundle   Spark: one here, its Java, what a cluster is given
classes                 what Java has of Spark's classes, kept from run to run
memory, partitions      what Java may have of it; what is little, and stays in one piece
scratch, signals        where its temporary files are; how it is told to end

Imports the standard library, numpy, pyarrow, pyspark, and of `audit` only what reads, so that one
zip for `--py-files` carries it (`bundle`); with trusted keys the driver needs `cryptography`, too,
and workers that read a ledger of ids `xxhash`.
The daemon never imports it.

A job is: read, check the schema, named steps from data frame to data frame, write. Only steps
decide anything, and steps read nothing.
"""
