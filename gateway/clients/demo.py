"""The demo's scenario: a real mix of messages through all four exchange types, in both directions.

0-10 to 1.0: a 0-10 producer publishes to the direct, topic, fanout and headers exchange; 1.0
consumers receive from the queues bound to them. Then the same the other way. What arrives is
compared with what was sent, through the view that the mapping promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, final

from twisted.internet.defer import Deferred, TimeoutError

from gateway.amqp_0_10 import _spec_constants as codes
from gateway.amqp_0_10.types import Array
from gateway.amqp_1_0 import types
from gateway.clients.client import Client, ClientError, Delivered, Login, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.conversation import Connector, Where
from gateway.clients.letter import INTEGERS, Letter, Typed
from gateway.wire.tagged import Tagged

TIMEOUT_S: Final = 60.0
SETTLE_TIMEOUT_S: Final = 10.0
HOUR_MS: Final = 3_600_000
NUMBER: Final = "demo-number"


@dataclass(frozen=True, slots=True)
class Lane:
    """One exchange, where to publish to it, and the queue that is bound to it."""

    exchange: str
    key: str
    binding: str
    headers: dict[str, str] | None = None

    @property
    def queue(self) -> str:
        """Its queue."""
        return f"demo.{self.exchange.removeprefix('amq.')}"

    @property
    def address(self) -> str:
        """Where to send."""
        return f"{self.exchange}/{self.key}" if self.key else self.exchange


LANES: Final = (
    Lane("amq.direct", "invoice", "invoice"),
    Lane("amq.topic", "orders.eu.new", "orders.#"),
    Lane("amq.fanout", "", ""),
    Lane("amq.match", "", "", {"demo-color": "blue"}),
)

# Headers of types that only 0-10 has, or that 1.0 has no place for: escrow carries them.
NATIVE_0_10: Final = [
    ("bin8", Tagged(codes.BIN8, b"\x01")),
    ("bin16", Tagged(codes.BIN16, b"\x01\x02")),
    ("bin32", Tagged(codes.BIN32, b"\x01" * 4)),
    ("bin40", Tagged(codes.BIN40, b"\x01" * 5)),
    ("bin64", Tagged(codes.BIN64, b"\x01" * 8)),
    ("bin72", Tagged(codes.BIN72, b"\x01" * 9)),
    ("bin128", Tagged(codes.BIN128, b"\x01" * 16)),
    ("bin256", Tagged(codes.BIN256, b"\x01" * 32)),
    ("bin512", Tagged(codes.BIN512, b"\x01" * 64)),
    ("bin1024", Tagged(codes.BIN1024, b"\x01" * 128)),
    ("char", Tagged(codes.CHAR, "c")),
    ("str8", Tagged(codes.STR8, "short")),
    ("str8-latin", Tagged(codes.STR8_LATIN, "Grüße, 5 €")),
    ("str16-latin", Tagged(codes.STR16_LATIN, "à la carte")),
    ("str8-utf16", Tagged(codes.STR8_UTF16, "日本")),
    ("str16-utf16", Tagged(codes.STR16_UTF16, "日本語")),
    ("vbin8", Tagged(codes.VBIN8, b"eight")),
    ("vbin16", Tagged(codes.VBIN16, b"sixteen")),
    ("dec32", Tagged(codes.DEC32, (2, 12345))),
    ("dec64", Tagged(codes.DEC64, (3, -1234567))),
    ("bit", Tagged(codes.BIT, True)),
    ("map", Tagged(codes.MAP, [("key", Tagged(codes.STR16, "value"))])),
    ("list", Tagged(codes.LIST, [Tagged(codes.INT32, 1), Tagged(codes.STR16, "two")])),
    ("array", Tagged(codes.ARRAY, Array(codes.INT32, [1, 2, 3]))),
]
NATIVE_1_0: Final = [
    ("symbol", Tagged(types.SYMBOL, "a-symbol")),
    ("decimal32", Tagged(types.DECIMAL32, b"\x22\x50\x00\x01")),
    ("decimal64", Tagged(types.DECIMAL64, b"\x22\x34" + bytes(5) + b"\x01")),
    ("decimal128", Tagged(types.DECIMAL128, b"\x22\x08" + bytes(13) + b"\x01")),
]

PROPERTIES: Final = {
    "nothing": Typed("void", None),
    "yes": Typed("boolean", True),
    **{name: Typed(name, 100 if name == "int8" else 120) for name in INTEGERS},
    "float": Typed("float", 0.5),
    "double": Typed("double", 1 / 3),
    "character": Typed("char", "ß"),
    "string": Typed("string", "text with ünïcode"),
    "binary": Typed("binary", b"\x00\xff\x00"),
    "uuid": Typed("uuid", bytes(range(16))),
    "datetime": Typed("datetime", 1_700_000_000_000),
}
BODIES: Final = (
    Typed("string", "Grüße aus dem Altsystem"),
    Typed("binary", bytes(range(256))),
    Typed(
        "map",
        {
            "id": Typed("int32", 7),
            "paid": Typed("boolean", True),
            "lines": Typed("list", [Typed("string", "a"), Typed("int64", 2)]),
        },
    ),
    Typed("list", [Typed("double", 0.25), Typed("string", "x"), Typed("void", None)]),
    Typed("void", None),
)


def letter(number: int, lane: Lane, native: list[tuple[str, Tagged]]) -> Letter:
    """The letter of that number: body, headers and delivery facts take turns."""
    properties = {NUMBER: Typed("int64", number), **PROPERTIES}
    for name, value in (lane.headers or {}).items():
        properties[name] = Typed("string", value)
    return Letter(
        body=BODIES[number % len(BODIES)],
        durable=number % 2 == 0,
        priority=number % 10,
        ttl_ms=HOUR_MS if number % 3 == 0 else None,
        correlation_id=f"demo-{number}",
        properties=properties,
        native=native if number % 2 else [],
    )


def arrives_as(value: Typed, protocol: str, *, body: bool = False) -> Typed:
    """What a value is to a receiver of `protocol` that does not look into escrow."""
    if protocol == "1.0" and body and value.type == "string":
        return Typed("binary", value.value.encode())  # a data section, by default
    if protocol == "1.0" and body and value.type == "void":
        return Typed("binary", b"")
    if protocol == "0-10" and value.type in ("char", "symbol"):
        return Typed("string", value.value)
    return value


@dataclass(slots=True)
class Count:
    """What became of one lane's letters in one direction."""

    sent: int = 0
    accepted: int = 0
    received: int = 0
    settled: int = 0
    different: int = 0


