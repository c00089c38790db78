"""From a queue of the bridge to its node at an upstream.

relay            the outlet of that queue
sender           one link to one address, and what is unsettled on it
credit_watch     tells of addresses that give no credit
"""
