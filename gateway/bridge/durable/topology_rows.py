"""What the store keeps of the topology: rows of durable exchanges, queues, bindings, and of notes.

The bridge alone knows the inside of a row, which begins with its version. `DISPATCHED` marks a
queue that has had a subscription since the last start after a stop in order: after a crash, what is
in the others was certainly not seen by anybody. More is in `dispatched`; what notes are, `notes`
says.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

from gateway.bridge.durable.discipline_fields import read_discipline, write_discipline
from gateway.bridge.durable.row_fields import (
    read_octets,
    read_text,
    read_value,
    write_octets,
    write_text,
    write_value,
)
from gateway.bridge.queues.discipline import Life
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.errors import DecodeError
from gateway.store.interface import TopologyRow
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

VERSION: Final = 1


class RowKind(IntEnum):
    """`TopologyRow.kind`; rows are read in this order."""

    EXCHANGE = 1
    QUEUE = 2
    BINDING = 3
    DISPATCHED = 4
    NOTES = 5
    TRANSIT = 6  # a `QueueRow`: what stands in front of an upstream for an exchange
    DEBT = 7  # a `BindingRow`: see `debts`
    DELETED = 8  # a `QueueRow`: gone by name, but copies of it are with subscribers
    UNREADABLE = 9  # a `QueueRow`: what could be read of one, its name and number
    PLAIN_HOST = 10  # see `node_names`; there is one
    SEEN = 11  # a position: see `dispatched`
    BRANCH = 12  # see `branches.rows`; `BRANCH_PAGE`: what it holds
    BRANCH_PAGE = 13
    IMPORT = 14  # see `imports`
    STAGED = 15  # see `staging.rows`; `STAGED_PART`: of what has come of it
    STAGED_PART = 16


LIVES: Final = {int(life): life for life in Life}
LIFE_AT: Final = 3  # the bit of a queue's first where its life begins
LIFE_MASK: Final = 3
QUEUE_KINDS: Final = (
    *(int(RowKind.QUEUE), int(RowKind.TRANSIT), int(RowKind.DELETED), int(RowKind.UNREADABLE)),
)


def row_key(*parts: str) -> str:
    """A key that no other parts make."""
    return "".join(f"{len(part)}:{part}" for part in parts)


def row_span(*parts: str) -> tuple[str, str]:
    """The keys that begin with these parts and go on: the least, and what is above all of them."""
    begin = row_key(*parts)
    return begin + "0", begin + ":"  # the next part's length follows


@final
class ExchangeRow:
    """A durable exchange."""

    __slots__ = (
        *("alternate_exchange", "arguments", "auto_delete", "host", "maker", "name", "numbers"),
        *("remembers", "type"),
    )

    def __init__(
        self,
        host: str,
        name: str,
        type: str,
        auto_delete: bool,
        alternate_exchange: str,
        arguments: bytes,
        maker: str,
        *,
        numbers: bool = False,
        remembers: bool = False,
    ) -> None:
        self.host = host
        self.name = name
        self.type = type
        self.maker = maker
        self.auto_delete = auto_delete
        self.alternate_exchange = alternate_exchange
        self.arguments = arguments
        self.numbers = numbers
        self.remembers = remembers

    def key(self) -> str:
        """Its row's key."""
        return row_key(self.host, self.name)

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin()
        write_text(out, self.host)
        write_text(out, self.name)
        write_text(out, self.type)
        out.u8(
            (1 if self.auto_delete else 0)
            | (2 if self.numbers else 0)
            | (4 if self.remembers else 0)
        )
        write_text(out, self.alternate_exchange)
        write_octets(out, self.arguments)
        if self.maker:
            write_text(out, self.maker)
        return out.getvalue()


def exchange_row(value: bytes) -> ExchangeRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host, name, type = read_text(data), read_text(data), read_text(data)
    bits = data.u8()
    return ExchangeRow(
        host,
        name,
        type,
        bits & 1 != 0,
        read_text(data),
        read_octets(data),
        read_text(data) if data.remaining() else "",  # makers were not told, at first
        numbers=bits & 2 != 0,
        remembers=bits & 4 != 0,
    )


