"""One message in one queue, as the store has it. Compiled: a start makes one for each."""

from __future__ import annotations

from typing import final

from mypy_extensions import mypyc_attr

from gateway.message import Message


@final
@mypyc_attr(acyclic=True)
class Entry:
    """One of them.

    Attributes:
        queue_id, position: as they were given to `TurnWriter.enqueue`.
        delivery_count, annotations: the last `TurnWriter.redelivered`, else the message's own
            count and none.
        message: shared by all entries of that message; its `publisher` is 0, its `reader` `None`.
    """

    __slots__ = ("annotations", "delivery_count", "message", "position", "queue_id")

    def __init__(self, queue_id: int, position: int, delivery_count: int, message: Message) -> None:
        self.queue_id = queue_id
        self.position = position
        self.delivery_count = delivery_count
        self.message = message
        self.annotations = b""
