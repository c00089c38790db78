"""What the disk refuses: counted, told, waited for; and when it is over.

Used by the commit thread. From the first refusal on nothing else is written until what was refused
is; the reactor is told at once, and holds publishers back until `eased`. A full disk costs the
reserve first: then everything is committed as ever, and publishers wait until it is set aside
again.

To take a message out of its queue takes room, too: for records in the audit log, and a row in the
store, which gives room back only when it has shrunk. So publishers already wait when less is free,
beside the reserve, than it may take to drain all that queues hold: consumers must be able to. What
else fills the disk meanwhile leaves the reserve.

What has been accepted comes to the disk, however late the thread is: it is in memory when the room
is looked at, and counts as if it had been written. More comes until publishers hear that they are
to wait. All that is bounded by the size of the reserve: what may wait for the thread
(`bridge.unwritten`), what publishers still send then (`faces.doubt`), from one look at the room to
the next, and what one commit takes for the time that it is in the WAL, the file and the log.

What is told is logged, so the same cause is told again only at the first, second, fourth,
eighth ... attempt; another one at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, final

from gateway.errors import StoreError
from gateway.store.interface import CallInReactor, Eased, Failed, StoreCounts
from gateway.store.reserve import Reserve

RETRY_S: Final = 0.1
RETRY_MAX_S: Final = 5.0
WAL_SHARE: Final = 4
WAL_SHARE_ON_RESERVE: Final = 32
WAL_OCTETS_MIN: Final = 128 * 1024
RESERVE_IN_USE: Final = "the disk is full; the room set aside for that is in use"
GROUP_SHARE: Final = 16
GROUP_OCTETS_MIN: Final = 16 * 1024
LOOK_SHARE: Final = 32  # when so much of it has been written since, the room is looked at again
NEARLY_FULL: Final = "the disk is nearly full: what is left is needed to drain the queues"
DRAIN_OCTETS: Final = 384  # for a message: records of its delivery and its end, and some more
WRITINGS: Final = 2  # what waits comes into the store, and its records into the log


@final
class Trouble:
    """From the first refusal to the moment when all is written and the reserve is whole.

    Attributes:
        attempts: how often what is to be written has been refused; 0: nothing is.
    """

    def __init__(
        self,
        reserve: Reserve,
        counts: StoreCounts,
        call_in_reactor: CallInReactor,
        failed: Failed,
        eased: Eased,
        mark: Callable[[], None],
        held: Callable[[], int],
    ) -> None:
        """Make it.

        Args:
            mark: writes down how much would be lost if the process were killed now.
            held: how many messages the queues hold.
        """
        self._reserve = reserve
        self._counts = counts
        self._call_in_reactor = call_in_reactor
        self._failed = failed
        self._eased = eased
        self._mark = mark
        self._held = held
        self.attempts = 0
        self._told: set[str] = set()
        self._on = False
        self._short = False  # of room to drain the queues
        self._unwatched = 0  # octets written since the last look at the room
        self._pause_s = RETRY_S

    @property
    def on_reserve(self) -> bool:
        """Whether only room is wanted."""
        return self._on and self.attempts == 0 and (self._reserve.released or self._short)

    def wal_octets(self, most: int) -> int:
        """How long the WAL may become: on a full disk its copy must have room in the reserve."""
        wanted = self._reserve.wanted
        if self.on_reserve:
            return min(most, wanted // WAL_SHARE_ON_RESERVE)
        return min(most, max(wanted // WAL_SHARE, WAL_OCTETS_MIN)) if wanted else most

    def group_octets(self, most: int) -> int:
        """How much one commit may take: for a moment it needs as much room three times."""
        wanted = self._reserve.wanted
        return min(most, max(wanted // GROUP_SHARE, GROUP_OCTETS_MIN)) if wanted else most

    def begin(self) -> None:
        """The thread starts: perhaps already without its reserve."""
        if self._reserve.released:
            self._live_on_reserve()

    def refused(self, error: StoreError) -> float:
        """A write was; seconds to wait before it is tried again."""
        if error.part == "audit":
            self._counts.audit_failures += 1
        else:
            self._counts.failures += 1
        if error.full and self._reserve.held:
            first = not self._reserve.released
            if self._reserve.release():
                if first:
                    self._live_on_reserve()
                return 0.0
        self._on = True
        self.attempts += 1
        self._mark()
        cause = str(error)
        if cause not in self._told or self.attempts & (self.attempts - 1) == 0:
            self._told.add(cause)
            self._tell(error)
        pause_s = self._pause_s
        self._pause_s = min(2 * pause_s, RETRY_MAX_S)
        return pause_s

    def written(self) -> None:
        """What was refused is written now; or nothing was."""
        if self.attempts == 0:
            return
        self.attempts = 0
        self._pause_s = RETRY_S
        self._told.clear()
        if self._reserve.released or self._short:
            self._live_on_reserve()
        else:
            self._end()

    def unreadable(self, error: StoreError) -> None:
        """A row cannot be read again: told, and nobody is held back for it."""
        self._counts.failures += 1
        self._tell(error)
        if not self._on:
            self._call_in_reactor(self._eased)

    def room(self) -> int:
        """Octets that are free on the disk; 0 where it does not say."""
        return self._reserve.room()

    def look_for_room(self) -> None:
        """While only room is wanted: is there enough for the reserve, and to drain the queues?"""
        if self._reserve.whole() and self._reserve.roomy(self.needed()):
            self._end()

    def foresee(self, octets: int) -> None:
        """So much is written next: if it has become much, the room is looked at before."""
        wanted = self._reserve.wanted
        self._unwatched += octets
        if wanted and self._unwatched >= wanted // LOOK_SHARE:
            self.watch_room()

    def watch_room(self) -> None:
        """While all is well: is there enough to drain the queues? Asked now and then."""
        self._unwatched = 0
        if not self._on and self._reserve.lost() and not self._reserve.set_aside():
            self._live_on_reserve()
        if self._on or self._reserve.roomy(self.needed(), margin=False):
            return
        self._short = True
        self._live_on_reserve()

    def needed(self) -> int:
        """Octets of room that draining the queues takes, and writing what waits."""
        return self._held() * DRAIN_OCTETS + self._counts.octets_waiting * WRITINGS

    def _live_on_reserve(self) -> None:
        self._on = True
        text = RESERVE_IN_USE if self._reserve.released else NEARLY_FULL
        self._tell(StoreError(text, full=True, on_reserve=True))

    def _end(self) -> None:
        self._on = self._short = False
        self._call_in_reactor(self._eased)

    def _tell(self, error: StoreError) -> None:
        self._call_in_reactor(partial(self._failed, error))
