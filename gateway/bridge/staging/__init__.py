"""Content that is staged: sent in parts, possibly by several connections, before it is published.

area      what is staged in one virtual host, whose it is, and until when
rows      what the store has of it
"""
