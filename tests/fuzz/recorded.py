"""Conversations of our own clients with our faces: seeds that come further than foreign ones."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.mutation import Pieces
from support import face_1_0, service_bus, talk_0_10, upstream_world
from support.bridge_world import Producer, World
from support.controller_1_0 import Controller

from gateway.amqp_0_10 import _spec as spec_0_10
from gateway.amqp_0_10 import _spec_constants as types_0_10
from gateway.amqp_1_0 import _spec, events, sections, transactions, types
from gateway.faces.dialled.settings import CbsToken
from gateway.message import Message
from gateway.translate import facts
from gateway.translate.profiles.loading import Profile, load_profile
from gateway.translate.profiles.templates import Template
from gateway.translate.view import READER
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

QUEUE = "q"


def seeded(world: World) -> None:
    """A queue with messages of both protocols in it."""
    world.queue(QUEUE, durable=True)
    for message in messages(world.bridge.numbers.next_message, world.now_ms):
        world.host.publishing.publish(message, None, 0)
    world.turn()


def header_0_10() -> bytes:
    """A header segment with a bit of everything."""
    properties = spec_0_10.MessageProperties(
        content_type="text/plain",
        correlation_id=b"c" * 16,
        reply_to=spec_0_10.ReplyTo(exchange="amq.direct", routing_key="answers"),
        user_id=b"guest",
        application_headers=[
            ("text", Tagged(types_0_10.STR16, "text")),
            ("number", Tagged(types_0_10.INT64, -5)),
            ("list", Tagged(types_0_10.LIST, [Tagged(types_0_10.STR16, "item")])),
            ("x-amqp-1.0", Tagged(types_0_10.STR16, "1wQEA")),
        ],
    )
    delivery = spec_0_10.DeliveryProperties(
        routing_key=QUEUE, ttl=60_000, priority=9, delivery_mode=2
    )
    return talk_0_10.write_header(delivery, properties)


def payload_1_0() -> bytes:
    """All sections."""
    writer = Writer()
    _spec.Header(durable=True, ttl=60_000, priority=9, delivery_count=1).encode(writer)
    annotation = Tagged(types.SYMBOL, "x-opt-amqp-0-10"), Tagged(types.STRING, "1wQEA")
    sections.write_map(writer, _spec.MESSAGE_ANNOTATIONS, [annotation])
    _spec.Properties(
        message_id=Tagged(types.STRING, "message-1"),
        to="q",
        subject="subject",
        reply_to="answers",
        correlation_id=Tagged(types.ULONG, 5),
        content_type="text/plain",
    ).encode(writer)
    values = {"text": Tagged(types.STRING, "text"), "uint": Tagged(types.UINT, 7)}
    sections.write_application_properties(writer, values)
    pairs = [(Tagged(types.STRING, "key"), Tagged(types.LIST, [Tagged(types.NULL, None)]))]
    sections.write_value(writer, Tagged(types.MAP, pairs))
    sections.write_map(writer, _spec.FOOTER, [])
    return writer.getvalue()


def messages(number: Callable[[], int], now_ms: int) -> list[Message]:
    """One of each protocol."""
    header, payload = header_0_10(), payload_1_0()
    return [
        facts.message_from_0_10(
            facts.arrival_0_10(header, len(header)),
            header + b"body",
            len(header),
            id=number(),
            exchange="",
            now_ms=now_ms,
            publisher=1,
            times_in_ms=False,
            reader=READER,
        ),
        facts.message_from_1_0(
            facts.arrival_1_0(payload),
            payload,
            0,
            id=number(),
            exchange="",
            routing_key=QUEUE,
            now_ms=now_ms,
            publisher=1,
            reader=READER,
        ),
    ]


class Listening:
    """Stands before a face and keeps what it is given."""

    def __init__(self, face: object) -> None:
        self._face = face
        self.pieces: Pieces = []

    def receive_data(self, octets: bytes, now_ms: int) -> None:
        self.pieces.append(octets)
        self._face.receive_data(octets, now_ms)  # type: ignore[attr-defined]  # a face

    def __getattr__(self, name: str) -> object:
        return getattr(self._face, name)


def talk_in_transactions() -> Pieces:
    """Declare, post and retire in several transactions, discharge them in both ways."""
    hub = face_1_0.Hub()
    seeded(hub.world)
    client = face_1_0.Client(hub, "client", 1)
    listening = Listening(client.face)
    client.face = listening  # type: ignore[assignment]  # listens only
    hub.clients.append(client)
    at = Controller(hub=hub, client=client.step())
    sender, receiver = at.sender(QUEUE), at.receiver(QUEUE, credit=3)
    first, second, third = [at.declares() for _ in range(3)]
    for txn_id in (first, second, third):
        at.posts(sender, txn_id)
    at.posts(sender, first, settled=True)
    for event, txn_id in zip(at.gets(receiver), (first, second, third), strict=False):
        at.retires(event, txn_id, settled=txn_id == second)
    at.commits(first)
    at.rolls_back(second)
    at.control.send_detach()
    at.client.step()
    at.client.connection.send_close()
    at.client.step()
    return listening.pieces


def talk_of_1_0() -> Pieces:
    """Publish, browse, receive in part, settle in all ways, detach, end."""
    hub = face_1_0.Hub()
    seeded(hub.world)
    client = face_1_0.Client(hub, "client", 1)
    listening = Listening(client.face)
    client.face = listening  # type: ignore[assignment]  # listens only
    hub.clients.append(client)
    client.step()
    sender = client.sender(QUEUE)
    for state in (False, True):
        client.send(sender, payload_1_0(), settled=state)
    client.send(client.sender("amq.topic/a.b"), payload_1_0())
    client.receiver(QUEUE, distribution_mode="copy", credit=2)
    receiver = client.receiver(QUEUE, credit=4)
    states = [
        _spec.Accepted(),
        _spec.Released(),
        _spec.Modified(delivery_failed=True),
        _spec.Rejected(error=None),
    ]
    for delivery, state in zip(client.take_all(events.DeliveryReceived), states, strict=False):
        receiver.session.settle_incoming(delivery.delivery_id, state)
    client.step()
    receiver.send_flow(credit=1, drain=True, echo=True)
    client.step()
    receiver.send_detach()
    client.step()
    client.connection.send_close()
    client.step()
    return listening.pieces


REDIRECTS = (
    {"address": Tagged(types.STRING, "r")},
    {"network-host": Tagged(types.STRING, "b.example"), "port": Tagged(types.USHORT, 5671)},
    {
        "network-host": Tagged(types.STRING, "c.example"),
        "hostname": Tagged(types.STRING, "vhost"),
        "address": Tagged(types.STRING, "elsewhere"),
    },
)


def busy_upstream(limits: Limits) -> upstream_world.UpstreamWorld:
    """With something of everything that waits for a connection."""
    profile = Profile(
        exchange=Template("{exchange|plain}/{key}"),
        subscriptions="address",
        transactions=True,
        resume=True,
    )
    world = upstream_world.UpstreamWorld(profile=profile, limits=limits)
    world.place(QUEUE, "r", exchange="topics")
    host = world.host
    world.world.queue("here")
    host.declaring.declare_exchange("topics", "topic")
    host.bindings.bind("here", "topics", "a.#", {}, b"")
    world.subscribe(QUEUE, credit=6)
    world.publish(*[b"body"] * 6, key=QUEUE, publisher=Producer())
    world.publish(b"body", exchange="topics", key="a.b", publisher=Producer())
    transaction = host.transacting.begin(1)
    message = world.world.message(b"body", key="r")
    host.transacting.publish(transaction, message, None, 0)
    host.transacting.commit(transaction, [], Producer(), 1)
    host.reaching.look_up("topics/a", Waiter(), 1)
    return world


class Waiter:
    """Waits for a look-up and does not mind."""

    def on_looked_up(self, token: int, refusal: object) -> None:
        pass


def talk_of_upstream() -> Pieces:
    """A container we dial: takes and settles in all ways, delivers, detaches, ends, closes."""
    world = busy_upstream(Limits())
    heard: list[Listening] = []

    def listen(_broker: object) -> None:
        heard.append(Listening(world.face))
        world.face = heard[0]

    broker = world.connect(prepare=listen)
    states = [
        _spec.Accepted(),
        _spec.Rejected(error=_spec.Error(condition="amqp:not-found", description="no")),
        _spec.Released(),
        _spec.Modified(delivery_failed=True),
    ]
    for _ in range(4):
        for number, event in enumerate(broker.received()):
            if "<coordinator-" in event.link.name:
                asked = transactions.coordination_of(event.payload)
                declared = _spec.Declared(txn_id=b"t1")
                broker.settle(event, declared if isinstance(asked, _spec.Declare) else None)
            else:
                broker.settle(event, states[number % 4])
        world.step()
    for settled in (False, True, False):
        broker.deliver(QUEUE, payload_1_0(), settled=settled)
    broker.deliver("topics/a.#", face_1_0.message(b"x" * 300))
    world.step()
    moved = [(QUEUE, False), ("topics/a.b", False), ("topics/a.#", True)]
    for (address, sends), info in zip(moved, REDIRECTS, strict=True):
        error = _spec.Error(condition="amqp:link:redirect", info=info)
        broker.link(address, sends=sends).send_detach(error=error)
        world.step()
    link = broker.link(QUEUE)
    error = _spec.Error(condition="amqp:link:detach-forced", description="idle")
    link.send_detach(closed=True, error=error)
    world.step()
    broker.sessions[-1].send_end(error=_spec.Error(condition="amqp:internal-error"))
    world.step()
    world.pass_time(5_000)
    broker.connection.send_close(error=_spec.Error(condition="amqp:connection:forced"))
    world.step()
    return heard[0].pieces


def talk_of_service_bus() -> Pieces:
    """A container that wants a token for each node, renewed; one is refused, one not answered."""
    world = token_world(Limits())
    heard: list[Listening] = []

    def listen(_broker: object) -> None:
        heard.append(Listening(world.face))
        world.face = heard[0]

    statuses = {"r": (401, "no"), "s": None}
    bus = world.connect(kind=service_bus.ServiceBus, prepare=listen, statuses=statuses)
    world.publish(*[b"body"] * 6, key=QUEUE, publisher=Producer())
    for name in ("r", "s"):
        world.subscribe(name)
    for event in bus.received():
        bus.settle(event)
    world.step()
    bus.deliver(QUEUE, payload_1_0())
    world.pass_time(3_000_000)
    bus.expire(QUEUE)
    world.step()
    return heard[0].pieces


def token_world(limits: Limits) -> upstream_world.UpstreamWorld:
    """With nodes that want tokens, and a subscription to one."""
    world = upstream_world.UpstreamWorld(
        profile=load_profile("azure-service-bus"),
        limits=limits,
        tokens=lambda _audience, now_ms: CbsToken("jwt", "token", expires_ms=now_ms + 3_600_000),
        hostname=service_bus.NAMESPACE,
    )
    world.place(QUEUE, "r", "s")
    world.subscribe(QUEUE, credit=6)
    return world


def talk_of_0_10() -> Pieces:
    """Declare, bind, publish, subscribe, settle in all ways, query, cancel, delete."""
    gateway = talk_0_10.Gateway()
    seeded(gateway.world)
    client = talk_0_10.Client(gateway)
    listening = Listening(client.face)
    client.face = listening  # type: ignore[assignment]  # listens only
    client.open()
    client.attach()
    spec = spec_0_10
    client.does(
        spec.QueueDeclare(queue="mine", durable=True, alternate_exchange="amq.fanout"),
        spec.ExchangeDeclare(exchange="topics", type="topic"),
        spec.ExchangeBind(exchange="topics", queue="mine", binding_key="a.#"),
        spec.ExchangeBound(exchange="topics", queue="mine"),
        spec.QueueQuery(queue="mine"),
        spec.ExchangeQuery(name="topics"),
    )
    for explicit in (False, True):
        client.publishes(b"body", explicit=explicit, message=spec.MessageProperties())
    client.says(spec.MessageTransfer(destination="topics"), header=header_0_10(), body=b"x" * 300)
    client.hears()
    client.subscribes("q", "d", credit=4)
    client.subscribes("mine", "browser", acquire=1, mode=1)
    client.hears()
    client.does(
        spec.MessageAccept(transfers=[(0, 0)]),
        spec.MessageRelease(transfers=[(1, 1)], set_redelivered=True),
        spec.MessageReject(transfers=[(2, 2)], code=0, text="no"),
        spec.MessageAcquire(transfers=[(3, 3)]),
        spec.MessageFlush(destination="d"),
        spec.MessageStop(destination="d"),
        spec.ExecutionSync(),
    )
    client.completes(0, 1)
    client.hears()
    client.does(
        spec.MessageCancel(destination="d"),
        spec.ExchangeUnbind(exchange="topics", queue="mine", binding_key="a.#"),
        spec.QueuePurge(queue="mine"),
        spec.QueueDelete(queue="mine"),
        spec.ExchangeDelete(exchange="topics"),
    )
    return listening.pieces