@final
class QueueRow:
    """A durable queue; `upstream`: where it lives, "" for here; an old row does not say: `None`."""

    __slots__ = ("host", "name", "number", "settings", "upstream")

    def __init__(
        self,
        host: str,
        name: str,
        number: int,
        settings: QueueSettings,
        upstream: str | None = "",
    ) -> None:
        self.host = host
        self.name = name
        self.number = number
        self.settings = settings
        self.upstream = upstream

    def numbered_key(self) -> str:
        """The key of a row beside its own, or that of a namesake: `DELETED`, `UNREADABLE`."""
        return row_key(self.host, self.name, str(self.number))

    def encoded(self) -> bytes:
        """Its row's value."""
        settings = self.settings
        out = _begin()
        write_text(out, self.host)
        write_text(out, self.name)
        out.i64(self.number)
        out.u8(
            (1 if settings.exclusive else 0)
            | (2 if settings.auto_delete else 0)
            | (4 if settings.no_local else 0)
            | int(settings.life) << LIFE_AT
        )
        write_text(out, settings.alternate_exchange)
        out.i64(settings.max_count)
        out.i64(settings.max_size)
        write_octets(out, settings.arguments)
        out.i64(settings.auto_delete_timeout_ms)
        _subscriber(out, settings.subscriber)
        write_text(out, settings.maker)
        write_text(out, self.upstream or "")
        out.u8(1 if settings.unmarked else 0)
        write_discipline(out, settings.discipline)
        return out.getvalue()


def queue_row(value: bytes) -> QueueRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host = read_text(data)
    name = read_text(data)
    number = data.i64()
    bits = data.u8()
    alternate_exchange = read_text(data)
    max_count = data.i64()
    max_size = data.i64()
    arguments = read_octets(data)
    life = bits >> LIFE_AT & LIFE_MASK
    if life not in LIVES:
        raise DecodeError(f"a queue of life {life}")
    settings = QueueSettings(
        durable=True,
        exclusive=bits & 1 != 0,
        auto_delete=bits & 2 != 0,
        alternate_exchange=alternate_exchange,
        max_count=max_count,
        max_size=max_size,
        arguments=arguments,
        auto_delete_timeout_ms=data.i64(),
        life=LIVES[life],
        no_local=bits & 4 != 0,
    )
    upstream: str | None = None
    if data.remaining():
        settings.subscriber = _read_subscriber(data)
        if data.remaining():  # nor were makers told, at first
            settings.maker = read_text(data)
        if data.remaining():  # nor where it lived
            upstream = read_text(data)
            settings.unmarked = data.u8() == 1
        if data.remaining():  # nor what it did at its limits
            settings.discipline = read_discipline(data)
    else:
        settings.unmarked = True  # the row ended here until there were subscribers
    return QueueRow(host, name, number, settings, upstream)


def _subscriber(out: Writer, subscriber: Subscriber | None) -> None:
    out.u32(0 if subscriber is None else 1)
    if subscriber is not None:
        write_text(out, subscriber.user)
        write_text(out, subscriber.container)
        write_text(out, subscriber.link)


def _read_subscriber(data: Reader) -> Subscriber | None:
    if data.u32() == 0:
        return None
    return Subscriber(read_text(data), read_text(data), read_text(data))


def numbers_of(rows: list[TopologyRow]) -> set[int]:
    """The numbers of all queues that have a row of any kind, as far as these can be read."""
    found: set[int] = set()
    for row in rows:
        if row.kind in QUEUE_KINDS or row.kind == RowKind.BRANCH:  # which begins alike
            identity = read_identity(row.key, row.value)
            if identity is not None:
                found.add(identity.number)
    return found


