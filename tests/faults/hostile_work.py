"""Attacks on time: what a client can make the one thread do, that all others wait for."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from support.frames_1_0 import octets_of
from support.gateway_process import GatewayProcess
from support.raw_peers import Raw, Raw010, Raw10

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32, STR16
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import Command
from gateway.amqp_1_0 import _spec
from gateway.wire.tagged import Tagged
from gateway.wire.work import SHARE

from .hostile import Attack
from .hostile_clients import FULL, header_of, logged_in, receiving, write_mallory

CROWD = 64
RECORDS_MAX = 16 * 2**20  # octets that wait for the store


def filled(gateway: GatewayProcess, count: int, queue: str = "q") -> tuple[Raw010, Session]:
    client, session = logged_in(gateway)
    client.does(session, [spec.QueueDeclare(queue=queue)])
    header = header_of(key=queue)
    for at in range(count):
        client.publish(session, header, b"x")
        if at % 1000 == 0:
            client.does(session, [])
    client.does(session, [])
    return client, session


def _emptied(last: Command) -> Callable[[GatewayProcess, int], Sequence[Raw]]:
    def play(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
        client, session = filled(gateway, count)
        client.does(session, [last])
        return [client]

    return play


def bindings(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A queue with many bindings to each exchange is asked about and deleted."""
    client, session = logged_in(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    arguments = [("h", Tagged(INT32, 1))]
    matching = [*arguments, ("x-match", Tagged(STR16, "all"))]

    def binds() -> Iterable[Command]:
        for number in range(count):
            for exchange in ("amq.direct", "amq.topic", "amq.match"):
                yield spec.ExchangeBind(
                    queue="q",
                    exchange=exchange,
                    binding_key=str(number),
                    arguments=matching if exchange == "amq.match" else arguments,
                )

    client.does(session, binds())
    bound = spec.ExchangeBound(exchange="amq.direct", binding_key="0", arguments=arguments)
    client.does(session, [bound] * 500)
    client.does(session, [spec.QueueDelete(queue="q")])
    return [client]


def browsed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Commands about all deliveries that there could be, again and again."""
    client, session = filled(gateway, 5_000)
    client.does(
        session,
        [
            spec.MessageSubscribe(queue="q", destination="d", acquire_mode=1),
            spec.MessageFlow(destination="d", unit=0, value=0xFFFFFFFF),
            spec.MessageFlow(destination="d", unit=1, value=0xFFFFFFFF),
        ],
    )
    everything = [(0, FULL)]
    client.does(session, [spec.MessageAcquire(transfers=everything)] * count)
    client.does(session, [spec.MessageRelease(transfers=everything)] * count)
    return [client]


def dispositions(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """The same in 1.0: dispositions that settle nothing."""
    client, _session = filled(gateway, 5_000)
    browsing = _spec.Source(address="q", distribution_mode=_spec.DISTRIBUTION_COPY)
    receiver = receiving(gateway, browsing, 5_000)
    received = 0
    while received < 5_000 * 40:
        heard = receiver.hear()
        if not heard:
            break
        received += len(heard)
    for _ in range(count // 100):
        one = _spec.Disposition(
            role=_spec.RECEIVER, first=0, last=FULL - 1, settled=False, state=_spec.Released()
        )
        if not receiver.performs(*[one] * 100):
            break
    while receiver.hear():
        pass
    return [client, receiver]


def sessions(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A connection with very many subscriptions to one queue is gone at once."""
    client, session = logged_in(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    for channel in range(1, count + 1):
        other = client.attach(channel)
        client.does(
            other,
            [spec.MessageSubscribe(queue="q", destination=str(number)) for number in range(1_000)],
        )
    client.close()
    again, session = logged_in(gateway)
    again.does(session, [spec.QueueQuery(queue="q")])
    return [again]


def _control(code: int, fields: bytes) -> bytes:
    """A frame of 0-10 with a control of channel 1."""
    payload = struct.pack(">H", code) + fields
    return struct.pack(">BBHBBHI", 0x0F, 0, len(payload) + 12, 0, 0, 1, 0) + payload


def come_and_go(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Sessions are attached, asked to be kept and detached, all without waiting for an answer."""
    client = Raw010(gateway.amqp_port, patience_s=120).log_in()
    with ThreadPoolExecutor(1) as reader:
        heard = reader.submit(_all_detached, client, count)
        for number in range(count):
            name = struct.pack(">HH", 0x0100, 4) + b"s%03d" % (number % 200)
            asked = struct.pack(">HI", 0x0100, 60)
            client.say(_control(0x0201, name) + _control(0x0205, asked) + _control(0x0203, name))
        assert heard.result()
    return [client]


def _all_detached(client: Raw, count: int) -> bool:
    """Whether so many are answered with session.detached."""
    detached, rest = 0, b""
    while detached < count:
        heard = client.hear()
        if not heard:
            return False
        rest += heard
        while len(rest) >= 14 and len(rest) >= int.from_bytes(rest[2:4]):
            detached += rest[1] == 0 and rest[12:14] == b"\x02\x04"
            rest = rest[int.from_bytes(rest[2:4]) :]
    return True


def left_behind(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A connection is gone at once whose sessions have queues and unsettled deliveries."""
    other, _session = filled(gateway, 200 * count)
    client = Raw010(gateway.amqp_port, patience_s=120).log_in()
    for channel in range(count):
        session = client.attach(channel)
        names = [f"q{channel}.{number}" for number in range(50)]
        client.does(
            session,
            [spec.QueueDeclare(queue=name, exclusive=True, auto_delete=True) for name in names],
        )
        client.does(
            session,
            [
                spec.MessageSubscribe(queue="q", destination="d"),
                spec.MessageFlow(destination="d", unit=0, value=200),
                spec.MessageFlow(destination="d", unit=1, value=0xFFFFFFFF),
            ],
        )
    client.close()
    again, session = logged_in(gateway)
    again.does(session, [spec.QueueDeclare(queue="q0.0", exclusive=True, auto_delete=True)])
    return [again, other]


def committed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A transaction of very many messages is committed."""
    client, session = logged_in(gateway)
    client.does(session, [spec.QueueDeclare(queue="q"), spec.TxSelect()])
    header = header_of()
    for at in range(count):
        client.publish(session, header, b"x")
        if at % 1000 == 0:
            client.does(session, [])
    assert client.does(session, [spec.TxCommit()])
    assert gateway.metrics()["gateway_queue_depth_messages"] >= count
    return [client]


def fanned_out(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Messages for very many queues each."""
    client, session = logged_in(gateway)
    for at in range(0, count, 500):
        names = [f"q{number}" for number in range(at, min(at + 500, count))]
        client.does(session, [spec.QueueDeclare(queue=name) for name in names])
        client.does(
            session, [spec.ExchangeBind(queue=name, exchange="amq.fanout") for name in names]
        )
    header = write_header(spec.DeliveryProperties(), None)
    for _ in range(10):
        client.publish(session, header, b"x", to="amq.fanout")
    assert client.does(session, [])
    assert gateway.metrics()["gateway_queue_depth_messages"] >= 10 * count
    return [client]


def resubscribed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A durable subscription for which much waits comes back for another topic."""

    def subscribe(topic: str) -> Raw10:
        receiver = Raw10(gateway.amqp_port, patience_s=120).log_in(container_id="c")
        receiver.begin()
        source = _spec.Source(
            address=f"amq.topic/{topic}",
            durable=_spec.DURABLE_UNSETTLED_STATE,
            expiry_policy=_spec.EXPIRY_NEVER,
        )
        attach = _spec.Attach(
            name="r", handle=0, role=_spec.RECEIVER, source=source, target=_spec.Target()
        )
        receiver.performs(attach)
        heard = b""
        while topic.encode() not in heard:
            more = receiver.hear()
            assert more, "the gateway does not let it subscribe"
            heard += more
        return receiver

    subscribe("a").close()
    client, session = logged_in(gateway)
    header = header_of(key="a")
    for at in range(count):
        client.publish(session, header, b"x", to="amq.topic")
        if at % 1000 == 0:
            client.does(session, [])
    client.does(session, [])
    assert gateway.metrics()["gateway_queue_depth_messages"] >= count
    return [client, subscribe("b")]


def checkpointed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Checkpoints of the audit log, which has one each second, of very many queues."""
    client, session = logged_in(gateway)
    for at in range(0, count, 100):
        names = [f"q{number}" for number in range(at, at + 100)]
        client.does(session, [spec.QueueDeclare(queue=name) for name in names])
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        assert client.does(session, [spec.QueueQuery(queue="q0")])
    return [client]


def unrouted(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Messages of one octet that no queue takes: two records of the audit log each."""
    client, session = logged_in(gateway)
    header = write_header(spec.DeliveryProperties(), None)
    session.send_command(spec.MessageTransfer(destination="amq.fanout"), header=header, body=b"x")
    many = client.connection.data_to_send() * 500
    waiting = 0.0
    for number in range(count // 500):
        if not client.say(many):
            break
        if number % 10 == 0:
            waiting = max(waiting, gateway.metrics()["gateway_store_waiting_bytes"])
    assert waiting < RECORDS_MAX, f"{waiting} octets wait for the store"
    return [client]


def floods(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Frames that ask for next to nothing, by the hundred thousand, from many connections."""
    clients: list[tuple[Raw, bytes]] = []
    for number in range(count):
        if number % 2:
            peer = Raw10(gateway.amqp_port, patience_s=120).log_in()
            peer.begin()
            clients.append((peer, EMPTY if number % 4 == 1 else octets_of(FLOW)))
        else:
            client, session = logged_in(gateway)
            if number % 4:
                session.send_command(spec.ExecutionSync())
                clients.append((client, client.connection.data_to_send()))
            else:
                clients.append((client, HEARTBEAT))
    return _flooding(clients)


def nameless(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Clients of one address, none of which has logged in, that send heartbeats without end."""
    return _flooding(
        [
            (
                Raw010(gateway.amqp_port, patience_s=120, address=ELSEWHERE).log_in(),
                HEARTBEAT,
            )
            for _ in range(count)
        ]
    )


def _flooding(clients: Sequence[tuple[Raw, bytes]]) -> Sequence[Raw]:
    with ThreadPoolExecutor(len(clients)) as pool:
        for done in [pool.submit(_flood, *each) for each in clients]:
            done.result()
    return [client for client, _frame in clients]


def _flood(client: Raw, frame: bytes) -> None:
    many = frame * (65536 // len(frame))
    for _ in range(FLOOD_READS):
        client.say(many)


ELSEWHERE = "127.0.0.2"
FLOOD_READS = 64
EMPTY = bytes.fromhex("0000000802000000")
HEARTBEAT = bytes.fromhex("0f0000100000000000000000010a0000")
FLOW = _spec.Flow(next_incoming_id=0, incoming_window=FULL, next_outgoing_id=0, outgoing_window=1)


def crowd(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Many clients of one user, who declare queues and delete them again, all at once."""
    clients = []
    for _ in range(CROWD):
        client = Raw010(gateway.amqp_port, patience_s=120).log_in("mallory", "m")
        clients.append((client, client.attach()))
    for number, (client, session) in enumerate(clients):
        for _ in range(count):
            queue = f"q{number}"
            client.asks(session, [spec.QueueDeclare(queue=queue), spec.QueueDelete(queue=queue)])
    for client, session in clients:
        client.does(session, [])
    return [client for client, _session in clients]


ATTACKS = (
    Attack(
        "64 connections of one user",
        crowd,
        2_000,
        10,
        config={"anonymous": True, "users_file": "users.yaml"},
        prepare=write_mallory,
        units_max=50 * SHARE,
    ),
    Attack("a purge", _emptied(spec.QueuePurge(queue="q")), 100_000, 5_000, units_max=36 * SHARE),
    Attack(
        "a deletion", _emptied(spec.QueueDelete(queue="q")), 100_000, 5_000, units_max=36 * SHARE
    ),
    Attack("a commit", committed, 100_000, 5_000, units_max=36 * SHARE),
    Attack(
        "messages for very many queues",
        fanned_out,
        20_000,
        2_000,
        units_max=80 * SHARE,
        kept_max=64 * 2**20,
    ),
    Attack("another topic", resubscribed, 100_000, 5_000, units_max=36 * SHARE),
    Attack(
        "a checkpoint",
        checkpointed,
        90_000,
        5_000,
        config={"audit": {"checkpoint_interval": "1s"}},
        units_max=400 * SHARE,
        kept_max=64 * 2**20,
    ),
    Attack("bindings", bindings, 20_000, 500, units_max=50 * SHARE, kept_max=64 * 2**20),
    Attack("all deliveries that there could be", browsed, 2_000, 50, units_max=200 * SHARE),
    Attack("dispositions of all deliveries", dispositions, 20_000, 200, units_max=500 * SHARE),
    Attack("what a connection leaves behind", left_behind, 250, 20, units_max=80 * SHARE),
    Attack("records of messages that no queue takes", unrouted, 500_000, 20_000),
    Attack("floods of tiny frames", floods, 64, 4, units_max=600 * SHARE),
    Attack("floods of heartbeats of one address", nameless, 200, 4, units_max=800 * SHARE),
    Attack("sessions that come and go", come_and_go, 20_000, 500),
    Attack("subscriptions of one connection", sessions, 50, 2, units_max=40 * SHARE),
)
