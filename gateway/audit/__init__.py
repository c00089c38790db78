"""The audit log: every lifecycle step of every copy of every message is one record.

schema             the format, for writers and readers alike
records, packing   from steps to records, on the reactor's thread; numbers and frames of these
segment            writes them to files, on the commit thread
segment_file       one of these files: what of it is surely on disk
reader             reads and verifies them
ends               where the log begins and ends, as the store remembers it

`gateway.accounting` proves from it that nothing was lost.
"""
