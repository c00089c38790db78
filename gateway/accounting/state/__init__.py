"""What a run of the job leaves for the next, so that this reads only what is new.

folder     the directory that it is in: whole, or the one before
carried    which records are carried on, and which are settled for good
"""
