"""Attacks on memory: what a client can make the gateway keep."""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence

from support.gateway_process import GatewayProcess
from support.raw_peers import HEADER_0_10, Raw, Raw010, Raw10, frame_0_10, unfinished_transfer

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.frames import CONTROL, FIRST_FRAME, FIRST_SEGMENT, LAST_SEGMENT
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, types
from gateway.wire.tagged import Tagged
from gateway.wire.work import SHARE

from .hostile import Attack

MIB = 1024 * 1024
SESSIONS = 16
MANY_SESSIONS = 256
HERE = "127.0.0.1"
ELSEWHERE = "127.0.0.2"
ALL_IN_S = 60
TWO_HOSTS = {
    "virtual_hosts": [{"name": "default"}, {"name": "other"}],
    "queues": {"size_high": "20MiB", "size_low": "15MiB", "size_max": "40MiB"},
}

FEW_MESSAGES = {
    "virtual_hosts": [{"name": "default"}, {"name": "other"}],
    "queues": {
        "size_high": "512KiB",
        "size_low": "256KiB",
        "size_max": "2MiB",
        "messages_high": 2_000,
        "messages_low": 1_000,
    },
}


def nulls(count: int) -> Tagged:
    """A list that takes one octet for each element, and 56 when it is decoded."""
    return Tagged(types.LIST, [Tagged(types.NULL, None)] * count)


def unfinished_bodies(gateway: GatewayProcess, octets: int) -> Sequence[Raw010]:
    """16 sessions with an unfinished body each."""
    client = Raw010(gateway.amqp_port).log_in()
    for channel in range(SESSIONS):
        client.attach(channel)
    for channel in range(SESSIONS):
        for frame in unfinished_transfer(channel, octets):
            client.say(frame)
    return [client]


def refused_attaches(gateway: GatewayProcess, count: int) -> Sequence[Raw10]:
    """Attaches that are refused, by a client that does not read, and echo their termini."""
    client = Raw10(gateway.amqp_port, patience_s=3).log_in()
    client.begin()
    for handle in range(count):
        attach = _spec.Attach(
            name=f"l{handle}",
            handle=handle % 1000,
            role=_spec.RECEIVER,
            source=_spec.Source(address="nowhere"),
            target=_spec.Target(address="x" * 50_000),
        )
        detach = _spec.Detach(handle=handle % 1000, closed=True)
        if not client.performs(attach, detach):
            break
    return [client]


def decoded_properties(gateway: GatewayProcess, count: int) -> Sequence[Raw10]:
    """Properties of open, begin and attach that take 56 times their octets."""
    clients = []
    for _ in range(count):
        client = Raw10(gateway.amqp_port).log_in(properties={"p": nulls(60_000)})
        for channel in range(20):
            client.begin(channel, properties={"p": nulls(60_000)})
        for handle in range(20):
            client.performs(
                _spec.Attach(
                    name=f"l{handle}",
                    handle=handle,
                    role=_spec.SENDER,
                    initial_delivery_count=0,
                    source=_spec.Source(),
                    target=_spec.Target(),
                    properties={"p": nulls(60_000)},
                )
            )
        clients.append(client)
    return clients


def login_in_parts(gateway: GatewayProcess, count: int) -> Sequence[Raw010]:
    """A start-ok of 1 MiB that never ends, before any login, from many connections."""
    clients = []
    for _ in range(count):
        client = Raw010(gateway.amqp_port, patience_s=0.2)
        client.say(HEADER_0_10)
        flags = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME
        for _ in range(16):
            client.say(frame_0_10(flags, CONTROL, 0, bytes(60_000)))
            flags &= ~FIRST_FRAME
        clients.append(client)
    return clients


def returning_clients(gateway: GatewayProcess, count: int) -> Sequence[Raw010]:
    """Clients of one address that all come back at once; every one of them is let in."""
    clients = [Raw010(gateway.amqp_port, address=ELSEWHERE) for _ in range(count)]
    deadline = time.monotonic() + ALL_IN_S
    with selectors.DefaultSelector() as selector:
        for client in clients:
            client.go_on()
            selector.register(client.socket, selectors.EVENT_READ, client)
        while selector.get_map():
            assert time.monotonic() < deadline, f"{len(selector.get_map())} are not in"
            for key, _events in selector.select(1):
                client = key.data
                heard = client.hear()
                assert heard, "a client was sent away"
                if client.go_on(heard):
                    selector.unregister(client.socket)
    return clients