@dataclass(slots=True)
class Tally:
    """One direction: a count for each lane, and what the gateway itself counted meanwhile."""

    title: str
    lanes: dict[str, Count] = field(default_factory=dict)
    settled: int = 0
    translated: int = 0
    escrowed: int = 0
    restored: int = 0
    lost: int = 0

    @property
    def complete(self) -> bool:
        """Everything that was sent arrived as it should and was settled."""
        sent = sum(count.sent for count in self.lanes.values())
        return (
            all(
                count.sent == count.accepted == count.received == count.settled
                and not count.different
                for count in self.lanes.values()
            )
            and self.settled == sent
            and not self.lost
        )


class GatewayCounts(Protocol):
    """What the gateway under demonstration counts."""

    def settled(self) -> int:
        """Deliveries accepted."""

    def translated(self) -> int:
        """Deliveries sent."""

    def escrowed(self) -> int:
        """Values put into escrow."""

    def restored(self) -> int:
        """Values that came back from it."""

    def lost(self) -> int:
        """Values that did not cross."""


@final
class Direction:
    """Letters from a producer of one protocol to consumers of the other."""

    def __init__(
        self,
        connector: Connector,
        producer: Client,
        consumer: Client,
        protocol: str,
        native: list[tuple[str, Tagged]],
        tally: Tally,
        count: int,
    ) -> None:
        self._connector = connector
        self._producer = producer
        self._consumer = consumer
        self._protocol = protocol  # the consumer's
        self._native = native
        self._tally = tally
        self._count = count
        self._left = count * len(LANES)
        self._all_came: Deferred[None] = Deferred()

    async def run(self) -> None:
        """Subscribe, send everything, and wait until it has arrived."""
        for lane in LANES:
            self._tally.lanes[lane.exchange] = Count()
            await self._consumer.receive(Subscription(lane.queue), self._taker(lane))
        answers = [
            (self._tally.lanes[lane.exchange], self._send(lane, number))
            for number in range(self._count)
            for lane in LANES
        ]
        for count, answer in answers:
            count.accepted += await answer == "accepted"
        self._all_came.addTimeout(TIMEOUT_S, self._connector.reactor)
        try:
            await self._all_came
        except TimeoutError:
            raise ClientError(f"{self._left} messages did not arrive") from None

    def _send(self, lane: Lane, number: int) -> Deferred[str]:
        self._tally.lanes[lane.exchange].sent += 1
        return self._producer.send(lane.address, letter(number, lane, self._native))

    def _taker(self, lane: Lane) -> Callable[[Delivered], None]:
        count = self._tally.lanes[lane.exchange]

        def take(delivered: Delivered) -> None:
            count.received += 1
            count.different += not self._is_right(delivered.letter, lane)
            delivered.settle("accept")
            count.settled += 1
            self._left -= 1
            if not self._left:
                self._all_came.callback(None)

        return take

    def _is_right(self, got: Letter, lane: Lane) -> bool:
        number = got.properties.get(NUMBER, Typed("int64", -1)).value
        sent = letter(number, lane, [])
        return (
            got.body == arrives_as(sent.body, self._protocol, body=True)
            and bool(got.durable) == sent.durable
            and got.priority == sent.priority
            and (got.ttl_ms is None) == (sent.ttl_ms is None)
            and got.correlation_id == sent.correlation_id
            and all(
                got.properties.get(name) == arrives_as(value, self._protocol)
                for name, value in sent.properties.items()
            )
        )


