"""Branches of distributed transactions (XA): work that somebody else decides about.

branch       one branch: what it is called, where it stands, who works in it
branches     those of a virtual host, and the verbs: start, prepare, commit, roll back, forget
holding      deliveries that were accepted in a branch: they are the branch's until its end
shelf        what a prepared branch is to publish, in the store and in the audit log
ending       prepare and rollback, over several turns where they are much
rows         what the store keeps of one
recovering   from rows and entries to branches that are prepared
"""
