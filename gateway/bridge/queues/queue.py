"""One queue: its copies in order, who holds which, and what it may hold.

A queue knows neither subscriptions nor the store: `dispatch` asks it for the next copy, `copies`
puts in and takes out. Which copy nobody holds is next, its `band` says, or that of each level of
priority; once copies are kept from some subscription (`choosy`), each subscription looks on its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, final

from gateway.audit.digests import entry_mix
from gateway.bridge.queues.alarms import Alarm
from gateway.bridge.queues.bands import CONTENT, Band, Bands, is_higher, kind_of
from gateway.bridge.queues.contents import Contents, divided, is_file
from gateway.bridge.queues.discipline import NO_ALERTS, NO_FLOW, FlowLimits, Policy
from gateway.bridge.queues.entrance import Entrance
from gateway.bridge.queues.expiring import Expiring
from gateway.bridge.queues.flow import FlowControl
from gateway.bridge.queues.groups import Groups
from gateway.bridge.queues.last_values import LastValues
from gateway.bridge.queues.numbering import Numbering
from gateway.bridge.queues.places import (
    AVAILABLE,
    NO_PAGE,
    PAGE_BITS,
    Away,
    AwayCopy,
    Entry,
    Page,
    Places,
)
from gateway.bridge.quotas import NOBODY, Stock
from gateway.bridge.remote.remote import Placement, Target
from gateway.bridge.seams import Owner, QueueSettings
from gateway.message import NEVER, Message

EVERYTHING: Final = (1 << 62) - 1


class Emptied(Protocol):
    """Who wants to know that nothing is in a queue any more: a virtual host's owners."""

    def on_empty(self, queue: Queue) -> None:
        """The last copy has left."""


@final
class QueueRows:
    """The rows that the store has of one queue.

    Attributes:
        key: of each.
        written: it has that of the queue itself.
        marked: it knows that the queue was dispatched from.
        safe_after: the turn whose commit allows the first dispatch; -1 is "no need".
        seen_before: copies at positions before it came back, and may have been seen: each counts
            one failed delivery that is not among those which the store has of it.
    """

    __slots__ = ("key", "marked", "safe_after", "seen_before", "written")

    def __init__(self, key: str) -> None:
        self.key = key
        self.written = False
        self.marked = False
        self.safe_after = -1
        self.seen_before = 0


@final
class Users:
    """Who uses one queue.

    Attributes:
        subscriptions: how many there are now; `consumers` of them acquire.
        links: subscriptions that live or have unsettled deliveries.
        ever: it has had a subscription.
        delete_at_ms: when the queue is to be deleted unless it is used again.
    """

    __slots__ = ("consumers", "delete_at_ms", "ever", "links", "subscriptions")

    def __init__(self) -> None:
        self.subscriptions = 0
        self.consumers = 0
        self.links = 0
        self.ever = False
        self.delete_at_ms = NEVER


