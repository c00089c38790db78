"""Which pages of queues go to the disk, which come back, and who waits for them.

When the copies of all queues take more memory than they may, pages go away: of the queue that takes
most, those first that are on disk still and that nobody has come near to for longest, then the
newest, since they are wanted last. What is before a queue's next copies stays, or is brought back
before they are wanted, and so is what somebody waits for. A page stays, too, if one of its copies
is held, or is awaited.

Here is no thread and no file: `disk` is asked, and answers; where all copies of a page are durable
the store's log has them, nothing is written, and the store is asked. What has come is taken apart
at the end of a turn, a share of work at a time, and then whoever waits goes on.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.bridge.paging.away import AwayPage, Back, Source, found_in, octets_of
from gateway.bridge.paging.disk import Disk, Spot
from gateway.bridge.paging.moving import Coming, Going, Losing, Waiter, marks_of
from gateway.bridge.pressure import AWAY_OCTETS, COPY_OCTETS, Pressure
from gateway.bridge.queues.discipline import FlowLimits
from gateway.bridge.queues.flow import FlowControl
from gateway.bridge.queues.places import PAGE_BITS, PAGE_MASK, AwayCopy, Page
from gateway.bridge.queues.queue import EVERYTHING, Queue
from gateway.errors import DecodeError
from gateway.store.interface import Fetched, Store
from gateway.wire.work import LOOK, OCTETS_COPIED, SHARE, WORK

AHEAD: Final = 8
READS: Final = 2 * AHEAD  # pages on their way from the disk at once, and their octets
READ_OCTETS: Final = 16 * 1024 * 1024
WRITE_OCTETS: Final = 16 * 1024 * 1024  # on their way to it
LARGE: Final = 16 * 1024  # a copy of so many octets; a page has no more of them than so many octets
LARGE_OCTETS: Final = 1024 * 1024
PAGE_OCTETS: Final = 32 * 1024 * 1024  # one of more is not made octets: others would wait for that
PATIENCE: Final = 100
SLACK: Final = 64  # queues that are known beyond twice as many as have something
COPY_PACKED: Final = 20  # work for each copy that is made octets, or made of them
THIN: Final = 2  # a page is written anew when it is less than what was written divided by this,
THIN_OCTETS: Final = 1024  # and so much more


@final
class Paging:
    """The pages of all queues. Implements `places.Keeper` and `disk.Answered`.

    Attributes:
        disk: where pages go; `None`: none does.
        went, came: pages that went away, and that came back.
        waits: how often somebody waited for one.
        refused: pages that the disk did not take.
        failed: pages of which not all could be read.
        problems: a line for each of those, for whoever takes them.
        losing: set as soon as there is one.
        near: pages that stay in front of whoever takes copies, or are brought back: less, down to
            1, while very many queues would have too much memory with so many each.
        patience: turns until it is tried again what did not work.
    """

    __slots__ = (
        *("_asked", "_coming", "_going", "_going_octets", "_index", "_limit", "_next"),
        *("_nothing_until", "_pause", "_pressure", "_prune_at", "_queues", "_read"),
        *(
            "_reading",
            "_reading_octets",
            "_since",
            "_store",
            "_tight",
            "_turn",
            "_wider_at",
            "came",
            "disk",
            "failed",
        ),
        *("losing", "near", "patience", "problems", "refused", "waits", "went"),
    )

    def __init__(self, pressure: Pressure, store: Store, memory: int, index: int) -> None:
        """`memory`: octets that copies may take before some go away; 0: none do.

        `index`: that the marks of one queue's copies may take.
        """
        self._index = index
        self._store = store
        self.disk: Disk | None = None
        self.losing: Losing | None = None
        self.went = 0
        self.came = 0
        self.waits = 0
        self.refused = 0
        self.failed = 0
        self.problems: deque[str] = deque()
        self.near = AHEAD
        self.patience = PATIENCE
        self._pressure = pressure
        self._limit = memory
        self._queues: dict[int, Queue] = {}  # that may have pages to send away
        self._tight: dict[int, Queue] = {}  # that have new ones, and limits of their own
        self._prune_at = SLACK
        self._turn = 0
        self._pause = 0  # the turn before which the disk is not asked again to take a page
        self._nothing_until = 0  # nor are pages looked for, unless there are new ones
        self._wider_at = 0  # nor are more of them near than now
        self._next = 0  # token
        self._going: dict[int, Going] = {}
        self._going_octets: int64 = 0
        self._coming: dict[Page, Coming] = {}  # all of them, until they are back
        self._asked: deque[Coming] = deque()  # that the disk has not been asked for yet
        self._reading: dict[int, Coming] = {}
        self._reading_octets: int64 = 0
        self._read: deque[tuple[Coming, bytes | None]] = deque()  # `None`: what it has found counts
        self._since: dict[Page, None] = {}  # pages that came back, in that order

    @property
    def busy(self) -> bool:
        """Whether something has come that is not taken apart yet, or has to be asked for."""
        return len(self._read) > 0 or (len(self._asked) > 0 and len(self._reading) == 0)

    # Copies come.

    def began(self, queue: Queue) -> None:
        """A new page of a queue has begun."""
        if self._limit == 0 or queue.places.pages <= 1 or queue.transit:
            return
        self._limit_index(queue)
        if len(self._queues) >= self._prune_at:
            self._prune()
        self._nothing_until = 0
        self._queues[queue.number] = queue
        queue.places.keeper = self
        if queue.memory_count or queue.memory_size:
            self._tight[queue.number] = queue

    def _prune(self) -> None:
        """Forget queues that are empty: they may be gone."""
        WORK.units += LOOK * len(self._queues)
        for queues in (self._queues, self._tight):
            for number in [each for each, queue in queues.items() if queue.places.count == 0]:
                del queues[number]
        self._prune_at = 2 * len(self._queues) + SLACK

    def _limit_index(self, queue: Queue) -> None:
        """What stays in memory of what is on disk is limited, too: its own publishers wait."""
        count = queue.places.count
        most = self._index // marks_of(queue)
        if count > most:
            if queue.flow is None:
                queue.flow = FlowControl(FlowLimits())
            queue.flow.tighten(most, most * 3 // 4)
            queue.flow.came(count, queue.octets)

    def recovered(self, queue: Queue) -> None:
        """A new page of a queue has begun that is recovered: those before it may go."""
        self.began(queue)
        excess = self._pressure.octets - self._limit
        if self._limit and excess > 0 and not queue.transit:
            self._shrink(queue, excess, WORK.units + SHARE)

    def lays(self, queue: Queue) -> bool:
        """Whether the page that comes next of a queue that is recovered stays on disk.

        Not its first one, nor where more is to be known of copies than what stays of their pages.
        """
        return (
            0 < self._limit < self._pressure.octets
            and queue.places.pages > 0
            and not queue.transit
            and marks_of(queue) == AWAY_OCTETS
            and queue.numbering is None
            and not queue.deleted
        )

    def laid(self, queue: Queue, number: int, away: AwayPage, kinds: bytes) -> None:
        """A page of a queue that is recovered has stayed on disk, with copies of these kinds."""
        away.turn = self._turn
        queue.lay(number, away, kinds)
        self._pressure.laid(away.messages, away.octets, away.sources[0].stock)
        self.went += 1
        self.began(queue)

    def make_room(self, queue: Queue, size: int) -> None:
        """A large copy is about to come: in a new page, if the last one has enough of them."""
        if self._limit == 0 or queue.transit:
            return
        tail = queue.places.tail
        if tail is None or queue.next_position >> PAGE_BITS != tail.number:
            return
        tail.large += size
        if tail.large > LARGE_OCTETS and queue.behind == EVERYTHING and not queue.deleted:
            queue.next_position = (tail.number + 1) << PAGE_BITS

    # Somebody wants copies.

    def want(
        self, queue: Queue, number: int, waiter: Waiter | None, *, alone: bool = False
    ) -> None:
        """Bring a page back that is away, and those behind it; `waiter` is told of the first.

        `alone`: what is behind it is not wanted next.
        """
        if waiter is not None and not queue.places.is_away(number << PAGE_BITS):
            waiter.on_page()
        for page in queue.places.ahead(number << PAGE_BITS, 1 if alone else self.near):
            if page.away is not None:
                coming = self._ask(queue, page)
                if page.number == number and waiter is not None and waiter not in coming.waiters:
                    self.waits += 1
                    coming.waiters[waiter] = None
        self._read_on()

    def look_ahead(self, queue: Queue) -> None:
        """Bring back what is in front of whoever takes the next copies."""
        for number in self._near(queue):
            page = queue.places.page(number)
            if page is not None and page.away is not None:
                self._ask(queue, page)
        self._read_on()

    def _near(self, queue: Queue) -> list[int]:
        """The pages in front of whoever takes the next copies, by number."""
        bands = [queue.band] if queue.bands is None else queue.bands.levels
        found: list[int] = []
        for band in bands:
            found.extend(band.near(self.near))
        if queue.contents is not None:
            found.extend(queue.contents.near())
        return found

    def _ask(self, queue: Queue, page: Page) -> Coming:
        coming = self._coming.get(page)
        if coming is None:
            away = page.away
            assert isinstance(away, AwayPage)
            coming = Coming(queue, page, away.octets)
            self._coming[page] = coming
            self._asked.append(coming)
        return coming

    def _read_on(self) -> None:
        """Ask the disk for as much as may be on its way at once."""
        while self._asked and len(self._reading) + len(self._read) < READS:
            coming = self._asked[0]
            away = coming.page.away
            assert isinstance(away, AwayPage)
            if self._reading_octets > READ_OCTETS or away.turn >= self._turn:
                return  # the store has been given what the turn made, when that is over
            self._asked.popleft()
            self._reading_octets += coming.size
            if away.spot is None or self.disk is None:
                self._fetch(coming)
            else:
                self._next += 1
                self._reading[self._next] = coming
                self.disk.read(self._next, away.spot)

    def _fetch(self, coming: Coming) -> None:
        """Ask the store for what its log has of a page."""
        coming.logged = True
        coming.found = {}
        self._next += 1
        self._reading[self._next] = coming
        first = coming.page.number << PAGE_BITS
        self._store.fetch(self._next, coming.queue.number, first, first + PAGE_MASK + 1)

    def on_fetched(self, piece: Fetched) -> None:
        """Some of what the store's log has of a page."""
        coming = self._reading[piece.request]
        for entry in piece.entries:
            coming.found[entry.position] = entry
        WORK.units += COPY_PACKED * len(piece.entries)
        if piece.last:
            self._read.append((self._reading.pop(piece.request), None))

    def on_read(self, token: int, octets: bytes | None) -> None:
        """See `Answered`. What of it is durable is in the store's log, too."""
        coming = self._reading.pop(token)
        away = coming.page.away
        assert isinstance(away, AwayPage)
        if octets is None and away.any_logged:
            self._fetch(coming)
        else:
            self._read.append((coming, octets))

    def run(self, turn: int) -> None:
        """A turn ends: take apart what has come, before copies are sent."""
        self._turn = turn
        if not self._read and not self._asked:
            return
        end = WORK.units + SHARE
        while self._read and WORK.units <= end:
            coming, octets = self._read.popleft()
            if octets is not None and not self._unpack(coming, octets):
                self._fetch(coming)
                continue
            self._reading_octets -= coming.size
            del self._coming[coming.page]
            self._take(coming)
            if coming.waiters:
                coming.queue.places.wanted.add(coming.page.number)
                for waiter in coming.waiters:
                    waiter.on_page()
        self._read_on()

    def _unpack(self, coming: Coming, octets: bytes) -> bool:
        """What is in the octets of a page; `False`: the store's log is to be asked."""
        away = coming.page.away
        assert isinstance(away, AwayPage)
        WORK.units += COPY_PACKED * away.messages + away.octets // OCTETS_COPIED
        try:
            coming.found = found_in(octets, coming.queue.number)
        except DecodeError:
            coming.found = {}
        return len(coming.found) >= away.messages or not away.any_logged

    def _take(self, coming: Coming) -> None:
        """A page is back, or what there is of it: never a wrong message, rather none."""
        queue, page = coming.queue, coming.page
        away = page.away
        assert isinstance(away, AwayPage)
        seen_before = queue.rows.seen_before if coming.logged else 0
        if queue.places.page(page.number) is not page:  # all that was in it has been taken out
            if away.spot is not None:
                self._let_go(away.spot)
            return
        back = away.back(page.number, coming.found, seen_before)
        queue.bring_back(page, away, back.entries)
        if away.spot is not None and (coming.logged or back.lost or is_thin(away, away.spot)):
            self._let_go(away.spot)
            away.spot = None
        page.kept = away
        self._since[page] = None
        for source in away.sources:
            self._move_away(queue, source, -1)
        queue.expiring.back(page)
        self.came += 1
        if back.lost:
            self._lose(queue, page, away, back)

    def _move_away(self, queue: Queue, source: Source, sign: int64) -> None:
        """Copies are on disk from now on, or here again."""
        self._pressure.moved_away(
            sign * source.messages, sign * source.octets, source.stock, marks_of(queue)
        )

    def take_out(self, queue: Queue, position: int) -> AwayCopy:
        """A copy leaves whose page is away, and need not come back for that."""
        page = queue.places.page(position >> PAGE_BITS)
        assert page is not None
        away = page.away
        assert isinstance(away, AwayPage)
        copy = away.take(position)
        queue.leave_away(page, copy)
        self._pressure.left_away(copy.size, copy.stock, marks_of(queue))
        if away.spot is not None and page not in self._coming:
            if page.live == 0:
                self._let_go(away.spot)
            elif is_thin(away, away.spot):
                self._ask(queue, page)
        return copy

    def _lose(self, queue: Queue, page: Page, away: AwayPage, back: Back) -> None:
        self.failed += 1
        self.problems.append(
            f"queue {queue.name!r}: {len(back.lost)} messages that were on disk cannot be read"
        )
        assert self.losing is not None
        self.losing.lose(queue, page, away, back)

    # Pages go.

    def page_out(self) -> None:
        """A turn ends: if copies take too much memory, some go away, a share of work at a time."""
        if self._limit == 0:
            return
        if self._tight:
            self._shrink_tight()
        if self._turn < self._pause or self._turn < self._nothing_until:
            return
        excess = self._pressure.octets - self._limit - self._going_octets
        if excess <= 0:
            if self.near < AHEAD and -excess > self._limit // 4 and self._turn >= self._wider_at:
                self.near *= 2
                self._wider_at = self._turn + self.patience
            return
        end = WORK.units + SHARE
        passed: set[int] = set()
        while excess > 0 and WORK.units <= end and self._going_octets < WRITE_OCTETS:
            queue = self._largest(passed)
            if queue is None and self.near > 1:
                self.near //= 2
                self._wider_at = self._turn + self.patience
                passed.clear()
                continue
            if queue is None:
                self._nothing_until = self._turn + self.patience
                return
            freed = self._shrink(queue, excess, end)
            excess -= freed
            if freed == 0:
                passed.add(queue.number)

    def _shrink_tight(self) -> None:
        """Queues that are declared to have little in memory."""
        end = WORK.units + SHARE
        for number, queue in list(self._tight.items()):
            if self._turn < self._pause or WORK.units > end:
                return
            excess = self._own_excess(queue)
            if excess <= 0 or self._shrink(queue, excess, end) == 0:
                del self._tight[number]  # until it has another page

    def _own_excess(self, queue: Queue) -> int64:
        """What a queue has in memory beyond limits of its own."""
        places = queue.places
        excess = 0
        count = places.count - places.away_count
        if 0 < queue.memory_count < count:
            excess = (count - queue.memory_count) * COPY_OCTETS
        octets = queue.octets - places.away_payload
        if 0 < queue.memory_size < octets:
            excess = max(excess, octets - queue.memory_size)
        going = sum([each.away.memory for each in self._going.values() if each.queue is queue])
        return excess - going

    def _largest(self, passed: set[int]) -> Queue | None:
        """The queue that takes most memory, of those that may have pages to send away."""
        largest: Queue | None = None
        most = 0
        over: list[int] = []
        WORK.units += LOOK * len(self._queues)
        for number, queue in self._queues.items():
            if queue.places.count == 0:
                over.append(number)
                continue
            places = queue.places
            taken = queue.octets + COPY_OCTETS * places.count - places.away_octets
            if taken > most and number not in passed and len(places.here) > self.near:
                most = taken
                largest = queue
        for number in over:
            del self._queues[number]
        return largest

    def _shrink(self, queue: Queue, excess: int64, end: int64) -> int64:
        """Send pages of a queue away; what that frees, sooner or later."""
        places = queue.places
        if queue.behind != EVERYTHING or queue.deleted or queue.transit:
            return 0  # a commit goes on, or all of it goes, or it has become an upstream's
        freed: int64 = 0
        near = set(self._near(queue))
        WORK.units += LOOK * len(places.here)
        for page in self._in_order(queue):
            if freed >= excess or WORK.units > end or self._going_octets >= WRITE_OCTETS:
                break
            if page.number in near or page.number in places.wanted or page.pins:
                continue
            if not page.busy and page.passed_over <= self._turn:
                freed += self._send(queue, page)
        return freed

    def _in_order(self, queue: Queue) -> list[Page]:
        """Those that came back first, then the newest."""
        here = queue.places.here
        found = [page for page in self._since if here.get(page.number) is page]
        found.extend([page for page in reversed(here.values()) if page.kept is None])
        return found

    def _send(self, queue: Queue, page: Page) -> int64:
        """Send a page away, if it can go; what that frees."""
        disk = self.disk
        away = AwayPage()
        WORK.units += LOOK * len(page.entries)
        filled = away.fill(page, sized=queue.last_values is not None)
        writable = disk is not None and away.octets <= PAGE_OCTETS
        if not filled or not (writable or away.logged):
            page.passed_over = self._turn + self.patience
            return 0
        kept = page.kept
        page.kept = None
        self._since.pop(page, None)
        if isinstance(kept, AwayPage) and kept.spot is not None:
            away.overhead = kept.overhead
            if kept.changed == 0 and away.changed == 0 and not is_thin(away, kept.spot):
                away.spot = kept.spot
                self._gone(queue, page, away)
                return away.memory
            self._let_go(kept.spot)
        if disk is None or away.logged:
            away.turn = self._turn
            self._gone(queue, page, away)
            return away.memory
        WORK.units += COPY_PACKED * away.messages + away.octets // OCTETS_COPIED
        self._next += 1
        page.busy = True
        self._going[self._next] = Going(queue, page, away)
        self._going_octets += away.memory
        disk.write(self._next, octets_of(page, queue.number))
        return away.memory

    def on_written(self, token: int, spot: Spot | None) -> None:
        """See `Answered`. It goes away, unless something has become of its copies meanwhile."""
        going = self._going.pop(token)
        page = going.page
        page.busy = False
        self._going_octets -= going.away.memory
        if spot is None:
            self.refused += 1
            self._pause = self._turn + self.patience
            self._forget_those_here()
            return
        away = AwayPage()
        queue = going.queue
        stays = page.number in queue.places.wanted or page.pins or queue.transit
        if (
            stays
            or page.live == 0
            or not away.fill(page, sized=queue.last_values is not None)
            or away.changed != going.away.changed
        ):
            self._let_go(spot)
            page.passed_over = self._turn + self.patience
            return
        away.spot = spot
        away.overhead = max(spot[1] - going.away.octets, 0) // going.away.messages
        self._gone(queue, page, away)

    def _forget_those_here(self) -> None:
        """Pages that are back are not on disk any more: there is no room for others."""
        for page in self._since:
            kept = page.kept
            if isinstance(kept, AwayPage) and kept.spot is not None:
                self._let_go(kept.spot)
                kept.spot = None

    def _gone(self, queue: Queue, page: Page, away: AwayPage) -> None:
        queue.send_away(page, away)
        for source in away.sources:
            self._move_away(queue, source, 1)
        self.went += 1

    def on_dropped(self, page: Page) -> None:
        """See `Keeper`."""
        self._since.pop(page, None)
        kept = page.kept
        page.kept = None
        if isinstance(kept, AwayPage) and kept.spot is not None:
            self._let_go(kept.spot)

    def _let_go(self, spot: Spot) -> None:
        if self.disk is not None:
            self.disk.let_go(spot)


def is_thin(away: AwayPage, spot: Spot) -> bool:
    """Whether most of what was written of a page is not needed any more."""
    needed = away.octets + away.overhead * away.messages
    return spot[1] > THIN * (needed + THIN_OCTETS)
