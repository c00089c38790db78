"""Proves the identities of the accounting from the audit records, without the accounting.

It reads the packed records of every incarnation in order and keeps, from them alone, what each
queue holds, which deliveries are open and which copies of a route have not ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from gateway.audit.digests import entry_mix
from gateway.audit.reader import Segment, segment_paths
from gateway.audit.schema import (
    BLOCK_HEADER,
    FIELD_NAMES,
    NAME_ENTRY,
    NAME_FIELDS,
    RECORD,
    RECORD_OCTETS,
    REMOVALS,
    BlockKind,
    Flag,
    Kind,
    Outcome,
)


class Record(NamedTuple):
    """One audit record, with its names resolved."""

    kind: Kind
    message: int
    position: int
    link: int
    node: str
    exchange: str
    copies: int
    reason: int
    flags: int
    outcome: int
    size: int
    id_digest: int
    delivery_count: int
    body_digest: int


class BlockLog:
    """`AuditSegments` in memory."""

    def __init__(self) -> None:
        self.octets = bytearray()

    def append(self, blocks: bytes) -> None:
        self.octets += blocks

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass

    def raw(self) -> list[dict[str, int | str]]:
        """Every record, as fields."""
        found: list[dict[str, int | str]] = []
        names: dict[int, str] = {0: ""}
        at = 0
        octets = bytes(self.octets)
        while at < len(octets):
            _, length, kind, _, _ = BLOCK_HEADER.unpack_from(octets, at)
            content = octets[at + BLOCK_HEADER.size : at + BLOCK_HEADER.size + length]
            at += BLOCK_HEADER.size + length
            if kind == BlockKind.NAMES:
                _read_names(content, names)
            if kind != BlockKind.RECORDS:
                continue
            for start in range(0, length, RECORD_OCTETS):
                values = dict(zip(FIELD_NAMES, RECORD.unpack_from(content, start), strict=True))
                for field in NAME_FIELDS:
                    values[field] = names[values[field]]
                found.append(values)
        return found

    def next_sequence(self) -> int:
        raw = self.raw()
        return int(raw[-1]["sequence"]) + 1 if raw else 1

    def records(self) -> list[Record]:
        return [
            Record(Kind(int(values["kind"])), *(values[name] for name in Record._fields[1:]))  # type: ignore[arg-type]  # typed by name
            for values in self.raw()
        ]


def _read_names(content: bytes, names: dict[int, str]) -> None:
    at = 0
    while at < len(content):
        number, length = NAME_ENTRY.unpack_from(content, at)
        at += NAME_ENTRY.size
        names[number] = content[at : at + length].decode()
        at += length


Copy = tuple[str, int, int]  # node, position, message


class LedgerCheck:
    """What the records say is where; every rule that they break is a line in `problems`."""

    def __init__(self, records: list[Record]) -> None:
        self.problems: list[str] = []
        self.kinds: Counter[Kind] = Counter()
        self.held: dict[Copy, bool] = {}  # whether it is durable
        self.depths: Counter[str] = Counter()
        self.checksums: Counter[str] = Counter()
        self.open: dict[tuple[str, int, int, int], bool] = {}  # whether it is browsed
        self.taken: set[Copy] = set()
        self.unsettled: Counter[str] = Counter()  # of a node, without those that are browsed
        self.unsettled_of: Counter[int] = Counter()  # of a link
        self.routes: dict[tuple[str, int], int] = {}
        self.routed: Counter[str] = Counter()
        self.received: Counter[int] = Counter()
        self.ended: Counter[int] = Counter()
        self.durable: set[Copy] = set()
        self.sent_by: defaultdict[int, list[int]] = defaultdict(list)  # messages, by their link
        self.left: Counter[int] = Counter()  # of a message: copies that have not ended
        self.confirmed: dict[int, int] = {}  # of a message: what its publisher is told
        for record in records:
            self.kinds[record.kind] += 1
            self._step(record)

    def assert_balanced(self) -> None:
        open_routes = {route: left for route, left in self.routes.items() if left}
        if open_routes:
            self.problems.append(f"route copies without an end: {open_routes}")
        assert not self.problems, "\n".join(self.problems)

    def _step(self, record: Record) -> None:
        kind = record.kind
        copy = (record.node, record.position, record.message)
        if kind == Kind.INCARNATION_STARTED:
            self._start()
        elif kind in (Kind.RECEIVED, Kind.ROUTED):
            self._need(record, record.copies > 0, "no copies")
            self._open_route(record, record.copies)
            self.routed[record.exchange] += record.copies
            if kind == Kind.RECEIVED:
                self.received[record.message] += 1
                self._need(record, self.received[record.message] == 1, "received twice")
                self.sent_by[record.link].append(record.message)
        elif kind == Kind.CONFIRMED:
            self._confirmed(record)
        elif kind in (Kind.UNROUTABLE, Kind.REFUSED, Kind.ROLLED_BACK):
            self._open_route(record, -1)
        elif kind == Kind.ENTERED:
            self._open_route(record, -1)
            self._need(record, copy not in self.held, "entered twice")
            durable = bool(record.flags & Flag.DURABLE)
            self._hold(copy, durable)
            if durable:
                self.durable.add(copy)
        elif kind == Kind.RECOVERED:
            self._need(record, copy in self.durable, "recovered from nowhere")
            self._hold(copy, durable=True)
        elif kind in REMOVALS:
            self._remove(record)
        elif kind == Kind.SENT:
            self._sent(record)
        elif kind in (Kind.SETTLED, Kind.REQUEUED):
            self._settled(record)
        elif kind == Kind.QUEUE_CHECKPOINT:
            self._checkpoint(record)
        elif kind == Kind.OUTLET_CHECKPOINT:
            unsettled = self.unsettled_of[record.link]
            self._need(record, unsettled == record.copies, f"{unsettled} unsettled")
        elif kind == Kind.ROUTE_CHECKPOINT:
            routed = self.routed[record.exchange]
            self._need(record, routed == record.message, f"{routed} routed")
            pending = sum(
                left for (exchange, _), left in self.routes.items() if exchange == record.exchange
            )
            self._need(record, pending == record.copies, f"{pending} pending")

    def _start(self) -> None:
        lost = self.durable - {copy for copy, durable in self.held.items() if durable}
        if lost:
            self.problems.append(f"durable copies that no record ended: {lost}")
        self.held.clear()
        self.depths.clear()
        self.checksums.clear()
        self.open.clear()
        self.taken.clear()
        self.unsettled.clear()
        self.unsettled_of.clear()
        self.routed.clear()
        self.routes.clear()  # what transactions held is gone
        self.sent_by.clear()
        self.left.clear()

    def _need(self, record: Record, condition: bool, what: str) -> None:
        if not condition:
            self.problems.append(f"{what}: {record}")

    def _open_route(self, record: Record, copies: int) -> None:
        route = (record.exchange, record.message)
        left = self.routes.get(route, 0) + copies
        self._need(record, left >= 0, "ends a copy that no route made")
        self.routes[route] = left
        self.left[record.message] += copies

    def _confirmed(self, record: Record) -> None:
        sent, first, last = self.sent_by[record.link], record.message, record.position
        told = sent[bisect_left(sent, first) : bisect_right(sent, last)]
        self._need(record, len(told) == record.copies > 0, f"{len(told)} messages")
        self._need(record, told[:1] == [first] and told[-1:] == [last], "not its messages")
        for message in told:
            self._need(record, message not in self.confirmed, f"{message} is told of twice")
            self.confirmed[message] = record.outcome
            if record.outcome == Outcome.ACCEPTED:
                self._need(record, self.left[message] == 0, f"{message} is not all there")

    def _hold(self, copy: Copy, durable: bool) -> None:
        node, position, message = copy
        if copy not in self.held:
            self.depths[node] += 1
            self.checksums[node] ^= entry_mix(message, position)
        self.held[copy] = durable

    def _remove(self, record: Record) -> None:
        copy = (record.node, record.position, record.message)
        held = self.held.pop(copy, None)
        if held is not None:
            self.depths[record.node] -= 1
            self.checksums[record.node] ^= entry_mix(record.message, record.position)
        self.durable.discard(copy)
        self.ended[record.message] += 1
        self._need(record, held is not None, "not in the queue")

    def _sent(self, record: Record) -> None:
        copy = (record.node, record.position, record.message)
        browsed = bool(record.flags & Flag.COPY)
        self._need(record, copy in self.held, "sent, but not in the queue")
        if not browsed:
            self._need(record, copy not in self.taken, "sent to two at once")
        if record.flags & Flag.SETTLED:
            if not browsed:
                self._remove(record)
            return
        delivery = (record.node, record.position, record.message, record.link)
        self._need(record, delivery not in self.open, "sent twice to one outlet")
        self.open[delivery] = browsed
        self.unsettled_of[record.link] += 1
        if not browsed:
            self.taken.add(copy)
            self.unsettled[record.node] += 1

    def _settled(self, record: Record) -> None:
        delivery = (record.node, record.position, record.message, record.link)
        browsed = self.open.pop(delivery, None)
        self._need(record, browsed is not None, "settled, but not sent")
        if browsed is not None:
            self.unsettled_of[record.link] -= 1
        if browsed is False:
            self.taken.discard((record.node, record.position, record.message))
            self.unsettled[record.node] -= 1
        self._need(record, browsed == bool(record.flags & Flag.COPY), "COPY does not agree")
        if record.flags & Flag.REMOVED:
            self._need(record, not browsed, "a browsed copy was removed")
            self._remove(record)

    def _checkpoint(self, record: Record) -> None:
        depth = self.depths[record.node]
        checksum = self.checksums[record.node]
        unsettled = self.unsettled[record.node]
        self._need(record, depth == record.position, f"depth is {depth}")
        self._need(record, checksum == record.id_digest, f"checksum is {checksum}")
        self._need(record, unsettled == record.copies, f"{unsettled} unsettled")


def log_of(audit: Path) -> BlockLog:
    """A log in files."""
    log = BlockLog()
    for path in segment_paths(audit):
        segment = Segment(path.name, path.read_bytes())
        start = segment.good
        for _block in segment.blocks():
            pass
        log.append(segment.octets[start : segment.good])
    return log


def ledger_of(audit: Path) -> LedgerCheck:
    """Of a log in files."""
    return LedgerCheck(log_of(audit).records())