@final
class Queue:
    """One queue of one virtual host.

    Attributes:
        number: unique in the life of the data directory; `Delivery.queue`.
        host, name, settings: as declared.
        owner: whoever has it exclusively, or `None`.
        users: its subscriptions, counted.
        octets: payload octets of all copies, acquired ones included.
        unsettled: copies that are acquired.
        deleted: gone by name; it lives on until its acquired copies are settled.
        clearing: of a deleted queue: it has other copies still, which leave over several turns.
        placement: of a remote node, where it lives; `None` for local ones.
        target: what of the upstream its copies go to, when it stands in front of one.
        transit: it holds what is on its way only, and whoever sent a copy hears of its end.
        inbound: of a transit queue: it stands behind the upstream, for one subscription.
        rows: what the store has of it.
        bindings: by exchange name, then key; what they are, the exchange knows.
        behind: copies from this position on are nobody's yet: those of a commit are still coming.
        promised, promised_octets: room that is kept for copies that are still coming.
        band: all copies in their order, of a queue without priorities; `bands`: else, by level.
        last_values: of a queue that keeps those: which copies they are.
        groups: of a queue that has those.
        numbering: of a queue that counts its copies.
        memory_count, memory_size: what is in memory of it, where it is declared so: the rest is on
            disk, if it may be; 0: however much.
        alarm: of a queue that is to tell how much is in it.
        rings: what enters it when it is full pushes others out, unless it is remote.
        expiring: which of its copies expires next.
        evicting: a ring lets copies go, of which none may come back to it meanwhile.
        destructs: it is deleted when more is in it than may be, unless it is remote.
        displaces: it rings, destructs, or keeps last values.
        entrance: what it lets in.
        emptied: who is told when it is empty; `None`: nobody need be.
        flow: whose publishes wait for room in it; `None`: nobody's do.
        contents: files and streams in it, once there were any.
        shadowed: what is published to it has a shadow.
    """

    __slots__ = (
        "alarm",
        "armed_ms",
        "band",
        "bands",
        "behind",
        "bindings",
        "by_name",
        "checksum",
        "choosy",
        "clearing",
        "contents",
        "deleted",
        "destructs",
        "displaces",
        "emptied",
        "entered",
        "entrance",
        "evicting",
        "expiring",
        "flow",
        "groups",
        "host",
        "inbound",
        "last_values",
        "max_count",
        "max_size",
        "memory_count",
        "memory_size",
        "name",
        "next_position",
        "node",
        "node_name",
        "number",
        "numbering",
        "octets",
        "only",
        "owner",
        "placement",
        "places",
        "promised",
        "promised_octets",
        "recovered",
        "rings",
        "rows",
        "settings",
        "shadowed",
        "target",
        "transit",
        "unsettled",
        "users",
    )

    def __init__(
        self,
        number: int,
        host: str,
        name: str,
        key: str,
        settings: QueueSettings,
        first_position: int,
    ) -> None:
        self.number = number
        self.host = host
        self.name = name
        self.rows = QueueRows(key)
        self.settings = settings
        self.node = 0  # the audit log's number of its name
        self.node_name = ""  # that name, when it is another than `name`
        self.max_count = settings.max_count
        self.max_size = settings.max_size
        self.owner: Owner | None = None
        self.only = [self]
        # What the default exchange routes to it: nobody publishes to a subscription by its name.
        self.by_name = self.only if settings.subscriber is None else []
        self.bindings: dict[str, Mapping[str, object]] = {}
        self.users = Users()
        self.deleted = False
        self.clearing = False
        self.armed_ms = NEVER  # what `Deadlines` has it for
        self.places = Places()
        self.next_position = first_position
        discipline = settings.discipline
        self.rings = discipline.policy == Policy.RING or discipline.policy == Policy.RING_STRICT
        self.band = Band(self.places)
        levels, value_key = discipline.levels, discipline.last_value_key
        self.bands: Bands | None = Bands(levels, discipline.fair) if levels else None
        self.last_values: LastValues | None = LastValues(value_key) if value_key else None
        self.evicting = False
        self.entrance = Entrance(settings)
        self.emptied: Emptied | None = None
        self.groups: Groups | None = None
        if discipline.group_key:
            self.groups = Groups(discipline.group_key, discipline.no_group, self.places)
        number_header = discipline.number_header
        self.numbering: Numbering | None = Numbering(number_header) if number_header else None
        self.memory_count = 0
        self.memory_size = discipline.paged
        if discipline.policy == Policy.FLOW_TO_DISK:
            self.memory_count, self.max_count = self.max_count, 0
            sizes = [each for each in (self.max_size, discipline.paged) if each]
            self.memory_size, self.max_size = min(sizes, default=0), 0
        self.alarm: Alarm | None = None
        if discipline.alerts != NO_ALERTS:
            self.alarm = Alarm(host, name, discipline.alerts)
        self.destructs = discipline.policy == Policy.SELF_DESTRUCT
        self.displaces = self.rings or self.destructs or self.last_values is not None
        self.contents: Contents | None = None
        flow = discipline.flow
        self.flow: FlowControl | None = FlowControl(flow) if flow != NO_FLOW else None
        self.expiring = Expiring(self.places)
        self.choosy = False
        self.octets = 0
        self.unsettled = 0
        self.entered = 0
        self.recovered = 0
        self.checksum = 0
        self.placement: Placement | None = None
        self.target = Target.QUEUE
        self.transit = False
        self.inbound = False
        self.shadowed = False
        self.behind = EVERYTHING
        self.promised = 0
        self.promised_octets = 0

    def holds(self, position: int) -> bool:
        """Whether the copy at `position` has not left."""
        return self.places.holds(position)

    @property
    def depth(self) -> int:
        """Copies in it, acquired ones included."""
        return self.places.count

    @property
    def left(self) -> int:
        """Copies that are not in it any more, since the start."""
        return self.entered + self.recovered - self.places.count

    @property
    def shown(self) -> int:
        """Copies in it that a commit which is under way does not hide."""
        return self.places.count - max(0, self.next_position - self.behind)

    @property
    def available(self) -> int:
        """Copies that nobody has acquired."""
        return self.places.count - self.unsettled

    @property
    def durable(self) -> bool:
        """Whether it, and durable messages in it, survive a restart."""
        return self.settings.durable

    @property
    def kept(self) -> bool:
        """Whether its name and bindings survive a restart: it is durable, or a rule makes it."""
        return self.settings.durable or (self.transit and not self.inbound)

    def lane_of(self, entry: Entry) -> int:
        """In which lane a copy keeps its place: copies of one pass none of it."""
        if self.groups is not None:
            return self.groups.lane_of(entry)
        return 0 if self.bands is None else self.bands.level_of(entry.message)

    def bound_to(self) -> list[tuple[str, str]]:
        """Exchange and key of each binding."""
        return [(exchange, key) for exchange, keys in self.bindings.items() for key in keys]

    def keeps_out(self, message: Message) -> bool:
        """Whether `message` is not to enter, though a binding leads here.

        The queue is deleted, and its bindings are still taken out of the routers; or it is nothing
        that the queue was declared for.
        """
        return self.deleted or self.entrance.keeps_out(message, self.owner)

    def full_for(self, size: int, count: int = 1) -> bool:
        """Whether its own limits forbid so many more messages, of `size` octets together.

        Of a ring those that would have no room in it if it were empty; of one that destructs none.
        """
        if (self.rings or self.destructs) and self.placement is None:
            return self.rings and self._is_full_ring(size, count)
        return self._lacks_room(size + self.promised_octets, count + self.promised)

    def is_full_for(self, message: Message) -> bool:
        """Whether its own limits forbid that message.

        There is room for files, whose publishers wait, and for what of streams others make room.
        """
        size = len(message.payload)
        if not self.full_for(size):
            return False
        if not message.flags & CONTENT or self.placement is not None or self.evicting:
            return True
        return self.max_size > 0 and size > self.max_size

    def await_files(self) -> None:
        """Files come: whoever publishes them waits while more is in it than may be."""
        contents = self._contents()
        if contents.flows or self.flow is not None or self.placement is not None:
            return
        contents.flows = True
        count, size = self.max_count, self.max_size
        if count or size:
            limits = FlowLimits(
                stop_count=count,
                stop_size=size,
                resume_count=count + 1 if count else 0,
                resume_size=size + 1 if size else 0,
            )
            self.flow = FlowControl(limits)
            self.flow.came(self.places.count, self.octets)

    def is_over(self) -> bool:
        """Whether more is in it than its own limits allow."""
        return self._lacks_room(0, 0)

    def _is_full_ring(self, size: int, count: int) -> bool:
        if self.evicting:
            return True
        if self.max_size and size > self.max_size and count == 1:
            return True
        if self.settings.discipline.policy == Policy.RING or not self._lacks_room(size, count):
            return False
        oldest = self.places.next_at(0)
        return oldest is not None and oldest.holder != AVAILABLE

    def _lacks_room(self, size: int, count: int) -> bool:
        if self.max_count and self.places.count + count > self.max_count:
            return True
        return self.max_size > 0 and self.octets + size > self.max_size

    def why_full(self) -> str:
        """What a publisher is told whose message its own limits forbid."""
        limits: list[str] = []
        if self.max_count:
            limits.append(f"max_count is {self.max_count}")
        if self.max_size:
            limits.append(f"max_size is {self.max_size}")
        return f"queue {self.name!r} is full: {', '.join(limits)}"

    def promise(self, count: int, octets: int) -> None:
        """Keep room for copies that are still coming, or less of it since they come."""
        self.promised += count
        self.promised_octets += octets

    def append(self, message: Message, durable: bool, stock: Stock) -> Entry:
        """A new copy at the end, for `stock`."""
        entry = Entry(self.next_position, message, message.delivery_count, durable, stock)
        self.put(entry)
        self.entered += 1
        return entry

    def pass_by(self, message: Message) -> Entry:
        """A copy that leaves as soon as it has come: it has had a place."""
        entry = Entry(self.next_position, message, message.delivery_count, False, NOBODY)
        self.next_position += 1
        self.entered += 1
        return entry

    def put(self, entry: Entry) -> None:
        """A copy at its position, which is behind all others: new, or recovered."""
        position = entry.position
        message = entry.message
        if message.flags & CONTENT:
            self.expect(message)
        self.next_position = position + 1
        self.places.append(entry)
        if self.bands is not None:
            self.bands.put(entry)
        if self.contents is not None:
            self.contents.put(entry, self.lane_of(entry) if self.bands is not None else 0)
        if self.groups is not None:
            self.groups.put(entry)
        if self.numbering is not None:
            self.numbering.put(entry)
        self.octets += len(message.payload)
        if self.flow is not None:
            self.flow.came(self.places.count, self.octets)
        self.checksum ^= entry_mix(message.id, position)
        if message.expires_ms != NEVER:
            self.expiring.came(position, message.expires_ms)

    def lay(self, number: int, away: Away, kinds: bytes) -> None:
        """A page that is recovered, and on disk; what comes next is in another one.

        `kinds`: of its copies, each of which was expected.
        """
        self.places.lay(number, away, away.messages)
        if self.bands is not None:
            self.bands.lay(number, away, kinds)
        if self.contents is not None:
            self.contents.lay(number, kinds, self.bands)
        self.next_position = (number + 1) << PAGE_BITS
        self.octets += away.payload
        self.checksum ^= away.mix
        if self.flow is not None:
            self.flow.came(self.places.count, self.octets)

    def _contents(self) -> Contents:
        """What there is of content of classes, from now on."""
        contents = self.contents
        if contents is None:
            contents = Contents(self.places, rings=self.rings, bands=self.bands)
            self.contents = contents
        return contents

    def expect(self, message: Message) -> None:
        """A file or a stream's message comes: of these there are two levels of priority at least.

        Messages stay in their order: they are all of the lower one.
        """
        contents = self._contents()
        local = self.placement is None and not self.transit
        # Where such content came while the queue was none of ours, what is on disk is in no order.
        known = contents.higher == 0 or self.places.away == 0
        if (
            self.bands is None
            and self.groups is None
            and local
            and known
            and is_higher(kind_of(message))
        ):
            self.bands = divided(self.places, contents)

    def remove(self, entry: Entry) -> None:
        """The copy leaves the queue, whoever held it."""
        self.places.remove(entry)
        if self.contents is not None:
            self.contents.count(kind_of(entry.message), -1)
        if self.bands is not None:
            self.bands.remove(entry)
        if self.last_values is not None:
            self.last_values.remove(entry.position)
        if self.groups is not None:
            self.groups.remove(entry)
        if self.numbering is not None:
            self.numbering.remove(entry.position)
        message = entry.message
        self.octets -= len(message.payload)
        if self.flow is not None:
            self.flow.left(self.places.count, self.octets)
        self.checksum ^= entry_mix(message.id, entry.position)
        if entry.holder != AVAILABLE:
            self.unsettled -= 1
        if self.places.count == 0:
            self._forget()

    def send_away(self, page: Page, away: Away) -> None:
        """The copies of a page are on disk from now on."""
        self.places.send_away(page, away)
        if self.bands is not None:
            self.bands.send_away(page.number, away)

    def bring_back(self, page: Page, away: Away, entries: list[Entry | None]) -> None:
        """And here again; of levels what is not among `entries` is lost."""
        self.places.bring_back(page, away, entries)
        if self.bands is None:
            self.band.come_back(entries)
        else:
            self.bands.bring_back(page.number, away, entries)

    def lose(self, page: Page, copies: list[tuple[int, int, int]], octets: int) -> None:
        """Copies of a page, by position, message and kind, have not come back; what they had."""
        self.places.lose(page, len(copies))
        self.octets -= octets
        for position, message, kind in copies:
            self.checksum ^= entry_mix(message, position)
            self._forget_away(position, kind)
            if self.groups is not None:
                self.groups.lose(position)
        if self.flow is not None:
            self.flow.left(self.places.count, self.octets)
        if self.places.count == 0:
            self._forget()

    def leave_away(self, page: Page, copy: AwayCopy) -> None:
        """A copy leaves whose page is on disk."""
        position, size = copy.position, copy.size
        self.places.remove_away(page, size, copy.memory)
        if self.bands is not None:
            self.bands.leave_away(page.number, copy)
        self._forget_away(position, copy.kind)
        self.octets -= size
        if self.flow is not None:
            self.flow.left(self.places.count, self.octets)
        self.checksum ^= entry_mix(copy.message, position)

    def _forget_away(self, position: int, kind: int) -> None:
        """A copy leaves that is on disk: what else knows of it."""
        if self.contents is not None:
            self.contents.count(kind, -1)
        if self.last_values is not None:
            self.last_values.remove(position)
        if self.numbering is not None:
            self.numbering.remove(position)

    def _forget(self) -> None:
        """It is empty."""
        self.choosy = False
        self.band.forget()
        if self.bands is not None:
            self.bands.forget()
        self.expiring.forget()

    def peek(self) -> Entry | None:
        """The copy that is next of those that nobody holds; of a choosy queue not for everybody.

        Of one with groups those whose group nobody has.
        """
        if self.groups is not None:
            return self.groups.peek_free()
        if self.bands is None:
            return self.band.peek()
        entry = self.bands.peek()
        self.places.missed = self.bands.missed
        return entry

    def first_to_go(self) -> Entry | None:
        """The copy that has to make room for others.

        Of those that nobody holds the oldest of the lowest; if that is the one that came last, and
        somebody holds what goes before it, that. Never a file, and only streams where no ring is.
        """
        bands = self.bands
        contents = self.contents
        if not self.rings:
            return None if contents is None else contents.streams.first(None)
        entry = self.band.peek() if bands is None else bands.lowest()
        if bands is not None:
            self.places.missed = bands.missed
        if entry is None and self.places.missed != NO_PAGE:
            return None  # it is on disk
        if contents is not None and contents.files and contents.others is not None:
            return contents.others.first(bands) if entry is None or is_file(entry) else entry
        if entry is not None and entry.position != self.next_position - 1:
            return entry
        oldest = self.places.next_at(0) if bands is None else bands.oldest()
        return entry if oldest is None else oldest

    def hold(self, entry: Entry, holder: int) -> None:
        """An available copy is acquired by the subscription `holder`."""
        entry.holder = holder
        self.unsettled += 1
        if self.bands is None:
            self.band.hold(entry)
        else:
            self.bands.hold(entry)
        if self.groups is not None:
            self.groups.hold(entry, holder)

    def give_back(self, entry: Entry) -> None:
        """An acquired copy is available again, at its old place."""
        entry.holder = AVAILABLE
        self.unsettled -= 1
        band = self.band if self.bands is None else self.bands.band_of(entry)
        if self.groups is None or self.rings:  # else nobody looks there, nor forgets what has gone
            band.give_back(entry)
        if self.contents is not None:
            self.contents.free(entry, 0 if self.bands is None else self.lane_of(entry))
        if self.groups is not None:
            self.groups.give_back(entry)
        if entry.message.expires_ms != NEVER:
            # It may have been passed over while it was held.
            self.expiring.came(entry.position, entry.message.expires_ms)
