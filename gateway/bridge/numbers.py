"""Numbers that are never given twice in the life of a data directory.

Each run of the gateway has an incarnation, and numbers from a range of its own: so those that only
memory ever knew - of transient messages, of positions long consumed - do not come again either.
"""

from __future__ import annotations

from typing import Final, final

MESSAGE_BITS: Final = 40
QUEUE_BITS: Final = 32


@final
class Numbers:
    """Counters of one incarnation; all fit in 63 bits.

    Attributes:
        first_position: of a new queue. Positions ascend across incarnations, and a queue begins
            above all that were deleted: one that comes again has no place that its namesake had.
    """

    __slots__ = ("_link", "_message", "_owner", "_queue", "_transaction", "first_position")

    def __init__(self, incarnation: int) -> None:
        self.first_position = incarnation << MESSAGE_BITS
        self._message = incarnation << MESSAGE_BITS
        self._queue = incarnation << QUEUE_BITS
        self._link = 0
        self._owner = 0
        self._transaction = 0

    def above(self, message_id: int) -> None:
        """`message_id` was given before: go on above it."""
        self._message = max(self._message, message_id)

    def queue_deleted(self, next_position: int) -> None:
        """A queue has given out all positions below `next_position`."""
        self.first_position = max(self.first_position, next_position)

    def next_message(self) -> int:
        """For `Message.id`: never given before in the life of the data directory."""
        self._message += 1
        return self._message

    def next_queue(self) -> int:
        """For `Queue.number`."""
        self._queue += 1
        return self._queue

    def next_link(self) -> int:
        """For subscriptions and publishers; unique in this run only."""
        self._link += 1
        return self._link

    def next_owner(self) -> int:
        """For owners; unique in this run only."""
        self._owner += 1
        return self._owner

    def next_transaction(self) -> int:
        """For transactions; unique in this run only."""
        self._transaction += 1
        return self._transaction
