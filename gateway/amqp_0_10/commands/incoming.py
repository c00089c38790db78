"""The receiving half of a session: the peer's commands, and what we tell it of them.

A command is received, some time later completed, told to be complete (session.completed), and last
known to be known (session.known-completed). Replays after a command-point are recognised by their
ids and not executed twice; one that begins in the middle of a command goes on with what has come of
it, less what overlaps.

What we expect is named by whole commands: the specification lets us choose, and gives the fragments
of session.expected no type that an array could name.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_controls import SessionCompleted
from gateway.amqp_0_10.assembler import Assembler
from gateway.amqp_0_10.commands.progress import AHEAD, MEMORY, Progress, insert
from gateway.amqp_0_10.errors import (
    FramingError,
    InvalidArgumentError,
    NotImplementedHereError,
    ResourceLimitExceededError,
)
from gateway.amqp_0_10.frames import FIRST_FRAME, FIRST_SEGMENT, LAST_FRAME, LAST_SEGMENT
from gateway.amqp_0_10.primitives import Ranges
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits
from gateway.wire.serial import MASK, RangeSet, add, distance
from gateway.wire.work import RANGE, WORK

# A peer is asked for known-completed after so many completions, and no longer waited for after
# so many: the transport is reliable, it has been told.
ASK_AFTER: Final = 65_536
FORGET_AFTER: Final = 1_048_576
RANGES_MAX: Final = 4_096  # of which a peer may say which ones it knows
RANGES_PER_CONTROL: Final = 1_000

# `Incoming.overlap` where nothing is skipped, and where all of a command is.
NONE: Final = -1
ALL: Final = 1 << 64
BEGINS: Final = FIRST_SEGMENT | FIRST_FRAME
ENDS: Final = LAST_SEGMENT | LAST_FRAME


@final
class Incoming:
    """Attributes.

    assembler: the command that is under way.
    command_id: of the command that `add` has just taken.
    next_id: of the command that comes next.
    pointed: a command-point has come on this attachment, and nothing has to be skipped.
    overlap: octets that come again of a command that is sent from its middle; else `NONE`.
    flags: of the frame that `skip` has let through.
    due: there are completions to tell.
    fresh: how many commands have come since `flush`, whether completed or not: nobody had the time
        to carry them out, so they do not count against the limit yet. What one turn can bring is
        bounded by what is read in it.
    """

    __slots__ = (
        "_begun",
        "_forgot",
        "_limit",
        "_progress",
        "_syncs",
        "_told",
        "_unknown",
        "assembler",
        "command_id",
        "due",
        "flags",
        "fresh",
        "next_id",
        "overlap",
        "pointed",
    )

    def __init__(self, limits: Limits, handled: frozenset[int], account: Account) -> None:
        self._limit = limits.commands_in_doubt_max
        self.assembler = Assembler(limits, handled, account)
        self._progress = Progress()
        self._unknown: Ranges = []
        self._told = 0
        # Ids of execution.sync commands, which complete when all before them have.
        self._syncs: list[int] = []
        self.command_id = 0
        self.next_id = 0
        self.pointed = False
        self._begun = False  # a command-point has come, on whichever attachment
        self._forgot = False  # completions that the peer was told, and may not have heard of
        self.overlap: int = NONE
        self.flags = 0
        self.due = False
        self.fresh = 0

    def point(self, command_id: int | None, offset: int | None) -> None:
        """session.command-point: the id of what comes next."""
        if command_id is None:
            raise InvalidArgumentError("a command-point without command-id")
        if offset:
            self._point_within(command_id, offset)
            return
        self.assembler.reset()
        progress = self._progress
        if not self._begun:
            self._begun = True
            self._progress = Progress(command_id)
        elif distance(progress.first, command_id) < 0:
            raise InvalidArgumentError("a command-point before the first command")
        elif distance(progress.next, command_id) > AHEAD:
            raise InvalidArgumentError("a command-point too far ahead")
        elif distance(progress.next, command_id) > 0:
            self._skip(progress.next, add(command_id, -1))
        self.next_id = command_id
        self.overlap = NONE
        self.pointed = True

    def _point_within(self, command_id: int, offset: int) -> None:
        """The command is sent from one of its octets on: the rest of it, or what has come again."""
        progress = self._progress
        ahead = distance(progress.next, command_id)
        come = self.assembler.received() if ahead == 0 and self.next_id == command_id else 0
        if not self._begun or distance(progress.first, command_id) < 0 or ahead > 0:
            raise InvalidArgumentError("a command-point within what has not come")
        if ahead < 0:
            self.assembler.reset()
            self.overlap = ALL
        elif offset > come:
            raise InvalidArgumentError("a command-point behind what has come of the command")
        else:
            self.overlap = come - offset
        self.next_id = command_id
        self.pointed = False
        self.flags = BEGINS  # of no frame that may come

    def skip(self, flags: int, kind: int, start: int, end: int) -> int:
        """Pass over what has come before; where a frame goes on that has more, -1 for one without.

        Behind the first that has more nothing has to be skipped.
        """
        if self.flags == BEGINS:  # it is the first frame
            if flags & BEGINS == BEGINS:
                raise FramingError("a command begins where another is to be continued")
            self.flags = 0
        if self.overlap == ALL:
            if flags & ENDS == ENDS:
                insert(self._unknown, self.next_id, self.next_id)
                self.due = True
                self.next_id = add(self.next_id, 1)
                self.overlap = NONE
                self.pointed = True
            return -1
        size = end - start
        known = size <= self.overlap and (size > 0 or self.assembler.has_whole(kind))
        if known:
            self.overlap -= size
            return -1
        self.flags = flags & ~FIRST_FRAME if self.overlap else flags
        start += self.overlap
        self.overlap = NONE
        self.pointed = True
        return start

    def attach_again(self) -> None:
        """On another attachment: what the peer is not known to know is told again."""
        self.pointed = False
        self.overlap = NONE
        progress = self._progress
        if self._forgot:
            first = add(progress.low, -MEMORY)
            if distance(progress.first, first) < 0:
                first = progress.first
            if distance(first, progress.low) > 0:
                insert(self._unknown, first, add(progress.low, -1))
            for low, high in progress.ahead:
                insert(self._unknown, low, high)
        self.due = len(self._unknown) > 0

    def _skip(self, first: int, last: int) -> None:
        """Take commands as completed that will never come."""
        self._progress.next = add(last, 1)
        self.complete(first, last)

    def gap(self, ranges: Ranges) -> None:
        """session.gap: what will not come (any more) counts as completed."""
        for first, last in ranges:
            if distance(self._progress.next, first) > 0:
                raise NotImplementedHereError("a gap behind the next command")
            if distance(self._progress.next, last) >= AHEAD:
                raise InvalidArgumentError("a gap that reaches too far ahead")
            if distance(self._progress.next, last) >= 0:
                self._skip(self._progress.next, last)
            if distance(self.next_id, last) >= 0:
                self.assembler.reset()
                self.next_id = add(last, 1)
                self.pointed = self.pointed or self.overlap != NONE
                self.overlap = NONE

    def add(self, flags: int, kind: int, buf: bytes, start: int, end: int) -> bool:
        """Add a frame; whether there is now a command to execute, in `assembler`."""
        if not self.assembler.add(flags, kind, buf, start, end):
            return False
        if self._progress.incomplete() - self.fresh >= self._limit:
            raise ResourceLimitExceededError(f"more than {self._limit} commands not completed")
        command_id = self.next_id
        self.next_id = (command_id + 1) & MASK
        progress = self._progress
        if command_id != progress.next:
            if progress.is_complete(command_id):
                insert(self._unknown, command_id, command_id)
                self.due = True
            return False
        self.command_id = progress.advance()
        self.fresh += 1
        return True

    def uncompleted(self) -> int:
        """How many commands have come and are not completed."""
        return self._progress.incomplete()

    def sync(self, command_id: int) -> None:
        """An execution.sync came."""
        self._syncs.append(command_id)
        self._complete_syncs()

    def complete(self, first: int, last: int) -> None:
        """Commands have been executed."""
        if self._progress.complete_next(first, last):
            self._tell(first, last)
        else:
            for low, high in self._progress.complete(first, last):
                self._tell(low, high)
        if self._syncs:
            self._complete_syncs()

    def _tell(self, first: int, last: int) -> None:
        unknown = self._unknown
        if unknown and distance(unknown[-1][1], first) == 1:
            unknown[-1] = (unknown[-1][0], last)
        else:
            insert(unknown, first, last)
        self._told += distance(first, last) + 1
        self.due = True

    def _complete_syncs(self) -> None:
        syncs = self._syncs
        while syncs and self._progress.low == syncs[0]:
            for low, high in self._progress.complete(syncs[0], syncs[0]):
                self._tell(low, high)
            del syncs[0]

    def known_completed(self, ranges: Ranges) -> None:
        """session.known-completed: need not be told again."""
        unknown = RangeSet()
        unknown.ranges = self._unknown
        for first, last in ranges:
            for low, high in unknown.within(first, last):
                self._told -= distance(low, high) + 1
            unknown.remove_range(first, last)

    def completed(self) -> list[SessionCompleted]:
        """What tells all completions that the peer is not known to know."""
        self.due = False
        self._progress.follow()
        timely = self._told >= ASK_AFTER
        ranges = self._unknown
        WORK.units += RANGE * len(ranges)
        if self._told >= FORGET_AFTER or len(ranges) > RANGES_MAX:
            self._unknown = []
            self._told = 0
            self._forgot = True
        if not ranges:
            return [SessionCompleted(commands=[])]
        return [
            SessionCompleted(commands=ranges[at : at + RANGES_PER_CONTROL], timely_reply=timely)
            for at in range(0, len(ranges), RANGES_PER_CONTROL)
        ]

    def confirmed(self) -> Ranges:
        """What will certainly be completed: what is."""
        WORK.units += RANGE * len(self._unknown)
        return list(self._unknown)

    def expected(self) -> Ranges:
        """The command that we expect; nothing for a session without state.

        One that has come in part is expected whole, and so is the one behind it.
        """
        if not self._begun:
            return []
        next_id = self._progress.next
        come = 0 if self.assembler.idle() else 1
        return [(next_id, add(next_id, come))]
