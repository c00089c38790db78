"""What the store keeps of the topology: rows of durable exchanges, queues, bindings, and of notes.

The bridge alone knows the inside of a row. All text is a 32-bit length and UTF-8; a row begins
with its version. `DISPATCHED` marks a queue that has had a subscription since the last start after
a stop in order: after a crash, what is in the others was certainly not seen by anybody. More is in
`dispatched`; what notes are, `notes` says.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final
from uuid import UUID

from gateway.bridge.queues.discipline import (
    LEVELS_MAX,
    NO_ALERTS,
    NO_FLOW,
    PLAIN,
    AlertLimits,
    Discipline,
    FlowLimits,
    Life,
    Policy,
)
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.errors import DecodeError
from gateway.message import Kind
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


class Form(IntEnum):
    """How the value of a binding argument is written."""

    NOTHING = 0
    FALSE = 1
    TRUE = 2
    DECIMAL = 3
    FLOAT = 4
    TEXT = 5
    OCTETS = 6
    UUID = 7


POLICIES: Final = {int(policy): policy for policy in Policy}
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
        _text(out, self.host)
        _text(out, self.name)
        _text(out, self.type)
        out.u8(
            (1 if self.auto_delete else 0)
            | (2 if self.numbers else 0)
            | (4 if self.remembers else 0)
        )
        _text(out, self.alternate_exchange)
        _octets(out, self.arguments)
        if self.maker:
            _text(out, self.maker)
        return out.getvalue()


def exchange_row(value: bytes) -> ExchangeRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host, name, type = _read_text(data), _read_text(data), _read_text(data)
    bits = data.u8()
    return ExchangeRow(
        host,
        name,
        type,
        bits & 1 != 0,
        _read_text(data),
        _read_octets(data),
        _read_text(data) if data.remaining() else "",  # makers were not told, at first
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
        _text(out, self.host)
        _text(out, self.name)
        out.i64(self.number)
        out.u8(
            (1 if settings.exclusive else 0)
            | (2 if settings.auto_delete else 0)
            | (4 if settings.no_local else 0)
            | int(settings.life) << LIFE_AT
        )
        _text(out, settings.alternate_exchange)
        out.i64(settings.max_count)
        out.i64(settings.max_size)
        _octets(out, settings.arguments)
        out.i64(settings.auto_delete_timeout_ms)
        _subscriber(out, settings.subscriber)
        _text(out, settings.maker)
        _text(out, self.upstream or "")
        out.u8(1 if settings.unmarked else 0)
        _discipline(out, settings.discipline)
        return out.getvalue()


def queue_row(value: bytes) -> QueueRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host = _read_text(data)
    name = _read_text(data)
    number = data.i64()
    bits = data.u8()
    alternate_exchange = _read_text(data)
    max_count = data.i64()
    max_size = data.i64()
    arguments = _read_octets(data)
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
            settings.maker = _read_text(data)
        if data.remaining():  # nor where it lived
            upstream = _read_text(data)
            settings.unmarked = data.u8() == 1
        if data.remaining():  # nor what it did at its limits
            settings.discipline = _read_discipline(data)
    else:
        settings.unmarked = True  # the row ended here until there were subscribers
    return QueueRow(host, name, number, settings, upstream)


def _discipline(out: Writer, discipline: Discipline) -> None:
    if discipline == PLAIN:
        return
    out.u8(int(discipline.policy))
    out.u8(discipline.levels)
    out.u32(len(discipline.fair))
    for bound in discipline.fair:
        out.u32(bound)
    _text(out, discipline.last_value_key)
    _text(out, discipline.group_key)
    _text(out, discipline.no_group)
    out.u8(1 if discipline.browse_only else 0)
    flow = discipline.flow
    alerts = discipline.alerts
    tells = alerts != NO_ALERTS or discipline.paged > 0
    more = bool(discipline.filter or discipline.number_header) or tells
    if flow != NO_FLOW or more:
        out.i64(flow.stop_count)
        out.i64(flow.stop_size)
        out.i64(flow.resume_count)
        out.i64(flow.resume_size)
    if more:
        _text(out, discipline.filter)
        _text(out, discipline.number_header)
    if tells:
        for limit in (alerts.count, alerts.size, alerts.count_down, alerts.size_down):
            out.i64(limit)
        out.i64(alerts.gap_ms)
    if discipline.paged:
        out.i64(discipline.paged)


def _read_discipline(data: Reader) -> Discipline:
    policy, levels = data.u8(), data.u8()
    fair = tuple([data.u32() for _ in range(data.u32())])
    if policy not in POLICIES or levels > LEVELS_MAX or len(fair) not in (0, levels):
        raise DecodeError(f"a queue of policy {policy}, {levels} levels, {len(fair)} bounds")
    return Discipline(
        policy=POLICIES[policy],
        levels=levels,
        fair=fair,
        last_value_key=_read_text(data),
        group_key=_read_text(data),
        no_group=_read_text(data),
        browse_only=data.u8() == 1,
        flow=_read_flow(data) if data.remaining() else NO_FLOW,  # nor when publishers waited
        filter=_read_text(data) if data.remaining() else "",  # nor what it let in
        number_header=_read_text(data) if data.remaining() else "",
        alerts=_read_alerts(data) if data.remaining() else NO_ALERTS,
        paged=data.i64() if data.remaining() else 0,
    )


def _read_flow(data: Reader) -> FlowLimits:
    return FlowLimits(
        stop_count=data.i64(),
        stop_size=data.i64(),
        resume_count=data.i64(),
        resume_size=data.i64(),
    )


def _read_alerts(data: Reader) -> AlertLimits:
    return AlertLimits(
        count=data.i64(),
        size=data.i64(),
        count_down=data.i64(),
        size_down=data.i64(),
        gap_ms=data.i64(),
    )


def _subscriber(out: Writer, subscriber: Subscriber | None) -> None:
    out.u32(0 if subscriber is None else 1)
    if subscriber is not None:
        _text(out, subscriber.user)
        _text(out, subscriber.container)
        _text(out, subscriber.link)


def _read_subscriber(data: Reader) -> Subscriber | None:
    if data.u32() == 0:
        return None
    return Subscriber(_read_text(data), _read_text(data), _read_text(data))


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
        host = _read_text(data)
        name = _read_text(data)
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
    _read_text(data)
    _read_text(data)
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
        _text(out, self.host)
        _text(out, self.exchange)
        _text(out, self.queue)
        _text(out, self.key)
        out.u32(len(self.arguments))
        for name, value in self.arguments.items():
            _text(out, name)
            _value(out, value)
        _octets(out, self.encoded_arguments)
        return out.getvalue()


def binding_row(value: bytes) -> BindingRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host = _read_text(data)
    exchange = _read_text(data)
    queue = _read_text(data)
    key = _read_text(data)
    arguments: dict[str, Tagged] = {}
    for _ in range(data.u32()):
        name = _read_text(data)
        arguments[name] = _read_value(data)
    return BindingRow(host, exchange, queue, key, arguments, _read_octets(data))


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
        _text(out, self.host)
        out.i64(self.number)
        out.u32(len(self.notes))
        for key, at_ms, value in self.notes:
            _octets(out, key)
            out.i64(at_ms)
            _octets(out, value)
        return out.getvalue()


def notes_row(value: bytes) -> NotesRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    host = _read_text(data)
    number = data.i64()
    notes: list[tuple[bytes, int, bytes]] = []
    for _ in range(data.u32()):
        key = _read_octets(data)
        at_ms = data.i64()
        notes.append((key, at_ms, _read_octets(data)))
    return NotesRow(host, number, notes)


def encoded_host(host: str) -> bytes:
    """The value of the row `PLAIN_HOST`."""
    out = _begin()
    _text(out, host)
    return out.getvalue()


def host_row(value: bytes) -> str:
    """Decode; `DecodeError`."""
    return _read_text(_open(value))


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


def _text(out: Writer, text: str) -> None:
    _octets(out, text.encode())


def _octets(out: Writer, octets: bytes) -> None:
    out.u32(len(octets))
    out.raw(octets)


def _read_text(data: Reader) -> str:
    return data.text(data.u32())


def _read_octets(data: Reader) -> bytes:
    return data.take(data.u32())


def _value(out: Writer, tagged: Tagged) -> None:
    """A value of kind `OTHER` matches nothing: only that it was there is kept."""
    value = tagged.value
    out.u8(tagged.code)
    if isinstance(value, bool):
        out.u8(Form.TRUE if value else Form.FALSE)
    elif isinstance(value, int):
        out.u8(Form.DECIMAL)
        _text(out, str(value))
    elif isinstance(value, float):
        out.u8(Form.FLOAT)
        out.f64(value)
    elif isinstance(value, str):
        out.u8(Form.TEXT)
        _text(out, value)
    elif isinstance(value, bytes):
        out.u8(Form.OCTETS)
        _octets(out, value)
    elif isinstance(value, UUID):
        out.u8(Form.UUID)
        out.raw(value.bytes)
    else:
        out.u8(Form.NOTHING)


def _read_value(data: Reader) -> Tagged:
    code = data.u8()
    form = data.u8()
    if form == Form.TRUE or form == Form.FALSE:
        return Tagged(code, form == Form.TRUE)
    if form == Form.DECIMAL:
        return Tagged(code, int(_read_text(data)))
    if form == Form.FLOAT:
        return Tagged(code, data.f64())
    if form == Form.TEXT:
        return Tagged(code, _read_text(data))
    if form == Form.OCTETS:
        return Tagged(code, _read_octets(data))
    if form == Form.UUID:
        return Tagged(code, UUID(bytes=data.take(16)))
    return Tagged(code if code == Kind.NULL else Kind.OTHER, None)
