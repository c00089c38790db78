"""What rests in the log, read again.

fetching                for queues that want a part of it
recalling               all that it held at the beginning, for whoever recovers it
kept_rows, rereading    rows that were read for that; what is in them
"""
