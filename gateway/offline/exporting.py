"""Messages and topology as lines of JSON, which people can read and `importing` reads again.

The first line says what it is, the last one how much there is and the SHA-256 of all lines before
it: what ends without one is no export. Between them are the rows of the topology, then the messages
queue by queue, in their order. The same store gives the same lines, but for the last one. A file is
written beside its place and moved there when it is whole and on disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, final

from gateway import __version__
from gateway.audit.printable import printable_json
from gateway.bridge.durable.topology_rows import RowKind, binding_row, exchange_row, queue_row
from gateway.errors import DecodeError, GatewayError
from gateway.files.own import create_anew
from gateway.offline.directory import meta_in, sync
from gateway.offline.forms import Told, message_line, moment, row_line
from gateway.offline.listing import numbers_of
from gateway.offline.living import Living
from gateway.offline.topology import STATES, Topology
from gateway.store.contents import ends_in
from gateway.store.interface import TopologyRow

FORMAT: Final = 1


class Wanted(NamedTuple):
    """What is exported: of which queues, and which messages by when they came, in ms."""

    queues: list[str]
    host: str = ""
    since_ms: int | None = None
    until_ms: int | None = None

    def all(self) -> bool:
        """Whether that is everything."""
        return not (self.queues or self.host or self.since_ms or self.until_ms)


class Exported(NamedTuple):
    """What was written; `files_left_out`: that are staged, where queues were chosen."""

    rows: int
    messages: int
    octets: int
    sha256: str
    unread: list[str]
    files_left_out: int


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is there, whole and on disk, once this has ended well; else nothing is.

    Raises:
        GatewayError: it is there already, or cannot be written.
    """
    try:
        if os.path.lexists(path):  # as a directory is that has no name
            raise GatewayError(f"{path} is there already")
        new = path.with_name(path.name + ".new")
        with os.fdopen(create_anew(new), "wb") as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.rename(new, path)
            except BaseException:
                new.unlink(missing_ok=True)
                raise
        sync(path.parent)
    except OSError as error:
        raise GatewayError(f"cannot write {path}: {error.strerror}; nothing was") from error


def export(database: sqlite3.Connection, wanted: Wanted, out: BinaryIO, now_ms: int) -> Exported:
    """Write what is wanted of a store, one message in memory at a time.

    Raises:
        GatewayError: there is no such queue.
        OSError: it cannot be written.
    """
    topology = Topology(database)
    with closing(Living(database)) as living:
        numbers = numbers_of(topology, living, wanted.queues, wanted.host)
        writer = _Writer(out)
        writer.line(_head(database))
        along = _Along(topology, numbers)
        rows = [row for row in topology.rows if wanted.all() or along.has(row)]
        left_out = sum([row.kind == RowKind.STAGED for row in topology.rows])
        left_out -= sum([row.kind == RowKind.STAGED for row in rows])
        for row in rows:
            writer.line(row_line(row))
        messages = octets = 0
        for number in sorted(numbers):
            queue = topology.queues.get(number)
            host, name = ("", "") if queue is None else (queue.row.host, queue.row.name)
            for copy in living.copies(number):
                if _is_wanted(copy.message.arrived_ms, wanted):
                    writer.line(message_line(copy, host, name))
                    messages += 1
                    octets += len(copy.message.payload)
        digest = writer.digest.hexdigest()
        writer.line(
            {
                "type": "end",
                "rows": len(rows),
                "messages": messages,
                "octets": octets,
                "exported": moment(now_ms),
                "sha256": digest,
            }
        )
        unread = [*living.unread, *topology.damaged]
    return Exported(len(rows), messages, octets, digest, unread, left_out)


@final
class _Writer:
    """Lines, and the digest of all so far."""

    def __init__(self, out: BinaryIO) -> None:
        self.digest = sha256()
        self._out = out

    def line(self, told: Told) -> None:
        """One of them."""
        octets = printable_json(json.dumps(told, ensure_ascii=False)).encode() + b"\n"
        self._out.write(octets)
        self.digest.update(octets)


def _head(database: sqlite3.Connection) -> Told:
    return {
        "type": "amqp-gateway-export",
        "format": FORMAT,
        "gateway": __version__,
        "log": ends_in(database).log,
        "start": meta_in(database).get("incarnation", 0),
    }


def _is_wanted(arrived_ms: int, wanted: Wanted) -> bool:
    if wanted.since_ms is not None and arrived_ms < wanted.since_ms:
        return False
    return wanted.until_ms is None or arrived_ms < wanted.until_ms


@final
class _Along:
    """Which rows of the topology belong to some queues: they, and what they are bound to."""

    def __init__(self, topology: Topology, numbers: list[int]) -> None:
        queues = [topology.queues[number].row for number in numbers if number in topology.queues]
        self._numbers = set(numbers)
        self._queues = {(each.host, each.name) for each in queues}
        self._exchanges = {(each.host, each.settings.alternate_exchange) for each in queues}
        for each in topology.bindings:
            if (each.host, each.queue) in self._queues:
                self._exchanges.add((each.host, each.exchange))

    def has(self, row: TopologyRow) -> bool:
        """Whether the row is one of them."""
        try:
            if row.kind == RowKind.BINDING:
                binding = binding_row(row.value)
                return (binding.host, binding.queue) in self._queues
            if row.kind == RowKind.EXCHANGE:
                exchange = exchange_row(row.value)
                return (exchange.host, exchange.name) in self._exchanges
            return row.kind in STATES and queue_row(row.value).number in self._numbers
        except DecodeError:
            return False  # nobody knows whose it is
