"""What all queues hold, in sums: one walk over them, in pieces, for whatever an answer tells.

Each queue is counted as it is when the walk comes by (see `bridge.living`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Placement, Target
from gateway.wire.work import COUNTED, WORK

PIECE: Final = 100  # queues


@final
@dataclass(slots=True)
class Load:
    """What the queues in front of an upstream, or of all of them, and behind it hold.

    Attributes:
        held: messages to it whose publishers wait to hear of them.
        spooled: messages to it that the gateway has stored, their publishers told.
        shadowed: copies for shadows at it.
        fetched: messages from it that no client has settled.
        waiting, unsettled: of those, what is not under way and what is, by direction.
        oldest_ms: when the oldest of those to it came; `None`: there is none.
    """

    held: int = 0
    spooled: int = 0
    shadowed: int = 0
    fetched: int = 0
    waiting: dict[str, int] = field(default_factory=lambda: {"sent": 0, "received": 0})
    unsettled: dict[str, int] = field(default_factory=lambda: {"sent": 0, "received": 0})
    oldest_ms: int | None = None

    def add(self, queue: Queue) -> None:
        """One more of its queues."""
        direction = "received" if queue.inbound else "sent"
        self.waiting[direction] += queue.available
        self.unsettled[direction] += queue.unsettled
        if queue.inbound:
            self.fetched += queue.depth
            return
        if queue.target == Target.SHADOW:  # nobody waits for these
            self.shadowed += queue.depth
            return
        if queue.transit:
            self.held += queue.depth
        else:
            self.spooled += queue.depth
        came_ms = queue.places.oldest_ms()
        if came_ms is not None:
            self.oldest_ms = came_ms if self.oldest_ms is None else min(self.oldest_ms, came_ms)


@final
@dataclass(slots=True)
class Share:
    """What the nodes of one placement hold.

    Attributes:
        names: of its queues, with their virtual hosts.
    """

    names: set[tuple[str, str]] = field(default_factory=set)
    waiting: int = 0
    unsettled: int = 0


@final
class Census:
    """The sums of the last walk.

    Attributes:
        unsettled: copies that somebody has and has not settled.
        loads: by upstream; `of` has one for each.
        shares: by placement.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.unsettled = 0
        self.loads: dict[str, Load] = {}
        self.shares: dict[Placement, Share] = {}

    def of(self, upstream: str) -> Load:
        """What is on its way to that upstream, and from it."""
        return self.loads.get(upstream) or Load()

    def take(self) -> Iterator[None]:
        """Count anew; what there is of an earlier walk stays until this one is done."""
        unsettled = 0
        loads: dict[str, Load] = {}
        shares: dict[Placement, Share] = {}
        queues = self.bridge.living_queues()
        while not queues.done:
            WORK.units += COUNTED * PIECE
            for queue in queues.some(PIECE):
                unsettled += queue.unsettled
                placement = queue.placement
                if placement is not None:
                    loads.setdefault(placement.remote.name, Load()).add(queue)
                    share = shares.setdefault(placement, Share())
                    share.names.add((queue.host, queue.name))
                    share.waiting += queue.available
                    share.unsettled += queue.unsettled
            yield
        self.unsettled, self.loads, self.shares = unsettled, loads, shares


def named_queues(bridge: Bridge) -> Iterator[tuple[str, list[Queue]]]:
    """Those that clients see, with their virtual hosts, a few at a time."""
    for name, host in list(bridge.hosts.items()):
        queues = list(host.topology.queues.values())
        for begin in range(0, len(queues), PIECE):
            WORK.units += COUNTED * PIECE
            yield name, [queue for queue in queues[begin : begin + PIECE] if not queue.deleted]
