"""The embedded durable store: turns packed into octets, committed in groups, recovered.

interface, entries      what the bridge and the service know of a store
sqlite, memory          the durable one; one that forgets
writes, log_rows        what a turn makes durable; a row of the log, which holds many turns
committer, database     the commit thread; the SQLite file below it
contents, failures      what any connection to that reads; what SQLite raises
untouched               whether the file is as SQLite has left it
copying                 a copy that is made while it is used
lock                    who has the data directory
outside                 what one who is not its gateway can read of it
trouble, reserve        what the disk refuses, and when it is over; room set aside for that
slowness                a disk that does not answer
unlogged                which audit records a kill would lose meanwhile
damage                  what is not as it was written, and what of it is good
recovery                from turns to the entries of queues in memory
occupancy               which rows are still needed
places, tallies         in which the living entries are; what is counted of each row
rewriting               how the others go
recall/                 what rests in the log is read again
spill                   pages of queues that do not fit into memory, for the life of the process
"""
