"""The turn under way: its number, what it makes durable, and who waits for it to be safe.

A turn is safe when every turn up to it that wrote anything durable is committed; one that wrote
nothing becomes safe with those before it, at once if there are none outstanding. While the disk
refuses, what only has an audit block is outstanding, too: nothing is safe that is not in the log.
What is to be durable as one may need more than one pass of the event loop: the turn stays open.
"""

from __future__ import annotations

from collections import deque
from typing import final

from gateway.bridge.seams import CommitWaiter
from gateway.bridge.spread.spread import Spread
from gateway.message import Message
from gateway.store.interface import Store
from gateway.store.writes import TurnWriter


@final
class TurnBook:
    """Numbers turns, hands them to the store and answers the waiters.

    Attributes:
        number: of the turn under way.
        safe: the latest turn that is safe.
        writes: what the turn under way makes durable; messages go through `store_message`.
        blocked: the disk refuses.
        open: it does not end yet, however often that is asked for (see `entering`).
        spread: what is done over several turns.
    """

    __slots__ = (
        "_blocks",
        "_ended",
        "_outstanding",
        "_store",
        "_stored",
        "_waiters",
        "blocked",
        "number",
        "open",
        "safe",
        "spread",
        "writes",
    )

    def __init__(self, store: Store) -> None:
        self.number = 1
        self.safe = 0
        self.blocked = False
        self.open = False
        self.writes = TurnWriter()
        self.spread = Spread()
        self._store = store
        self._stored: set[int] = set()
        self._blocks: list[bytes] = []  # of the turn under way, while it is open
        self._waiters: dict[int, CommitWaiter] = {}
        self._ended: deque[tuple[int, list[CommitWaiter]]] = deque()
        self._outstanding: deque[int] = deque()

    def store_message(self, message: Message) -> None:
        """Write the message unless this turn has done so already."""
        if message.id not in self._stored:
            self._stored.add(message.id)
            self.writes.message(message)

    def wait(self, waiter: CommitWaiter) -> int:
        """Tell `waiter` once the turn under way is safe; its number."""
        self._waiters[id(waiter)] = waiter
        return self.number

    def idle(self) -> bool:
        """Whether nothing waits for a commit."""
        return not (self._outstanding or self._ended or self._waiters or self.open)

    def end(self, audit_block: bytes) -> None:
        """Submit the turn under way and begin the next; tell who need not wait longer.

        While it is open, its audit blocks are kept for its end, and that is all.
        """
        if self.open:
            self._blocks.append(audit_block)
            return
        if self._blocks:
            self._blocks.append(audit_block)
            audit_block = b"".join(self._blocks)
            self._blocks.clear()
        number = self.number
        writes = self.writes.take()
        self._stored.clear()
        if self._waiters:
            self._ended.append((number, list(self._waiters.values())))
            self._waiters = {}
        if writes or (audit_block and self.blocked):
            self._outstanding.append(number)
        self.number = number + 1
        if writes or audit_block:
            self._store.submit(number, writes, audit_block)
        self._tell()

    def octets_waiting(self) -> int:
        """What the store has been given and has not written yet."""
        return self._store.counts.octets_waiting

    def committed(self, turn: int) -> None:
        """Everything up to `turn` is on disk."""
        outstanding = self._outstanding
        while outstanding and outstanding[0] <= turn:
            outstanding.popleft()
        self._tell()

    def _tell(self) -> None:
        self.safe = self._outstanding[0] - 1 if self._outstanding else self.number - 1
        ended = self._ended
        while ended and ended[0][0] <= self.safe:
            number, waiters = ended.popleft()
            for waiter in waiters:
                waiter.on_committed(number)
