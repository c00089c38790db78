"""Queues that are larger than memory: pages of copies that rest on disk until somebody comes near.

paging          which pages go, which come back, and who waits for them
moving          pages on their way, and who waits for them
away            what stays of a page that is away; its copies as octets, and back
laying          a page that a start leaves on disk
disk            the protocol of where those octets are
"""
