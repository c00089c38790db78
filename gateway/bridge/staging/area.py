"""What is staged in one virtual host, by user and identifier: there after a crash as well.

It counts among what the queues hold, for its user, and each user may have so much of it, and all of
them less than makes publishers wait: what is staged no consumer takes away. Who opens it last goes
on with it: what an earlier one still sends is refused. Nothing is heard of it for a while, and it
is forgotten.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import Pressure
from gateway.bridge.quotas import Stock
from gateway.bridge.staging.rows import PartRow, StagedRow, part_row, parts_of, staged_row
from gateway.bridge.turns import TurnBook
from gateway.errors import DecodeError
from gateway.message import Condition, Refusal
from gateway.store.interface import TopologyRow
from gateway.wire.work import COPY, WORK

STAGED_OCTETS: Final = 1024  # what each takes, whatever it is to hold
PART_MIN: Final = 16 * 1024  # a smaller part is written again with what comes behind it

Key = tuple[str, str]


@final
class Staged:
    """One content that is staged, in whole or in part.

    Attributes:
        user, identifier: whose it is, and by what name.
        size: octets that it is to have; `octets`: that it has.
        header: of its properties, as they came; empty before they have.
        turn: how often it was opened.
        at_ms: when something was last heard of it.
        claimed: a transaction publishes it, if it is committed; `branch`: a branch that is
            prepared, as an xid's text.
    """

    __slots__ = (
        *("at_ms", "branch", "claimed", "header", "identifier", "octets", "parts", "size"),
        *("stock", "turn", "user"),
    )

    def __init__(self, user: str, identifier: str, size: int, stock: Stock, at_ms: int) -> None:
        self.user = user
        self.identifier = identifier
        self.size = size
        self.stock = stock
        self.at_ms = at_ms
        self.header = b""
        self.parts: list[bytes] = []
        self.octets = 0
        self.turn = 0
        self.claimed = False
        self.branch = ""

    def whole(self) -> bool:
        """Whether all of it is there, its properties too."""
        return self.octets == self.size and len(self.header) > 0

    def content(self) -> bytes:
        """What there is of it."""
        return b"".join(self.parts)


@final
class Claim:
    """What a transaction has published of what is staged: it is used up with the commit.

    Until then nobody else publishes it; where that is rolled back it can be published again.
    """

    __slots__ = ("_area", "_staged")

    def __init__(self, area: StagingArea, staged: Staged) -> None:
        self._area = area
        self._staged = staged
        staged.claimed = True

    def keep(self, branch: str) -> None:
        """The transaction is that of a branch, which is prepared in this turn."""
        self._staged.branch = branch
        self._area.note(self._staged)

    def end(self, *, committed: bool) -> None:
        """The transaction is over, in this turn."""
        staged = self._staged
        if committed:
            self._area.remove(staged)
            return
        staged.claimed = False
        if staged.branch:
            self.keep("")


@final
class StagingArea:
    """That of one virtual host.

    Attributes:
        octets: that are staged now, of all.
        expired: how many were forgotten because nothing was heard of them.
    """

    __slots__ = (
        "_host",
        "_limits",
        "_of_user",
        "_pressure",
        "_staged",
        "_turns",
        "expired",
        "octets",
    )

    def __init__(
        self, host: str, turns: TurnBook, pressure: Pressure, limits: BridgeLimits
    ) -> None:
        self._host = host
        self._turns = turns
        self._pressure = pressure
        self._limits = limits
        # In the order in which something was heard of them.
        self._staged: dict[Key, Staged] = {}
        self._of_user: dict[str, int] = {}  # what they are to have, together
        self.octets = 0
        self.expired = 0

    def __len__(self) -> int:
        return len(self._staged)

    def find(self, user: str, identifier: str) -> Staged | None:
        """What is staged under that name."""
        return self._staged.get((user, identifier))

    def open(
        self, user: str, identifier: str, size: int, connection: int, now_ms: int
    ) -> Staged | Refusal:
        """Go on with what is staged under that name, or begin: another size is another content."""
        WORK.units += COPY
        found = self._staged.get((user, identifier))
        if found is not None and found.size != size:
            self.remove(found)
            found = None
        if found is None:
            stock = self._pressure.stock_of(connection)
            if not self._has_room(user, size, stock):
                text = f"no room to stage {size} octets more"
                return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)
            found = Staged(user, identifier, size, stock, now_ms)
            self._put(found)
        found.turn += 1
        self._write(found)
        return found

    def _has_room(self, user: str, size: int, stock: Stock) -> bool:
        held = self._of_user.get(user, 0)
        return (
            held + size + STAGED_OCTETS <= self._limits.staging_octets_max
            and self._pressure.may_stage(held, size + STAGED_OCTETS)
            and self._pressure.has_room(1, size, stock)
        )

    def describe(self, staged: Staged, header: bytes, now_ms: int) -> None:
        """Its properties have come."""
        if staged.header != header:
            self._changed(staged, len(header) - len(staged.header))
            staged.header = header
            self._hear(staged, now_ms)
            self._write(staged)

    def append(self, staged: Staged, octets: bytes, now_ms: int) -> None:
        """More of it has come."""
        if not octets:
            return
        WORK.units += COPY
        user, identifier = staged.user, staged.identifier
        part = octets
        if staged.parts and len(staged.parts[-1]) < PART_MIN:
            part = staged.parts.pop() + octets
        number = len(staged.parts)
        begin = staged.octets + len(octets) - len(part)
        row = PartRow(self._host, user, identifier, number, begin, now_ms, part)
        self._turns.writes.topology(RowKind.STAGED_PART, row.key(), row.encoded())
        staged.parts.append(part)
        self._add(staged, len(octets))
        self._hear(staged, now_ms)

    def note(self, staged: Staged) -> None:
        """The store is to have it as it is now, if it is not gone or another by now."""
        if self._staged.get((staged.user, staged.identifier)) is staged:
            self._write(staged)

    def claimed(self) -> list[Staged]:
        """What branches publish that an earlier run has prepared."""
        return [staged for staged in self._staged.values() if staged.branch]

    def remove(self, staged: Staged) -> None:
        """It is published, or forgotten."""
        key = staged.user, staged.identifier
        if self._staged.get(key) is not staged:
            return
        del self._staged[key]
        self._of_user[staged.user] -= staged.size + STAGED_OCTETS
        self._pressure.staged_octets -= staged.size + STAGED_OCTETS
        if self._of_user[staged.user] == 0:
            del self._of_user[staged.user]
        self._pressure.left(staged.octets + len(staged.header), staged.stock)
        self.octets -= staged.octets
        staged.turn += 1
        first, behind = parts_of(self._host, *key)
        self._turns.writes.topology_cleared(RowKind.STAGED_PART, first, behind)
        self._turns.writes.topology_removed(RowKind.STAGED, self._row(staged).key())

    def next_ms(self) -> int | None:
        """When the next one is to be forgotten."""
        for staged in self._staged.values():
            return staged.at_ms + self._limits.staging_timeout_ms
        return None

    def expire(self, now_ms: int, budget: int) -> int:
        """Forget up to so many of which nothing was heard for too long; how many."""
        count = 0
        while count < budget:
            when_ms = self.next_ms()
            if when_ms is None or when_ms > now_ms:
                break
            WORK.units += COPY
            self.remove(next(iter(self._staged.values())))
            self.expired += 1
            count += 1
        return count

    def recover(self, rows: list[TopologyRow], problems: list[str]) -> None:
        """What the store brought back; of parts that do not join what is behind is cut off."""
        for row in rows:
            try:
                if row.kind == RowKind.STAGED:
                    self._recover(staged_row(row.value))
                elif row.kind == RowKind.STAGED_PART:
                    self._recover_part(row, part_row(row.value))
            except DecodeError as error:
                problems.append(f"what is staged as {row.key!r} is unreadable: {error}")
        by_time = sorted(self._staged.items(), key=lambda item: item[1].at_ms)
        self._staged = dict(by_time)

    def _recover(self, row: StagedRow) -> None:
        if row.host != self._host:
            return
        stock = self._pressure.quotas.of_user(row.user, row.host)
        staged = Staged(row.user, row.identifier, row.size, stock, row.at_ms)
        self._put(staged)
        self._changed(staged, len(row.header))
        staged.header = row.header
        staged.branch = row.branch

    def _recover_part(self, row: TopologyRow, part: PartRow) -> None:
        if part.host != self._host:
            return
        staged = self._staged.get((part.user, part.identifier))
        joins = staged is not None and part.begin == staged.octets
        if staged is None or not joins or part.begin + len(part.octets) > staged.size:
            self._turns.writes.topology_removed(RowKind.STAGED_PART, row.key)
            return
        staged.parts.append(part.octets)
        self._add(staged, len(part.octets))
        staged.at_ms = max(staged.at_ms, part.at_ms)

    def _put(self, staged: Staged) -> None:
        self._staged[staged.user, staged.identifier] = staged
        held = self._of_user.get(staged.user, 0)
        self._of_user[staged.user] = held + staged.size + STAGED_OCTETS
        self._pressure.staged_octets += staged.size + STAGED_OCTETS
        self._pressure.entered(0, staged.stock)

    def _add(self, staged: Staged, octets: int) -> None:
        staged.octets += octets
        self.octets += octets
        self._changed(staged, octets)

    def _changed(self, staged: Staged, difference: int) -> None:
        self._pressure.changed(difference, staged.stock)

    def _hear(self, staged: Staged, now_ms: int) -> None:
        """It is the last to be forgotten."""
        staged.at_ms = now_ms
        key = staged.user, staged.identifier
        del self._staged[key]
        self._staged[key] = staged

    def _row(self, staged: Staged) -> StagedRow:
        return StagedRow(
            self._host,
            staged.user,
            staged.identifier,
            staged.size,
            staged.at_ms,
            staged.header,
            staged.branch,
        )

    def _write(self, staged: Staged) -> None:
        row = self._row(staged)
        self._turns.writes.topology(RowKind.STAGED, row.key(), row.encoded())
