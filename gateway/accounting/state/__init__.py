"""What a run of the job leaves for the next, so that this reads only what is new.

folder     the directory that it is in: whole, or the one before
keeping    its files, here and elsewhere
carried    which records are carried on, and which are settled for good
opening    what a closed book has of a state, and how a run begins with that
condensed  which checkpoints it can do without, and what is summed up then
"""
