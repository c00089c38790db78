"""Queues that the store has and the bridge has not: what they hold is kept, and accounted for.

Their virtual host is not configured, or their row cannot be read. Nobody can subscribe to them or
publish to them; a later start may have them back. At each start until then their copies are
recovered in the audit log, and their checkpoints go on.
"""

from __future__ import annotations

from typing import final

from gateway.audit.digests import entry_mix


@final
class AbsentQueue:
    """All absent queues of one name.

    Attributes:
        node: the audit log's number of its name.
        depth, octets, checksum: of what it holds, as those of a `Queue`.
        entered: of these, what an import has brought since the last start.
    """

    __slots__ = ("checksum", "depth", "entered", "node", "octets")

    def __init__(self, node: int) -> None:
        self.node = node
        self.depth = 0
        self.octets = 0
        self.checksum = 0
        self.entered = 0

    def hold(self, message_id: int, position: int, size: int) -> None:
        """A copy that the store has."""
        self.depth += 1
        self.octets += size
        self.checksum ^= entry_mix(message_id, position)
