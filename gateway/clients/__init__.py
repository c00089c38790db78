"""Small Twisted clients of both protocols, on the same connections as the faces, in client role.

They make `send`, `receive` and the demo. `letter` is what they say in common; each protocol's
client turns it into its own commands.
"""
