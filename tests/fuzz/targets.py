"""Every parser of octets that others wrote, as something to be thrown octets at.

A target's `run` raises only if the parser did what it must not: an exception that it does not
declare, a violation that is not the last event, other events for the same octets in other cuts,
ledgers that do not balance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from fuzz import recorded
from fuzz.mutation import Pieces, conversations
from support import face_1_0, talk_0_10
from support.bridge_world import Producer
from support.field_names import field_names
from support.service_bus import ServiceBus
from support.stores import Running, message, scratch

from gateway.amqp_0_10 import _spec as spec_0_10
from gateway.amqp_0_10 import decoding as decoding_0_10
from gateway.amqp_0_10 import events as events_0_10
from gateway.amqp_0_10.connection import Connection as Connection010
from gateway.amqp_0_10.encoding import write_map
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.structs import read_header
from gateway.amqp_1_0 import events as events_1_0
from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0.connection import Connection as Connection10
from gateway.amqp_1_0.primitives import decoding as decoding_1_0
from gateway.audit.reader import Segment, records
from gateway.audit.records.log import AuditLog
from gateway.audit.salvage import Salvage
from gateway.audit.schema import BlockKind
from gateway.audit.sealing import Sealer
from gateway.audit.seals import head_in
from gateway.audit.seen import Seen
from gateway.audit.segment import SegmentWriter
from gateway.errors import DecodeError, StoreError, UnknownStoreError
from gateway.selectors.selector import Selector, read_selector
from gateway.store.database import Database
from gateway.store.log_rows import check, pack_row, unpack_row
from gateway.store.sqlite import FILE_NAME
from gateway.store.writes import TurnWriter
from gateway.translate import facts
from gateway.translate.context import Context, Counts
from gateway.translate.escrow import open_escrow
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.replies import ReplyTable
from gateway.translate.view import READER
from gateway.wire.buffers import Reader, Writer
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

NOW_MS = 1_700_000_000_000
LIMITS = Limits(message_size_max=100_000, table_size_max=20_000, commands_in_doubt_max=100)
DEPTH = 32


class Target:
    """One parser: its seeds, and what to do with pieces of octets."""

    def __init__(self, name: str, seeds: list[Pieces], run: Callable[[Pieces], None]) -> None:
        self.name = name
        self.seeds = seeds
        self.run = run


def _joined(parse: Callable[[bytes], object]) -> Callable[[Pieces], None]:
    """Runs a parser that may say `DecodeError` on all pieces as one."""

    def run(pieces: Pieces) -> None:
        try:
            parse(b"".join(pieces))
        except DecodeError as error:
            assert str(error)

    return run


# -- values ------------------------------------------------------------------------------------

_SCALARS_1_0 = [
    Tagged(types.STRING, "text"),
    Tagged(types.BINARY, b"octets"),
    Tagged(types.ULONG, 2**63),
    Tagged(types.BOOLEAN, True),
    Tagged(types.SYMBOL, "symbol"),
    Tagged(types.NULL, None),
    Tagged(types.UINT, 0),
]
_MAP_1_0 = [(Tagged(types.STRING, f"k{n}"), value) for n, value in enumerate(_SCALARS_1_0)]
_VALUES_1_0 = [
    [decoding_1_0_octets]
    for decoding_1_0_octets in (
        *[types.to_bytes(value) for value in _SCALARS_1_0],
        types.to_bytes(Tagged(types.LIST, _SCALARS_1_0)),
        types.to_bytes(Tagged(types.MAP, _MAP_1_0)),
        types.to_bytes(Tagged(types.LIST, [Tagged(types.MAP, _MAP_1_0)] * 3)),
        bytes.fromhex("f00000000500ffffff40"),  # an array of 2**24 nulls
        bytes.fromhex("e0025045"),
        bytes.fromhex("f000000009000000020080") + b"\0" * 4,
        bytes.fromhex("005370c10100"),
        b"\xc0\x03\x02" * 40,
        bytes.fromhex("d0000000") + b"\x05\xff\xff\xff\xff\x40",
    )
]


def _values_1_0(octets: bytes) -> None:
    with suppress(DecodeError):
        decoding_1_0.skip(Reader(octets), DEPTH)
    value = decoding_1_0.from_bytes(octets, DEPTH)
    # Compared as octets: a NaN differs from itself.
    again = types.to_bytes(value)
    assert types.to_bytes(decoding_1_0.from_bytes(again, DEPTH)) == again


def _seed_map_0_10() -> bytes:
    writer = Writer()
    write_map(
        writer,
        [
            ("text", Tagged(0x95, "text")),
            ("number", Tagged(0x31, -5)),
            ("list", Tagged(0xA9, [Tagged(0x95, "item"), Tagged(0x08, True)])),
            ("map", Tagged(0xA8, [("inner", Tagged(0x02, 5))])),
            ("void", Tagged(0xF0, None)),
            ("octets", Tagged(0xA0, b"octets")),
        ],
    )
    return writer.getvalue()


_VALUES_0_10: list[Pieces] = [
    [_seed_map_0_10()],
    [bytes.fromhex("0000000e020000000232000000010a")],
    [bytes.fromhex("00000005f0ffffffff")],  # an array of 2**32 voids
    [bytes.fromhex("0000000508ffffffff")],
    [b"\0\0\0\x40\0\0\0\x01\x01a\xa8" * 20],
]


def _values_0_10(octets: bytes) -> None:
    for read in (
        decoding_0_10.read_list,
        decoding_0_10.read_array,
        decoding_0_10.read_map,
    ):
        try:
            read(Reader(octets), DEPTH)
        except DecodeError:
            continue
    decoding_0_10.read_value(Reader(octets), octets[0] if octets else 0, DEPTH)


# -- messages ----------------------------------------------------------------------------------

_PAYLOADS_1_0: list[Pieces] = [
    [recorded.payload_1_0()],
    [recorded.payload_1_0()],
    [bytes.fromhex("005370c00541500570000000ff")],
    [bytes.fromhex("005375a003616263") * 3],
    [bytes.fromhex("005377a10474657874")],
    [bytes.fromhex("005377") + octets[0] for octets in _VALUES_1_0[:8]],
    [bytes.fromhex("005376") + types.to_bytes(Tagged(types.LIST, _SCALARS_1_0))],
    [
        bytes.fromhex("005372")
        + types.to_bytes(Tagged(types.MAP, [(Tagged(types.SYMBOL, "x-opt-a"), _SCALARS_1_0[0])])),
        bytes.fromhex("005373c01308a10269644040a1067375626a656374404040a0026363"),
        bytes.fromhex("005374") + types.to_bytes(Tagged(types.MAP, _MAP_1_0)),
        bytes.fromhex("005375a003616263"),
        bytes.fromhex("005378") + types.to_bytes(Tagged(types.MAP, [])),
    ],
]


class _Names:
    def is_queue(self, name: str) -> bool:
        return len(name) % 2 == 0

    def is_exchange(self, name: str) -> bool:
        return len(name) % 3 == 0

    def upstream_of(self, exchange: str, key: str) -> str:
        return exchange if len(key) % 2 == 0 else ""


def _context() -> Context:
    return Context(_Names(), ReplyTable(), Counts(), now_ms=NOW_MS, java=True)


def _sections_1_0(octets: bytes) -> None:
    sent = facts.message_from_1_0(
        facts.arrival_1_0(octets),
        octets,
        0,
        id=1,
        exchange="",
        routing_key="q",
        now_ms=NOW_MS,
        publisher=1,
        reader=READER,
    )
    sent.header("subject")
    sent.selectable("JMSMessageID")
    READER.headers(sent)
    to_0_10(sent, _context())
    found = sections.scan(octets)
    for parse in (
        lambda: sections.header(octets, found),
        lambda: sections.properties(octets, found),
        lambda: sections.application_properties(octets, found),
        lambda: sections.data(octets, found),
        lambda: sections.body_values(octets, found, DEPTH),
    ):
        try:
            parse()
        except DecodeError:
            continue


def _headers_0_10(octets: bytes) -> None:
    """The first octet says, by two, where the header segment ends."""
    end = min(len(octets), 2 * octets[0] + 2) if octets else 0
    header, octets = octets[1:end], octets[end:]
    sent = facts.message_from_0_10(
        facts.arrival_0_10(header, len(header)),
        header + octets,
        len(header),
        id=1,
        exchange="x",
        now_ms=NOW_MS,
        publisher=1,
        times_in_ms=True,
        reader=READER,
    )
    sent.header("a")
    sent.selectable("JMSMessageID")
    READER.headers(sent)
    to_1_0(sent, _context())
    read_header(header, len(header), DEPTH)


def _header_seeds() -> list[Pieces]:
    """Header segment and body of each message in the recorded conversations."""
    return [
        [bytes([event.body_at // 2 & 255]), event.payload]
        for pieces in [*conversations("0-10"), recorded.talk_of_0_10()]
        for event in _drive_0_10(pieces, 1 << 30)
        if isinstance(event, events_0_10.CommandReceived) and event.payload
    ]


def _escrow(octets: bytes) -> None:
    open_escrow(octets.decode("latin-1"), 16 * 1024, DEPTH)


_ESCROWS: list[Pieces] = [
    [b"1wQ4CoQN0dGyRUgIKoQFhoQFi"],
    [b"1wQEA"],
    [b"1" + b"wP8C" * 40],
]


# -- connections -------------------------------------------------------------------------------


def _described(events: list[object]) -> list[str]:
    """Events without the identity of the objects in them."""
    texts = []
    for event in events:
        fields = []
        for name in field_names(event):
            value = getattr(event, name)
            plain = type(value).__module__.rsplit(".", 1)[-1] not in ("session", "link", "errors")
            shown = value if plain else type(value).__name__
            fields.append(f"{name}={shown}" if name not in ("deliveries", "error") else name)
        texts.append(f"{type(event).__name__} {fields}")
    return texts


def _only_last(events: list[object], kind: type) -> None:
    """Behind one of that kind there are only messages that nobody takes."""
    ends = [at for at, event in enumerate(events) if isinstance(event, kind)]
    assert len(ends) <= 1, events
    behind = events[ends[0] + 1 :] if ends else []
    assert all(_is_dropped(event) for event in behind), events


def _is_dropped(event: object) -> bool:
    if isinstance(event, events_0_10.CommandReceived):
        return isinstance(event.command, spec_0_10.MessageTransfer)
    return isinstance(event, events_1_0.DeliveryDropped)


def _drive_0_10(pieces: Pieces, cut: int) -> list[object]:
    connection = Connection010(Role.SERVER, LIMITS, 0)
    told: list[object] = []
    for piece in pieces:
        heard: list[object] = []
        for at in range(0, len(piece), cut):
            heard += connection.receive_data(piece[at : at + cut], 0)
        told += heard
        _answer_0_10(connection, heard)
        connection.data_to_send()
    told += connection.receive_eof()
    assert connection.closed
    return told


def _answer_0_10(connection: Connection010, heard: list[object]) -> None:
    """Go through the negotiation and attach every session, as a server must."""
    for event in heard:
        if connection.closed:
            return
        if isinstance(event, events_0_10.HeaderReceived):
            connection.send_start([], ["ANONYMOUS"], ["en_US"])
        elif isinstance(event, events_0_10.ControlReceived):
            name = type(event.control).__name__
            if name == "ConnectionStartOk":
                connection.send_tune()
            elif name == "ConnectionOpen":
                connection.send_open_ok([])
        elif isinstance(event, events_0_10.AttachReceived):
            event.session.accept()


def _connection_0_10(pieces: Pieces) -> None:
    told = _drive_0_10(pieces, 1 << 30)
    _only_last(
        [event for event in told if not isinstance(event, events_0_10.ConnectionClosed)],
        events_0_10.Violation,
    )
    assert _described(_drive_0_10(pieces, 1)) == _described(told)


def _drive_1_0(pieces: Pieces, cut: int) -> list[object]:
    connection = Connection10(
        server=True,
        container_id="gateway",
        limits=LIMITS,
        now_ms=0,
        mechanisms=["PLAIN", "ANONYMOUS"],
    )
    told: list[object] = []
    for piece in pieces:
        heard: list[object] = []
        for at in range(0, len(piece), cut):
            heard += connection.receive_data(piece[at : at + cut], 0)
        while heard:
            told += heard
            _answer_1_0(connection, heard)
            heard = list(connection.receive_data(b"", 0))
        connection.data_to_send()
    told += connection.receive_eof()
    assert connection.closed
    return told


def _answer_1_0(connection: Connection10, heard: list[object]) -> None:
    """Grant, open, begin and attach whatever the peer asks for."""
    for event in heard:
        if connection.closed:
            return
        if isinstance(event, events_1_0.AuthenticationRequested):
            connection.send_verdict(True, 0)
        elif isinstance(event, events_1_0.OpenReceived):
            connection.send_open()
        elif isinstance(event, events_1_0.BeginReceived):
            event.session.send_begin()
        elif isinstance(event, events_1_0.AttachReceived):
            event.link.send_attach(source=event.attach.source, target=event.attach.target)
            if event.link.role and event.link.attached:
                event.link.send_flow(credit=100)


def _connection_1_0(pieces: Pieces) -> None:
    told = _drive_1_0(pieces, 1 << 30)
    ended = [event for event in told if not isinstance(event, events_1_0.ConnectionLost)]
    _only_last(ended, events_1_0.Violation)
    assert _described(_drive_1_0(pieces, 1)) == _described(told)


# -- faces -------------------------------------------------------------------------------------


def _face_0_10(pieces: Pieces) -> None:
    gateway = talk_0_10.Gateway(limits=LIMITS)
    recorded.seeded(gateway.world)
    authenticator = talk_0_10.Authenticator(["PLAIN", "ANONYMOUS"])
    face = gateway.face(authenticator)
    for piece in pieces:
        face.receive_data(piece, gateway.world.now_ms)
        while authenticator.asked and not face.closed:
            authenticator.asked.pop()[1].on_authenticated("guest", gateway.world.now_ms)
        gateway.world.turn()
        face.data_to_send()
    face.receive_eof(gateway.world.now_ms)
    gateway.world.turn()
    gateway.world.check()


def _face_1_0(pieces: Pieces) -> None:
    hub = face_1_0.Hub(limits=LIMITS)
    client = hub.client()
    client.session()
    recorded.seeded(hub.world)
    stranger = face_1_0.Client(hub, "stranger", 9, sasl=True)
    for piece in pieces:
        stranger.face.receive_data(piece, hub.world.now_ms)
        while stranger.authenticator.asked:
            _credentials, waiter = stranger.authenticator.asked.pop(0)
            waiter.on_authenticated("guest", hub.world.now_ms)
        hub.world.turn()
        stranger.face.data_to_send()
    stranger.face.receive_eof(hub.world.now_ms)
    client.session()
    hub.end()


def _upstream(pieces: Pieces) -> None:
    """The container that we dial talks nonsense, goes, and comes back in good order."""
    world = recorded.busy_upstream(LIMITS)
    world.world.queue("local")
    client, subscription = world.subscribe("local")
    face = world.upstream.connect(world.now_ms)
    roads = world.roads
    for piece in pieces:
        face.receive_data(piece, world.now_ms)
        world.world.turn()
        face.data_to_send()
        if roads.dialled:
            roads.open()
        deadline = face.next_deadline()
        if deadline is not None and deadline <= world.now_ms:
            face.handle_deadline(world.now_ms)
    assert len(world.upstream.detours.standing) <= world.upstream.context.settings.detours_max
    face.receive_eof(world.now_ms)
    while roads.dialled:
        roads.refuse()
    for host in list(roads.brokers):
        roads.lose(host)
    world.world.turn()
    assert subscription.credit == 10
    world.publish(b"to a client", key="local")
    assert client.bodies() == [b"to a client"], "another client was harmed"
    broker = world.connect()
    told = Producer()
    world.publish(b"after", key=recorded.QUEUE, publisher=told)
    for _ in range(8):
        world.pass_time(30_000)
        for delivery in broker.received():
            broker.settle(delivery)
        world.step()
    assert [token for token, _outcome in told.published] == [1], "a publisher still waits"
    world.check()


def _tokens(pieces: Pieces) -> None:
    """What puts tokens hears nonsense, and comes to its links afterwards."""
    world = recorded.token_world(LIMITS)
    face = world.upstream.connect(world.now_ms)
    producer = Producer()
    world.publish(*[b"body"] * 6, key=recorded.QUEUE, publisher=producer)
    for name in ("r", "s"):
        world.subscribe(name)
    for piece in pieces:
        face.receive_data(piece, world.now_ms)
        world.world.turn()
        face.data_to_send()
        deadline = face.next_deadline()
        if deadline is not None:
            world.world.now_ms = max(world.now_ms, deadline)
            face.handle_deadline(world.now_ms)
    face.receive_eof(world.now_ms)
    world.world.turn()
    bus = world.connect(kind=ServiceBus)
    told = Producer()
    world.publish(b"after", key=recorded.QUEUE, publisher=told)
    for _ in range(8):
        world.pass_time(30_000)
        for delivery in bus.received():
            bus.settle(delivery)
        world.step()
    assert [token for token, _outcome in told.published] == [1], "a publisher still waits"
    assert bus.refused == [], "a link without a token"
    world.check()


# -- files -------------------------------------------------------------------------------------


def _row_seeds() -> list[Pieces]:
    writer = TurnWriter()
    for number in range(1, 4):
        writer.message(message(number))
        writer.enqueue(1, number, number)
    writer.dequeue(1, 1)
    writer.redelivered(1, 2, 3)
    writer.topology(1, "queue", b"settings")
    writer.topology_removed(1, "gone")
    writes = writer.take()
    return [[writes], [pack_row(writes, b"audit")]]


def _rows(octets: bytes) -> None:
    """As records, and as a row whose checksum happens to be right."""
    with suppress(DecodeError):
        check(octets)
    writes, _audit = unpack_row(crc32(octets[4:]).to_bytes(4, "big") + octets[4:])
    check(writes)


def _store(pieces: Pieces) -> None:
    """A store with octets of others in a row of right checksum."""
    with scratch() as directory:
        Running(Path(directory)).close()
        database = Database(Path(directory) / FILE_NAME)
        database.commit(1, pack_row(b"".join(pieces), b""), {})
        database.close()
        for accept_damaged in (False, True):
            try:
                Running(Path(directory), accept_damaged=accept_damaged).close()
            except (StoreError, UnknownStoreError) as error:
                assert "\n" not in str(error)


def _segment_seeds() -> list[Pieces]:
    with scratch() as directory:
        log = AuditLog(1)
        log.incarnation_started(NOW_MS, "fuzz")
        writer = SegmentWriter(Path(directory))
        writer.sealer = Sealer(1, lambda: NOW_MS)
        writer.append(log.take_block(NOW_MS))
        writer.seal()
        log.incarnation_stopped(NOW_MS)
        writer.append(log.take_block(NOW_MS))
        writer.seal()
        writer.close()
        return [[path.read_bytes()] for path in Path(directory).iterdir()]


def _segment(pieces: Pieces) -> None:
    octets = b"".join(pieces)
    segment = Segment("fuzz", octets)
    for record in records(segment):
        assert record["sequence"] is not None
    assert segment.damage is not None or segment.good == len(octets)
    head_in(octets)
    segment = Segment("0000000001-000001.audit", octets)
    seen, salvage = Seen(segment), Salvage(segment)
    for block in salvage.blocks():
        if block.kind == BlockKind.SEAL:
            seen.seal(block, intact=salvage.intact)
        elif block.kind == BlockKind.RECORDS:
            seen.records(block)
    flaw = seen.seals.flaw
    assert flaw is None or "\n" not in flaw[2]


_SELECTORS = [
    [b"colour = 'red' AND NOT (size BETWEEN 1 AND -2.5e3 OR size IS NULL)"],
    [b"text LIKE 'a!_%' ESCAPE '!' OR \"a-b\" IN ('x', 'y''z') AND number + 2 * 0x1F / 7 > 017L"],
]


def _selector(octets: bytes) -> None:
    selector = read_selector(octets.decode("utf-8", "replace"))
    if isinstance(selector, Selector):
        for message in recorded.messages(itertools.count(1).__next__, NOW_MS):
            selector.accepts(message)


# As many of ours, which come furthest, as of all others.
_TALKS_0_10 = [*conversations("0-10"), *[recorded.talk_of_0_10()] * 15]
_TALKS_1_0 = [
    *conversations("1.0"),
    *[recorded.talk_of_1_0()] * 7,
    *[recorded.talk_in_transactions()] * 4,
]

TARGETS = [
    Target("values-1.0", _VALUES_1_0, _joined(_values_1_0)),
    Target("values-0-10", _VALUES_0_10, _joined(_values_0_10)),
    Target("sections-1.0", _PAYLOADS_1_0, _joined(_sections_1_0)),
    Target("headers-0-10", _header_seeds(), _joined(_headers_0_10)),
    Target("escrow", _ESCROWS, _joined(_escrow)),
    Target("connection-0-10", _TALKS_0_10, _connection_0_10),
    Target("connection-1.0", _TALKS_1_0, _connection_1_0),
    Target("face-0-10", _TALKS_0_10, _face_0_10),
    Target("face-1.0", _TALKS_1_0, _face_1_0),
    Target("upstream-1.0", [recorded.talk_of_upstream()], _upstream),
    Target("tokens-1.0", [recorded.talk_of_service_bus()], _tokens),
    Target("rows", _row_seeds(), _joined(_rows)),
    Target("store", _row_seeds()[:1], _store),
    Target("selectors", _SELECTORS, _joined(_selector)),
    Target("segments", _segment_seeds(), _segment),
]
