"""Shadows: what is published to a queue goes to another upstream, too, and nobody notices.

A shadow is a queue of the gateway's own, in memory alone, in front of that upstream. Whatever comes
of it - the upstream is away, slow, or refuses - ends in that queue: what is not within the bound of
the shadow, or would have the gateway hold more than its low-water mark, leaves it as soon as it has
come, evicted. So its copies count for nobody's quota, no publisher waits for them, and the audit
log has each of them: `routed` beside the message's own route, `entered`, and how it ended.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.digests import is_in_share
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.queue import Queue
from gateway.bridge.quotas import NOBODY
from gateway.bridge.remote.remote import Placement
from gateway.bridge.topology import Topology
from gateway.message import NEVER, NO_TTL, Flag, Message
from gateway.wire.work import COPY, PUBLISH, WORK

# Facts of the arrival that are also the copy's; what its publisher wants to be told is not.
KEPT: Final = int(Flag.REDELIVERED | Flag.TIMES_IN_MS | Flag.EMPTY_BODY | Flag.FILE | Flag.STREAM)


@final
class Shadowing:
    """What a rule says of the shadow of its queues.

    Attributes:
        placement: of the shadow; its `way` makes the address.
        share: which messages it gets (`digests.is_in_share`).
        octets_max: of copies that wait, or are under way, each with `COPY_OCTETS`.
        ttl_ms: what a copy has at most, from its coming on; 0: what the message has.
        mark: annotations of each copy: an encoded AMQP 1.0 map.
    """

    __slots__ = ("mark", "octets_max", "placement", "share", "ttl_ms")

    def __init__(
        self, placement: Placement, *, share: int, octets_max: int, ttl_ms: int, mark: bytes
    ) -> None:
        self.placement = placement
        self.share = share
        self.octets_max = octets_max
        self.ttl_ms = ttl_ms
        self.mark = mark


@final
class Shadow:
    """That of one queue.

    Attributes:
        queue: its own.
        held: octets of what waits for the commit of a transaction.
    """

    __slots__ = ("held", "how", "queue")

    def __init__(self, queue: Queue, how: Shadowing) -> None:
        self.queue = queue
        self.how = how
        self.held = 0

    def change(self, how: Shadowing) -> None:
        """Other bounds from now on; its node is the same."""
        self.how = how
        self.queue.placement = how.placement

    def has_room(self, size: int) -> bool:
        """Whether one more, of `size`, is within its bound."""
        queue = self.queue
        kept = queue.octets + COPY_OCTETS * queue.depth + self.held
        return kept + size + COPY_OCTETS <= self.how.octets_max


@final
class Later:
    """A message of a transaction at an upstream, for a shadow when that is committed.

    Attributes:
        octets: that it holds; 0: there is no room, and only its number is known.
    """

    __slots__ = ("message", "octets", "shadow")

    def __init__(self, shadow: Shadow, message: Message, octets: int) -> None:
        self.shadow = shadow
        self.message = message
        self.octets = octets


@final
class Shadows:
    """Those of one virtual host.

    Attributes:
        by_queue: by the number of the queue whose it is.
    """

    __slots__ = ("_copies", "_topology", "by_queue")

    def __init__(self, topology: Topology, copies: Copies) -> None:
        self._topology = topology
        self._copies = copies
        self.by_queue: dict[int, Shadow] = {}

    def queues(self) -> list[Queue]:
        """Their own."""
        return [shadow.queue for shadow in self.by_queue.values()]

    def begin(self, queue: Queue, shadow: Shadow) -> None:
        """`queue` has a shadow from now on."""
        self.by_queue[queue.number] = shadow
        queue.shadowed = True

    def end(self, queue: Queue) -> Shadow | None:
        """It has none any more; which it had."""
        queue.shadowed = False
        return self.by_queue.pop(queue.number, None)

    def on_published(self, queue: Queue, message: Message) -> None:
        """A message has come into `queue`: a copy for its shadow, if that gets it."""
        shadow = self._of(queue, message)
        if shadow is not None:
            self._enter(shadow, message, whole=True)

    def hold(self, queue: Queue, message: Message) -> Later | None:
        """A message was published in a transaction that may yet be rolled back."""
        shadow = self._of(queue, message)
        if shadow is None:
            return None
        octets = len(message.payload) + COPY_OCTETS
        if not shadow.has_room(len(message.payload)):
            return Later(shadow, message.hollow(), 0)
        shadow.held += octets
        return Later(shadow, message, octets)

    def let_go(self, later: Later, *, committed: bool) -> None:
        """That transaction is over."""
        shadow = later.shadow
        shadow.held -= later.octets
        if committed and not shadow.queue.deleted:
            self._enter(shadow, later.message, whole=later.octets > 0)

    def _of(self, queue: Queue, message: Message) -> Shadow | None:
        shadow = self.by_queue.get(queue.number)
        if shadow is None or not is_in_share(message.id_digest, shadow.how.share):
            return None
        return shadow

    def _enter(self, shadow: Shadow, message: Message, *, whole: bool) -> None:
        WORK.units += PUBLISH + COPY
        copies = self._copies
        ledger = copies.ledger
        queue = shadow.queue
        transaction = ledger.transaction
        ledger.transaction = 0  # it is none of what its publisher may roll back
        size = len(message.payload)
        fits = whole and shadow.has_room(size) and copies.pressure.has_slack(size)
        default = self._topology.exchanges[""]
        ledger.shadowed(message, default)
        if fits:
            copy = _copy(message, shadow.how, ledger.now_ms)
            copies.enter(queue, copy, default, True, shadow.how.mark, NOBODY)
            self._topology.lines[queue.number].on_entered()
        else:
            entry = queue.pass_by(message)
            ledger.entered(queue, entry, default, True)
            ledger.unshadowed(queue, entry)
        ledger.transaction = transaction


def _copy(message: Message, how: Shadowing, now_ms: int) -> Message:
    """The same octets, nobody's: with a time to live that is not above the shadow's."""
    copy = message.with_octets(message.payload, message.body_at)
    copy.flags = message.flags & KEPT
    copy.publisher = 0
    end_ms = now_ms + how.ttl_ms
    if how.ttl_ms and (copy.expires_ms == NEVER or copy.expires_ms > end_ms):
        copy.expires_ms = end_ms
        if copy.ttl_ms == NO_TTL or copy.ttl_ms > how.ttl_ms:
            copy.ttl_ms = how.ttl_ms
    return copy
