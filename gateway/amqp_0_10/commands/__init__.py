"""The commands of one session: what comes for it, and which are completed.

receiving            what comes for it, taken apart
late                 what comes for it when it is over
incoming, progress   the peer's commands, and ours: which are completed
replay               what was sent, and is kept to be sent again
"""