def silent_connections(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Connections that say nothing; whoever comes, from their address or not, is let in."""
    silent: list[Raw] = [Raw(gateway.amqp_port, address=ELSEWHERE) for _ in range(count)]
    for client in silent:
        client.say(b"AMQP")
    others = [
        Raw010(gateway.amqp_port, patience_s=ALL_IN_S, address=host) for host in (HERE, ELSEWHERE)
    ]
    return [*silent, *[client.log_in() for client in others]]


def topic_keys(gateway: GatewayProcess, count: int) -> Sequence[Raw010]:
    """Durable bindings by keys of many words."""
    client = Raw010(gateway.amqp_port, patience_s=60).log_in()
    session = client.attach()
    client.does(session, [spec.QueueDeclare(queue="bound", durable=True)])
    client.does(
        session,
        [
            spec.ExchangeBind(
                queue="bound", exchange="amq.topic", binding_key=f"{number}" + ".a" * 125
            )
            for number in range(count)
        ],
    )
    return [client]


def restarted(gateway: GatewayProcess, count: int) -> Sequence[Raw010]:
    """The gateway has come up again with those; then their queue is deleted."""
    assert gateway.metrics()["gateway_topology_bytes"] > count * 1024
    client = Raw010(gateway.amqp_port, patience_s=60).log_in()
    client.does(client.attach(), [spec.QueueDelete(queue="bound")])
    assert gateway.metrics()["gateway_topology_bytes"] < 64 * 1024
    return [client]


def long_subjects(gateway: GatewayProcess, count: int) -> Sequence[Raw10]:
    """Subjects of 200 KB to a topic exchange, each another."""
    client = Raw10(gateway.amqp_port, patience_s=3).log_in()
    client.begin()
    client.performs(
        _spec.Attach(
            name="l",
            handle=0,
            role=_spec.SENDER,
            initial_delivery_count=0,
            snd_settle_mode=_spec.SND_SETTLED,
            source=_spec.Source(),
            target=_spec.Target(address="amq.topic"),
        )
    )
    for number in range(count):
        octets = _message(f"{number}" + "x" * 200_000)
        if not client.transfer(number, octets):
            break
    return [client]


def full_queue(gateway: GatewayProcess, count: int) -> Sequence[Raw010]:
    """A virtual host whose queue is filled; publishers of the other one go on."""
    client = Raw010(gateway.amqp_port)
    client.host = "other"
    client.log_in()
    session = client.attach()
    client.does(session, [spec.QueueDeclare(queue="full")])
    header = write_header(spec.DeliveryProperties(routing_key="full"), None)
    for _ in range(count):
        if not client.publish(session, header, bytes(60_000)):
            break
    return [client]


def tiny_messages(gateway: GatewayProcess, count: int) -> Sequence[Raw010]:
    """The same with messages of one octet: more than all queues together may hold."""
    client = Raw010(gateway.amqp_port, patience_s=5)
    client.host = "other"
    client.log_in()
    session = client.attach()
    client.does(session, [spec.QueueDeclare(queue="full")])
    header = write_header(spec.DeliveryProperties(routing_key="full"), None)
    for _ in range(count):
        if not client.publish(session, header, b"x"):
            break
    return [client]


def dying_sessions(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Clients of 256 sessions each, that all go at once without a word."""
    clients = [Raw10(gateway.amqp_port, patience_s=30).log_in() for _ in range(count)]
    for client in clients:
        for channel in range(MANY_SESSIONS):
            client.begin(channel)
    _wait_for_sessions(gateway, count * MANY_SESSIONS)
    for client in clients:
        client.close()
    _wait_for_sessions(gateway, 0)
    return []


def _wait_for_sessions(gateway: GatewayProcess, count: int) -> None:
    by = time.monotonic() + ALL_IN_S
    while gateway.metrics()['gateway_sessions{protocol="1.0"}'] != count:
        assert time.monotonic() < by, f"there are not {count} sessions"


def unread_deliveries(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Browsers of both protocols that never read, of a queue of large messages."""
    publisher = Raw010(gateway.amqp_port, patience_s=60).log_in()
    session = publisher.attach()
    publisher.does(session, [spec.QueueDeclare(queue="large")])
    header = write_header(spec.DeliveryProperties(routing_key="large"), None)
    for _ in range(count):
        publisher.publish(session, header, bytes(MIB))
    publisher.does(session, [])
    clients: list[Raw] = [publisher]
    source = _spec.Source(address="large", distribution_mode=_spec.DISTRIBUTION_COPY)
    for _ in range(4):
        client = Raw10(gateway.amqp_port).log_in()
        client.begin()
        attach = _spec.Attach(
            name="l", handle=0, role=_spec.RECEIVER, source=source, target=_spec.Target()
        )
        flow = _spec.Flow(
            next_incoming_id=0,
            incoming_window=2**31 - 1,
            next_outgoing_id=0,
            outgoing_window=2**31 - 1,
            handle=0,
            delivery_count=0,
            link_credit=1000,
        )
        client.performs(attach, flow)
        clients.append(client)
    for _ in range(4):
        browser = Raw010(gateway.amqp_port).log_in()
        flows = [
            spec.MessageFlow(destination="d", unit=unit, value=0xFFFFFFFF)
            for unit in (spec.CreditUnit.MESSAGE, spec.CreditUnit.BYTE)
        ]
        subscribe = spec.MessageSubscribe(
            queue="large",
            destination="d",
            accept_mode=spec.AcceptMode.NONE,
            acquire_mode=spec.AcquireMode.NOT_ACQUIRED,
        )
        attached = browser.attach()
        for command in (subscribe, *flows):
            attached.send_command(command)
        browser.say(browser.connection.data_to_send())
        clients.append(browser)
    deadline = time.monotonic() + ALL_IN_S
    while gateway.metrics()["gateway_kept_bytes"] < 8 * MIB:
        assert time.monotonic() < deadline, "not everybody was sent something"
    return clients


def links_of_many_sessions(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """As many links as may be, in each of several sessions: what they take is accounted."""
    client = Raw10(gateway.amqp_port, patience_s=20).log_in()
    for channel in range(3):
        client.begin(channel)
        for handle in range(count):
            attach = _spec.Attach(
                name=f"l{handle}",
                handle=handle,
                role=_spec.SENDER,
                initial_delivery_count=0,
                source=_spec.Source(),
                target=_spec.Target(address="amq.fanout"),
            )
            client.performs(attach, channel=channel)
    while gateway.metrics()['gateway_links{protocol="1.0"}'] < 3 * count:
        assert client.hear(), "the links are not attached"
    metrics = gateway.metrics()
    session_errors = 'gateway_session_errors_total{error="protocol",protocol="1.0",scope="session"}'
    assert metrics[session_errors] == 0
    assert metrics['gateway_protocol_errors_total{protocol="1.0"}'] == 0
    return [client]


def _message(subject: str) -> bytes:
    from support.face_1_0 import message

    return message(b"x", properties=_spec.Properties(subject=subject))


ATTACKS = (
    Attack(
        "16 unfinished bodies",
        unfinished_bodies,
        60 * MIB,
        12 * MIB,
        kept_max=128 * MIB,
        refused=True,
    ),
    Attack("refused attaches, not read", refused_attaches, 10_000, 100),
    Attack("decoded properties", decoded_properties, 40, 1),
    Attack("start-ok in parts, before login", login_in_parts, 1000, 20, kept_max=2 * MIB),
    Attack("1,000 clients come back", returning_clients, 1000, 200, kept_max=8 * MIB),
    Attack("silent connections", silent_connections, 900, 100),
    Attack(
        "a full queue",
        full_queue,
        1000,
        800,
        config=TWO_HOSTS,
        kept_max=8 * MIB,
        queued_max=32 * MIB,
    ),
    Attack(
        "tiny messages",
        tiny_messages,
        100_000,
        30_000,
        config=FEW_MESSAGES,
        kept_max=8 * MIB,
        queued_max=64 * 1024,
    ),
    Attack("topic keys of many words", topic_keys, 5000, 100),
    Attack("links of many sessions", links_of_many_sessions, 1024, 64, kept_max=2 * MIB),
    Attack(
        "sessions that die with their socket",
        dying_sessions,
        100,
        20,
        kept_max=2 * MIB,
        again=5,
        left_max=24 * MIB,
    ),
    Attack("unread deliveries", unread_deliveries, 300, 20, kept_max=24 * MIB),
    Attack(
        "topic keys, after a restart",
        restarted,
        20_000,
        500,
        first=topic_keys,
        units_max=10 * SHARE,
    ),
    Attack("subjects of 200 KB", long_subjects, 1000, 20),
)