def read_identity(key: str, value: bytes) -> QueueRow | None:
    """Host, name and number of a `QueueRow` that cannot be read to its end, or of another version.

    They stand first, and the key says whether they are what they seem.
    """
    try:
        data = Reader(value)
        data.u8()
        host = read_text(data)
        name = read_text(data)
        number = data.i64()
    except DecodeError:
        return None
    if not key.startswith(row_key(host)):
        return None
    return QueueRow(host, name, number, QueueSettings(durable=True))


def renumbered(value: bytes, number: int) -> bytes:
    """The value of a `QueueRow` with another number, and all else as it is, whatever its age."""
    data = Reader(value)
    data.u8()
    read_text(data)
    read_text(data)
    at = data.pos
    return value[:at] + number.to_bytes(8, "big") + value[at + 8 :]


@final
class BindingRow:
    """A binding of a durable queue to a durable exchange."""

    __slots__ = ("arguments", "encoded_arguments", "exchange", "host", "key", "queue")

    def __init__(
        self,
        host: str,
        exchange: str,
        queue: str,
        key: str,
        arguments: dict[str, Tagged],
        encoded_arguments: bytes,
    ) -> None:
        self.host = host
        self.exchange = exchange
        self.queue = queue
        self.key = key
        self.arguments = arguments
        self.encoded_arguments = encoded_arguments

    def row_key(self) -> str:
        """Its row's key."""
        return row_key(self.host, self.exchange, self.queue, self.key)

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin()
        write_text(out, self.host)
        write_text(out, self.exchange)
        write_text(out, self.queue)
        write_text(out, self.key)
        out.u32(len(self.arguments))
        for name, value in self.arguments.items():
            write_text(out, name)
            write_value(out, value)
        write_octets(out, self.encoded_arguments)
        return out.getvalue()


def binding_row(value: bytes) -> BindingRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host = read_text(data)
    exchange = read_text(data)
    queue = read_text(data)
    key = read_text(data)
    arguments: dict[str, Tagged] = {}
    for _ in range(data.u32()):
        name = read_text(data)
        arguments[name] = read_value(data)
    return BindingRow(host, exchange, queue, key, arguments, read_octets(data))


@final
class NotesRow:
    """A page of notes: key, time in ms and value of each; numbers ascend within a host."""

    __slots__ = ("host", "notes", "number")

    def __init__(self, host: str, number: int, notes: list[tuple[bytes, int, bytes]]) -> None:
        self.host = host
        self.number = number
        self.notes = notes

    def key(self) -> str:
        """Its row's key; keys of a host are in the order of their numbers."""
        return row_key(self.host, f"{self.number:016x}")

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin()
        write_text(out, self.host)
        out.i64(self.number)
        out.u32(len(self.notes))
        for key, at_ms, value in self.notes:
            write_octets(out, key)
            out.i64(at_ms)
            write_octets(out, value)
        return out.getvalue()


def notes_row(value: bytes) -> NotesRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host = read_text(data)
    number = data.i64()
    notes: list[tuple[bytes, int, bytes]] = []
    for _ in range(data.u32()):
        key = read_octets(data)
        at_ms = data.i64()
        notes.append((key, at_ms, read_octets(data)))
    return NotesRow(host, number, notes)


def encoded_host(host: str) -> bytes:
    """The value of the row `PLAIN_HOST`."""
    out = _begin()
    write_text(out, host)
    return out.getvalue()


def host_row(value: bytes) -> str:
    """Decode; `DecodeError`."""
    return read_text(_open(value))


def encoded_position(position: int) -> bytes:
    """The value of a row `SEEN`."""
    out = _begin()
    out.i64(position)
    return out.getvalue()


def position_row(value: bytes) -> int:
    """Decode; `DecodeError`."""
    return _open(value).i64()


def _begin() -> Writer:
    out = Writer()
    out.u8(VERSION)
    return out


def _open(value: bytes) -> Reader:
    data = Reader(value)
    version = data.u8()
    if version != VERSION:
        raise DecodeError(f"topology row of version {version}")
    return data
