"""An export into the data directory of a gateway that is stopped, or of one that is to be.

All or nothing: everything is one transaction of the store, and a kill at any point leaves it as it
was. Exchanges, queues and bindings that are not there are made; those that are stay as they are.
Each message becomes a new one, with a number of its own, at the end of its queue, in the order of
the export. Numbers are those of an incarnation of its own: no start has given them, and none will.

A row says what was brought (`bridge.durable.imports`): so the next start tells the audit log that
it has come in, and the same export is not brought twice unless that is meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, final

from gateway.audit.ahead import ahead
from gateway.audit.ends import differences, last_incarnation
from gateway.audit.reader import segment_paths
from gateway.bridge.durable.imports import ImportRow, import_row
from gateway.bridge.durable.topology_rows import (
    RowKind,
    binding_row,
    encoded_position,
    exchange_row,
    queue_row,
    renumbered,
)
from gateway.bridge.numbers import MESSAGE_BITS, QUEUE_BITS
from gateway.bridge.paging.paging import LARGE, LARGE_OCTETS
from gateway.bridge.queues.places import PAGE_BITS
from gateway.errors import DecodeError, GatewayError, StoreError
from gateway.files.json_text import json_value
from gateway.files.own import create_anew
from gateway.files.whole import BODY_MAX
from gateway.net.data_directory import AUDIT_FOLDER, close_to_others, make_private
from gateway.offline.branches import ComingBranches
from gateway.offline.directory import alone, own_as, refuse_for_want_of_room, refuse_others
from gateway.offline.exporting import FORMAT
from gateway.offline.files import KINDS, ComingFiles
from gateway.offline.forms import Told, message_in, moment, row_in
from gateway.store.contents import damage_in, known_in
from gateway.store.damage import in_short
from gateway.store.database import Database
from gateway.store.interface import TopologyRow
from gateway.store.lock import LOCK_NAME
from gateway.store.log_rows import pack_row
from gateway.store.outside import opened
from gateway.store.sqlite import FILE_NAME, INCARNATION_SHIFT
from gateway.store.writes import TurnWriter

LINE_MAX: Final = 4 * BODY_MAX
BEGIN: Final = 64 * 1024  # octets of a line that are read before it is known to be one
ROW_OCTETS: Final = 1024 * 1024
QUEUES: Final = (int(RowKind.QUEUE), int(RowKind.TRANSIT))
SHARE_OF_EXPORT: Final = 2  # of the octets of an export as many are written: the WAL, then the file


class Imported(NamedTuple):
    """What was brought: messages, rows of the topology that were made, and what was left out.

    `files`: that are staged.
    """

    messages: int
    octets: int
    made: int
    files: int
    kept: list[str]
    left_out: int
    sha256: str


def import_into(
    directory: Path, source: BinaryIO, *, size: int, who: str, now_ms: int, again: bool = False
) -> Imported:
    """Bring an export into a data directory, which is made if it is not there.

    Args:
        size: octets of the export, 0 if that is not known.
        who: by whom, and from where: the audit log will have it.
        again: also if it was brought before.

    Raises:
        GatewayError: nothing was brought: the export is not whole, the store is damaged or used,
            there is no room.
    """
    make_private(directory)
    with alone(directory):
        refuse_for_want_of_room(directory, SHARE_OF_EXPORT * size)
        incarnation = _look_at(directory)
        database = Database(directory / FILE_NAME)
        try:
            bringing = _Bringing(database, incarnation, again=again)
            with database.as_incarnation(incarnation):
                bringing.bring(source, who, now_ms)
            database.checkpoint(shrink=True)
        finally:
            database.close()
        close_to_others(directory)
    return bringing.result


def _look_at(directory: Path) -> int:
    """The incarnation that an import is to have; GatewayError where it must not begin."""
    log, path = directory / AUDIT_FOLDER, directory / FILE_NAME
    lives = last_incarnation(log)
    if not path.exists():
        if segment_paths(log):
            raise GatewayError(
                f"there is no {path}, but an audit log beside it: put the store back, or take an"
                " empty directory"
            )
        os.close(create_anew(path))  # for its owner alone, who is that of the directory
        for name in (FILE_NAME, LOCK_NAME):
            own_as(directory / name, directory)
        return 1
    with opened(directory, keep=False) as database:
        if path.stat().st_size:
            refuse_others(database)
        known = known_in(database)
        found = list(damage_in(database))
    if found:
        raise StoreError(f"the store is damaged, and stays as it is: {in_short(found)}")
    wrong = differences(log, known.ends)
    wrong += ahead(log, known, as_remembered=not wrong)
    if wrong or lives > known.incarnation:
        told = f": {wrong[0]}" if wrong else ""
        raise GatewayError(f"the store and the audit log beside it do not belong together{told}")
    return known.incarnation + 1


@final
class _Bringing:
    """One import, within its transaction.

    Attributes:
        result: what was brought.
    """

    def __init__(self, database: Database, incarnation: int, *, again: bool) -> None:
        self.result = Imported(0, 0, 0, 0, [], 0, "")
        self._database = database
        self._incarnation = incarnation
        self._again = again
        rows, _damage = database.topology()
        self._present = {(row.kind, row.key): row.value for row in rows}
        self._changed: dict[tuple[int, str], bytes | None] = {}
        self._declared: list[tuple[int, str, str]] = []
        self._queues: dict[int, int] = {}  # by the number that the export has for them
        self._positions: dict[int, int] = {}
        self._large: dict[int, tuple[int, int]] = {}  # the last page of each, its large octets
        self._kept: list[str] = []
        self._next_queue = incarnation << QUEUE_BITS
        self._first = (incarnation << INCARNATION_SHIFT) + 1
        self._rows = self._messages = self._octets = self._left_out = 0
        self._branches = ComingBranches(self._present, self._new_queue)
        self._files = ComingFiles(self._present)
        self._writes = TurnWriter()
        self._next_row = database.last_row() + 1

    def bring(self, source: BinaryIO, who: str, now_ms: int) -> None:
        """All of it, or GatewayError."""
        lines = _Lines(source)
        for line in lines:
            try:
                self._line(line)
            except (ValueError, DecodeError) as error:
                raise GatewayError(f"line {lines.number}: {error}: nothing was imported") from None
        self._flush()
        for name, has in (("rows", self._rows), ("messages", self._messages + self._left_out)):
            if lines.end.get(name) != has:
                said = lines.end.get(name)
                raise GatewayError(f"it has {has} {name}, and says that it has {said}")
        self._refuse_twice(lines.digest)
        self._mark_seen()
        self._note(
            ImportRow(
                self._incarnation,
                lines.digest,
                who,
                now_ms,
                self._first,
                self._first + self._messages - 1,
            )
        )
        made = len(self._declared) + self._branches.made
        self._kept += self._branches.kept + self._files.kept
        self._changed.update(self._branches.rows(self._queues))
        self._changed.update(self._files.rows(now_ms, self._branches))
        self._database.write_topology(self._changed)
        self.result = Imported(
            self._messages,
            self._octets,
            made,
            self._files.made(),
            self._kept,
            self._left_out,
            lines.digest,
        )

    def _line(self, line: Told) -> None:
        if line.get("type") == "topology":
            self._rows += 1
            self._row(row_in(line))
        elif line.get("type") == "message":
            self._message(line)
        else:
            raise ValueError("it is none of an export")

    def _row(self, row: TopologyRow) -> None:
        if row.kind in QUEUES:
            self._queue(row)
        elif row.kind == RowKind.EXCHANGE:
            exchange = exchange_row(row.value)
            self._make(row, f"exchange {exchange.name!r}", exchange.host, exchange.name)
        elif row.kind == RowKind.BINDING:
            binding = binding_row(row.value)
            told = f"binding of {binding.queue!r} to {binding.exchange!r}"
            self._make(row, told, binding.host, "")
        elif row.kind == RowKind.BRANCH:
            self._branches.branch(row)
        elif row.kind == RowKind.BRANCH_PAGE:
            self._branches.page(row)
        elif row.kind in KINDS:
            self._files.row(row)

    def _make(self, row: TopologyRow, told: str, host: str, name: str) -> None:
        """Unless it is there; what has a `name` is declared by that."""
        there = self._present.get((row.kind, row.key))
        if there is None:
            self._changed[row.kind, row.key] = self._present[row.kind, row.key] = row.value
            if name:
                self._declared.append((row.kind, host, name))
        elif _sense(TopologyRow(row.kind, row.key, there)) != _sense(row):
            self._kept.append(f"{told} is there, made otherwise, and stays as it is")

    def _queue(self, row: TopologyRow) -> None:
        given = queue_row(row.value)
        there = self._present.get((row.kind, row.key))
        if there is None:
            number = self._new_queue(given.number)
        else:
            number = self._queues[given.number] = queue_row(there).number
        made = TopologyRow(row.kind, row.key, renumbered(row.value, number))
        self._make(made, f"queue {given.name!r}", given.host, given.name)

    def _new_queue(self, given: int) -> int:
        """The number that a queue of the export has from now on."""
        self._next_queue += 1
        self._queues[given] = self._next_queue
        return self._next_queue

    def _message(self, line: Told) -> None:
        number = self._first + self._messages
        message, count, annotations = message_in(line, number)
        told = line.get("queue_number")
        queue = self._queues.get(told) if isinstance(told, int) else None
        if queue is None:
            self._left_out += 1
            return
        position = self._place(queue, len(message.payload))
        before = line.get("position")
        if isinstance(told, int) and isinstance(before, int):
            self._branches.moved(told, before, position)
        self._writes.message(message)
        self._writes.enqueue(queue, position, number)
        if count != message.delivery_count or annotations:
            self._writes.redelivered(queue, position, count, annotations)
        self._messages += 1
        self._octets += len(message.payload)
        if self._writes.size() >= ROW_OCTETS:
            self._flush()

    def _place(self, queue: int, size: int) -> int:
        """The position of a copy: large ones begin a new page, as where they come in (`paging`)."""
        position = self._positions.get(queue, self._incarnation << MESSAGE_BITS)
        if size >= LARGE:
            page = position >> PAGE_BITS
            last, large = self._large.get(queue, (page, 0))
            large = size + (large if last == page else 0)
            if last == page and large > LARGE_OCTETS:
                page, large = page + 1, size
                position = page << PAGE_BITS
            self._large[queue] = page, large
        self._positions[queue] = position + 1
        return position

    def _flush(self) -> None:
        writes = self._writes.take()
        if writes:
            self._database.commit(self._next_row, pack_row(writes, b""), {})
            self._next_row += 1

    def _refuse_twice(self, digest: str) -> None:
        for (kind, _key), value in self._present.items():
            if kind != RowKind.IMPORT or self._again:
                continue
            row = import_row(value)
            if row.digest == digest:
                raise GatewayError(
                    f"this export was imported already, {moment(row.at_ms)}: once more with --again"
                )

    def _mark_seen(self) -> None:
        """After a kill, what may have been seen is what was there, and not what is brought."""
        if self._database.meta("clean") or self._incarnation == 1:
            return
        bound = encoded_position(self._incarnation << MESSAGE_BITS)
        for kind, key in self._present:
            if kind == RowKind.DISPATCHED:
                self._changed[kind, key] = None
                self._changed[int(RowKind.SEEN), key] = bound

    def _note(self, row: ImportRow) -> None:
        row.declared = self._declared
        self._changed[int(RowKind.IMPORT), row.key()] = row.encoded()


def _sense(row: TopologyRow) -> bytes:
    """What a row says, but for its number, its age, and who made it."""
    if row.kind in QUEUES:
        queue = queue_row(row.value)
        queue.number, queue.settings.maker = 0, ""
        return queue.encoded()
    if row.kind == RowKind.EXCHANGE:
        exchange = exchange_row(row.value)
        exchange.maker = ""
        return exchange.encoded()
    return row.value


@final
class _Lines:
    """The lines of an export between its first and its last one.

    Attributes:
        number: of the line that was read last.
        end: the last one, once it has come.
        digest: of all before it, which is the one that it names.
    """

    def __init__(self, source: BinaryIO) -> None:
        self.number = 0
        self.end: Told = {}
        self.digest = ""
        self._source = source
        self._sum = sha256()

    def __iter__(self) -> Iterator[Told]:
        head = self._next()
        if head.get("type") != "amqp-gateway-export":
            raise GatewayError("it is no export of `amqp-gateway store export`")
        if head.get("format") != FORMAT:
            raise GatewayError(f"it has format {head.get('format')}; this program has {FORMAT}")
        while True:
            line = self._next()
            if line.get("type") == "end":
                break
            yield line
        self.end = line
        if line.get("sha256") != self.digest:
            raise GatewayError("its lines are not those that were exported: their SHA-256 is other")
        if self._line(1):
            raise GatewayError(f"line {self.number + 1}: something follows the end of the export")

    def _line(self, octets_max: int) -> bytes:
        try:
            return self._source.readline(octets_max)
        except OSError as error:
            raise GatewayError(f"it cannot be read: {error.strerror}") from error

    def _next(self) -> Told:
        self.number += 1
        octets = self._line(BEGIN)
        if octets[:1] == b"\0":  # a device has such without end
            raise GatewayError(f"line {self.number} is no JSON")
        if not octets.endswith(b"\n"):
            octets += self._line(LINE_MAX + 1 - len(octets))
        if not octets.endswith(b"\n"):
            raise GatewayError(
                f"the export breaks off in line {self.number}: nothing was imported"
                if len(octets) <= LINE_MAX
                else f"line {self.number} is too long"
            )
        try:
            line = json_value(octets)
        except ValueError as error:
            raise GatewayError(f"line {self.number} is no JSON: {error}") from None
        if not isinstance(line, dict):
            raise GatewayError(f"line {self.number} is no object")
        self.digest = self._sum.hexdigest()
        self._sum.update(octets)
        return line
