"""Whether all of a data directory is as it was written, and fits together; and what a start does.

Everything is read, and nothing written: neither the store's files, nor what SQLite would leave
beside them, nor what a gateway that was killed has left to be made good by the next start.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, final

from gateway.audit.ahead import Known, ahead, last_sequence_in
from gateway.audit.ends import differences, holes, last_sequence_of, untold
from gateway.audit.reader import segment_paths
from gateway.errors import BrokenStoreError, DecodeError
from gateway.message import Encoding, Message
from gateway.net.data_directory import AUDIT_FOLDER, UNFINISHED_FILE
from gateway.offline.directory import meta_in, octets_of, refuse_others, to_read
from gateway.offline.forms import letter_of, moment
from gateway.offline.living import Copy, Living, Place
from gateway.offline.topology import Topology
from gateway.store.contents import known_in, rows_in, shrunk_in
from gateway.store.damage import row_line, topology_line
from gateway.store.failures import is_broken
from gateway.store.log_rows import unpack_row
from gateway.store.sqlite import FILE_NAME
from gateway.translate.view import READER

PROBLEMS_OF_SQLITE: Final = 100  # then it looks no further
ASIDE: Final = (("damaged", "number"), ("damaged_topology", "kind, key"))


class Problem(NamedTuple):
    """One thing that is wrong: `key` says of what kind it is."""

    key: str
    text: str


@final
class Check:
    """One check of a data directory; `problems` does it, and the rest is known after that.

    Attributes:
        summary: figures, a line each.
        recovery: what the next start would do first, a line each.
    """

    def __init__(self, directory: Path) -> None:
        self.summary: list[str] = []
        self.recovery: list[str] = []
        self._directory = directory

    def problems(self) -> Iterator[Problem]:
        """All that is wrong, as it is found.

        Raises:
            GatewayError: nothing of it can be told: no store is there, or a gateway has it.
        """
        unfinished = self._directory / UNFINISHED_FILE
        if os.path.lexists(unfinished):
            yield Problem("BACKUP", f"it was not finished: {unfinished}")
        try:
            with to_read(self._directory) as database:
                yield from self._problems(database)
        except BrokenStoreError as error:
            yield Problem("SQLITE", str(error))

    def _problems(self, database: sqlite3.Connection) -> Iterator[Problem]:
        refuse_others(database)
        try:
            yield from _of_sqlite(database)
            topology = Topology(database)
            yield from _of_topology(topology)
            with closing(Living(database)) as living:
                yield from _of_rows(living)
                yield from self._of_queues(topology, living)
                yield from _of_branches(topology, living)
                self._sum_up(database, topology, living)
            for line in (*shrunk_in(database), *_aside(database)):
                yield Problem("ROWS_MISSING", line)
            known = known_in(database)
            yield from self._of_log(known)
            self._tell_recovery(database, topology, known)
        except sqlite3.Error as error:
            if not is_broken(error):
                raise
            yield Problem("SQLITE", f"{self._directory / FILE_NAME}: {error}")

    def _of_queues(self, topology: Topology, living: Living) -> Iterator[Problem]:
        for number, held in living.held().items():
            if number not in topology.queues:
                text = f"queue number {number} is in no row, and holds {held.messages} messages"
                yield Problem("QUEUE", text)
            for copy in living.copies(number):
                wrong = _wrong_with(copy.message)
                if wrong:
                    yield Problem("MESSAGE", f"{_named(topology, copy)}: {wrong}")

    def _sum_up(self, database: sqlite3.Connection, topology: Topology, living: Living) -> None:
        held = list(living.held().values())
        messages = sum(each.messages for each in held)
        octets = sum(each.octets for each in held)
        oldest = min((each.oldest_ms for each in held), default=None)
        since = "" if oldest is None else f", the oldest of {moment(oldest)}"
        self.summary += [
            f"{octets_of(self._directory)} octets: {living.rows} rows of the log with"
            f" {living.messages} messages, {rows_in(database, 'topology')} of the topology",
            f"{len(topology.hosts())} virtual hosts, {len(topology.exchanges)} exchanges,"
            f" {len(topology.queues)} queues, {len(topology.bindings)} bindings",
            f"{messages} messages in queues, {octets} octets{since}",
        ]

    def _of_log(self, known: Known) -> Iterator[Problem]:
        log = self._directory / AUDIT_FOLDER
        try:
            different = differences(log, known.ends)
            since = 0 if known.ends.first is None else known.ends.first.segment
            missing = untold(holes(log, since), known.ends)
            older = ahead(log, known, as_remembered=not different)
            self.summary.append(f"{len(segment_paths(log))} segments of the audit log")
        except OSError as error:
            yield Problem("AUDIT", f"cannot read {error.filename or log}: {error.strerror}")
            return
        for each in (*different, *missing, *older):
            yield Problem("AUDIT", str(each))

    def _tell_recovery(
        self, database: sqlite3.Connection, topology: Topology, known: Known
    ) -> None:
        told = self.recovery
        meta = meta_in(database)
        if meta.get("clean"):
            told.append("it was closed in order")
        elif not meta.get("incarnation"):
            told.append("no gateway has begun with it yet")
        else:
            told.append("it was not closed in order: the gateway was killed, or this is a copy")
            if topology.marked:
                told.append(
                    f"messages of {len(topology.marked)} queues may have been seen by a consumer:"
                    " they will be marked as redelivered"
                )
        wal = self._directory / f"{FILE_NAME}-wal"
        if wal.exists() and wal.stat().st_size:
            told.append(f"{wal.stat().st_size} octets of {wal.name} will be copied into the store")
        missing = _unlogged(database, self._directory / AUDIT_FOLDER)
        if missing:
            text = f"audit records of {missing} rows are in the store alone: the log will get them"
            told.append(text)
        for row in topology.untold():
            told.append(
                f"an import of {moment(row.at_ms)}, messages {row.first} to {row.last}: the audit"
                " log will be told of it"
            )


def _of_sqlite(database: sqlite3.Connection) -> Iterator[Problem]:
    for (line,) in database.execute(f"PRAGMA integrity_check({PROBLEMS_OF_SQLITE})"):
        if line != "ok":
            yield Problem("SQLITE", " ".join(str(line).split()))


def _of_topology(topology: Topology) -> Iterator[Problem]:
    for line in topology.damaged:
        yield Problem("TOPOLOGY", line)
    for line in topology.unreadable:
        yield Problem("TOPOLOGY", line)
    for line in topology.flaws():
        yield Problem("REFERENCE", line)


def _of_rows(living: Living) -> Iterator[Problem]:
    for line in living.unread:
        yield Problem("ROW", line)
    for line in living.twice:
        yield Problem("POSITION", line)
    for line in living.idle:
        yield Problem("REFERENCE", line)


def _of_branches(topology: Topology, living: Living) -> Iterator[Problem]:
    """Whether all is there that prepared branches hold; what a deleted queue had is not."""
    accepted: dict[Place, str] = {}
    for page in topology.pages:
        branch = topology.branches.get((page.host, page.text))
        if branch is None:
            yield Problem("BRANCH", f"{page.text} holds something, and is in no row")
            continue
        for place in page.accepts:
            before = accepted.setdefault(place, page.text)
            if before != page.text:
                told = f"{_place(topology, place)} is accepted by {before} as well"
                yield Problem("BRANCH", f"{page.text}: {told}")
            elif place[0] in topology.queues and not living.has(*place):
                told = f"{_place(topology, place)}, which it has accepted, is not there"
                yield Problem("BRANCH", f"{page.text}: {told}")
        for _exchange, places in page.held:
            for queue, position in places:
                if queue in topology.queues and not living.has(branch.number, position):
                    told = f"what it is to publish to {_name(topology, queue)} is not there"
                    yield Problem("BRANCH", f"{page.text}: {told}: position {position}")


def _place(topology: Topology, place: Place) -> str:
    return f"position {place[1]} of queue {_name(topology, place[0])}"


def _name(topology: Topology, number: int) -> str:
    queue = topology.queues.get(number)
    return f"number {number}" if queue is None else f"{queue.row.name!r}"


def _wrong_with(message: Message) -> str:
    """Why nobody could be sent it; "" if it is as it came."""
    if message.encoding not in (Encoding.AMQP_0_10, Encoding.AMQP_1_0):
        return f"it is of no protocol: {message.encoding}"
    if not message.message_format and letter_of(message) is None:
        return "its octets cannot be decoded"
    if message.body_digest and READER.body_digest(message) != message.body_digest:
        return "its body is not the one that came"
    return ""


def _named(topology: Topology, copy: Copy) -> str:
    return f"message {copy.message.id} at {_place(topology, (copy.queue, copy.position))}"


def _aside(database: sqlite3.Connection) -> Iterator[str]:
    """What earlier starts have set aside."""
    tables = {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master")}
    for table, order in ASIDE:
        if table not in tables:
            continue
        for row in database.execute(f"SELECT * FROM {table} ORDER BY {order}"):
            body = row[2] if isinstance(row[2], bytes) else b""
            line = row_line(row[1], body) if table == "damaged" else topology_line((row[1], row[2]))
            yield f"set aside by start {row[0]}: {line}"


def _unlogged(database: sqlite3.Connection, log: Path) -> int:
    """How many rows have audit records that the log has not."""
    try:
        reached = last_sequence_of(segment_paths(log))
    except OSError:
        return 0
    rows = 0
    for (body,) in database.execute("SELECT body FROM log ORDER BY number DESC"):
        try:
            audit = unpack_row(body if isinstance(body, bytes) else b"")[1]
        except DecodeError:
            continue
        if audit and last_sequence_in(audit) <= reached:
            break
        rows += bool(audit)
    return rows
