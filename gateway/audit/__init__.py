"""The audit log: every lifecycle step of every copy of every message is one record.

schema             the format, for writers and readers alike
records/           from steps to records, on the reactor's thread; the contract
packing            numbers and frames of records
digests            what messages and queues are compared by
shares             of all messages, by their ids
seals              what the log was when its gateway said so
segment            writes records and seals to files, on the commit thread
sealing            makes the seals
signing            signs them, and checks who did
segment_file       one of these files: what of it is surely on disk
whereabouts        whether a file that is written is still where it was
reader             reads them
salvage            and what stands behind damage
printable          names, as a terminal may have them
story              where a message went, for people
verify             is a whole log as it was written
books, shelf       what stretches of the log came to, so that they may go; all of them
let_go              what of it is gone on purpose
retention, archive  which segments may go; keeps them elsewhere
seen, provenance   what the seals are worth, and who has signed them
elsewhere          what is known of a log that is not in it
ends               where the log begins and ends, as the store remembers it
last_nodes         which node a copy was in, by the log alone
ahead              whether the log goes on behind all that the store knows

`gateway.accounting` proves from it that nothing was lost.
"""
