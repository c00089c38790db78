"""The receiving half of a session: the peer's commands, and what we tell it of them.

A command is received, some time later completed, told to be complete (session.completed), and last
known to be known (session.known-completed). Replays after a command-point are recognised by their
ids and not executed twice.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_controls import SessionCompleted
from gateway.amqp_0_10.assembler import Assembler
from gateway.amqp_0_10.errors import (
    InvalidArgumentError,
    NotImplementedHereError,
    ResourceLimitExceededError,
)
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.progress import Progress, insert
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


@final
class Incoming:
    """Attributes.

    assembler: the command that is under way.
    command_id: of the command that `add` has just taken.
    next_id: of the command that comes next.
    pointed: a command-point has come.
    due: there are completions to tell.
    fresh: how many commands have come since `flush`, whether completed or not: nobody had the time
        to carry them out, so they do not count against the limit yet. What one turn can bring is
        bounded by what is read in it.
    """

    __slots__ = (
        "_limit",
        "_progress",
        "_syncs",
        "_told",
        "_unknown",
        "assembler",
        "command_id",
        "due",
        "fresh",
        "next_id",
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
        self.due = False
        self.fresh = 0

    def point(self, command_id: int | None, offset: int | None) -> None:
        """session.command-point: the id of what comes next."""
        if command_id is None:
            raise InvalidArgumentError("a command-point without command-id")
        if offset:
            raise NotImplementedHereError("a command cannot be continued in the middle")
        self.assembler.reset()
        progress = self._progress
        if not self.pointed:
            self.pointed = True
            self._progress = Progress(command_id)
        elif distance(progress.first, command_id) < 0:
            raise InvalidArgumentError("a command-point before the first command")
        elif distance(progress.next, command_id) > 0:
            self._skip(progress.next, add(command_id, -1))
        self.next_id = command_id

    def _skip(self, first: int, last: int) -> None:
        """Take commands as completed that will never come."""
        self._progress.next = add(last, 1)
        self.complete(first, last)

    def gap(self, ranges: Ranges) -> None:
        """session.gap: what will not come (any more) counts as completed."""
        for first, last in ranges:
            if distance(self._progress.next, first) > 0:
                raise NotImplementedHereError("a gap behind the next command")
            if distance(self._progress.next, last) >= 0:
                self._skip(self._progress.next, last)
            if distance(self.next_id, last) >= 0:
                self.assembler.reset()
                self.next_id = add(last, 1)

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
        timely = self._told >= ASK_AFTER
        ranges = self._unknown
        WORK.units += RANGE * len(ranges)
        if self._told >= FORGET_AFTER or len(ranges) > RANGES_MAX:
            self._unknown = []
            self._told = 0
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
        """The command that we expect; nothing for a session without state."""
        return [(self.next_id, self.next_id)] if self.pointed else []