async def scenario(
    connector: Connector,
    where: Where,
    gateway: GatewayCounts,
    count: int,
    say: Callable[[str], None],
) -> list[Tally]:
    """Both directions; a tally for each. Raises ClientError when something does not arrive."""
    old = await connector.connect_0_10(where, Login())
    new = await connector.connect_1_0(where, Login())
    await declare(old)
    say(f"declared {len(LANES)} durable queues, bound to {', '.join(x.exchange for x in LANES)}")
    tallies = []
    for title, sender, receiver_protocol, native in (
        ("0-10 to 1.0", old, "1.0", NATIVE_0_10),
        ("1.0 to 0-10", new, "0-10", NATIVE_1_0),
    ):
        say(f"{title}: sending {count * len(LANES)} messages")
        tallies.append(
            await one_direction(
                connector, where, gateway, title, sender, receiver_protocol, native, count
            )
        )
    return tallies


async def one_direction(
    connector: Connector,
    where: Where,
    gateway: GatewayCounts,
    title: str,
    producer: Client,
    receiver_protocol: str,
    native: list[tuple[str, Tagged]],
    count: int,
) -> Tally:
    """One direction, with consumers of its own, and what the gateway counted for it."""
    consumer: Client = (
        await connector.connect_1_0(where, Login())
        if receiver_protocol == "1.0"
        else await connector.connect_0_10(where, Login())
    )
    before = _snapshot(gateway)
    tally = Tally(title)
    direction = Direction(connector, producer, consumer, receiver_protocol, native, tally, count)
    await direction.run()
    waited_s = 0.0
    while gateway.settled() - before[0] < count * len(LANES) and waited_s < SETTLE_TIMEOUT_S:
        await connector.pause(0.05)
        waited_s += 0.05
    after = _snapshot(gateway)
    gained = [now - then for now, then in zip(after, before, strict=True)]
    tally.settled, tally.translated, tally.escrowed, tally.restored, tally.lost = gained
    await consumer.close(connector.clock.now_ms())
    return tally


def _snapshot(gateway: GatewayCounts) -> tuple[int, ...]:
    return (
        gateway.settled(),
        gateway.translated(),
        gateway.escrowed(),
        gateway.restored(),
        gateway.lost(),
    )


async def declare(client: Client010) -> None:
    """The queues and their bindings."""
    for lane in LANES:
        await client.declare_queue(lane.queue, durable=True)
        await client.bind(lane.queue, lane.exchange, lane.binding, lane.headers)
