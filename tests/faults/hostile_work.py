"""Attacks on time: what a client can make the one thread do, that all others wait for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.face_1_0 import message
from support.frames_1_0 import octets_of
from support.gateway_process import GatewayProcess
from support.raw_peers import Raw, Raw010, Raw10

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32, LIST, STR16, VBIN32, VOID
from gateway.amqp_0_10.encoding import write_list
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.amqp_1_0 import _spec, types
from gateway.net.listening.users import make_user, write_users
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import RULE, SHARE, VERB

from .hostile import Attack

FULL = 2**31 - 1
NULL = Tagged(VOID, None)
CROWD = 64
RECORDS_MAX = 16 * 2**20  # octets that wait for the store


def _client(gateway: GatewayProcess) -> tuple[Raw010, Session]:
    client = Raw010(gateway.amqp_port, patience_s=120).log_in()
    return client, client.attach()


def _header(**properties: object) -> bytes:
    return write_header(
        spec.DeliveryProperties(routing_key=str(properties.pop("key", "q"))),
        spec.MessageProperties(**properties),  # type: ignore[arg-type]  # as given
    )


def _queries(arguments: FieldTable) -> Callable[[GatewayProcess, int], Sequence[Raw]]:
    def play(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
        client, session = _client(gateway)
        declare = spec.ExchangeDeclare(exchange="x", type="fanout", arguments=arguments)
        client.does(session, [declare])
        client.does(session, [spec.ExchangeQuery(name="x")] * count)
        return [client]

    return play


def refused_arguments(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Declarations with arguments of 960,000 nulls: each ends its session."""
    clients = []
    arguments = [("voids", Tagged(LIST, [NULL] * 960_000))]
    for _ in range(count):
        client, session = _client(gateway)
        client.does(session, [spec.QueueDeclare(queue="x", arguments=arguments)])
        clients.append(client)
    return clients


def selectors(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Subscriptions whose selectors search a property of nearly 1 MB."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    text = "p LIKE '%" + "a_" * 64 + "b%'"
    for number in range(count):
        name = str(number)
        filter = [("x-apache-selector", Tagged(STR16, text))]
        subscribe = spec.MessageSubscribe(queue="q", destination=name, arguments=filter)
        flow = [spec.MessageFlow(destination=name, unit=unit, value=0xFFFFFFFF) for unit in (0, 1)]
        client.does(session, [subscribe, *flow])
    large = Tagged(VBIN32, b"a" * 900_000)
    texts = [(f"p{number}", Tagged(STR16, "a" * 60_000)) for number in range(14)]
    for headers in ([("p", large)], [("p", Tagged(STR16, "a" * 60_000)), *texts]):
        for _ in range(5):
            client.publish(session, _header(application_headers=headers), b"")
    client.does(session, [])
    return [client]


def binding_selectors(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Bindings, each with another selector, that are all asked about each message."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    for number in range(count):
        text = f"p LIKE '%a_a_{number}%'"
        arguments = [("x-apache-selector", Tagged(STR16, text))]
        bind = spec.ExchangeBind(
            queue="q", exchange="amq.fanout", binding_key=str(number), arguments=arguments
        )
        client.does(session, [bind])
    header = _header(application_headers=[("p", Tagged(STR16, "a" * 60_000))])
    for _ in range(20):
        client.publish(session, header, b"", to="amq.fanout")
        if not client.does(session, []):
            session = client.attach(session.channel + 1)
    return [client]


def long_keys(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Subjects of very many words against `#.*.#`, and of as many as there may be."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    for key in ("#.*.#", ".".join(["#.w"] * 60)):
        bind = spec.ExchangeBind(queue="q", exchange="amq.topic", binding_key=key)
        client.does(session, [bind])
    sender = Raw10(gateway.amqp_port, patience_s=30).log_in()
    sender.begin()
    sender.performs(_sender(0, "amq.topic"))
    sender.hear()
    for number in range(count):
        for words in (100_000, 1_000):
            subject = f"{number}." + ".".join(["w"] * words)
            octets = message(b"x", properties=_spec.Properties(subject=subject))
            sender.transfer(number * 2, octets)
    sender.performs(_spec.Close())
    while sender.hear():
        pass
    return [client, sender]


def _sender(handle: int, address: str | None) -> _spec.Attach:
    return _spec.Attach(
        name=f"s{handle}",
        handle=handle,
        role=_spec.SENDER,
        initial_delivery_count=0,
        snd_settle_mode=_spec.SND_SETTLED,
        source=_spec.Source(),
        target=_spec.Target(address=address),
    )


def long_lists(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Bodies that are lists of nulls, of 4 MB and of as many as are translated, to 1.0."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    receiver = Raw10(gateway.amqp_port, patience_s=5).log_in()
    receiver.begin()
    receiver.performs(
        _spec.Attach(
            name="r",
            handle=0,
            role=_spec.RECEIVER,
            source=_spec.Source(address="q"),
            target=_spec.Target(),
        ),
        _spec.Flow(
            next_incoming_id=0,
            incoming_window=FULL,
            next_outgoing_id=0,
            outgoing_window=FULL,
            handle=0,
            delivery_count=0,
            link_credit=100_000,
        ),
    )
    for number in (4_000_000, 9_900):
        writer = Writer()
        write_list(writer, [NULL] * number)
        for _ in range(count):
            header = _header(content_type="amqp/list")
            client.publish(session, header, writer.getvalue())
    client.does(session, [])
    heard = 0
    while heard < count * 4_000_000:
        more = receiver.hear()
        if not more:
            break
        heard += len(more)
    return [client, receiver]


def _filled(gateway: GatewayProcess, count: int, queue: str = "q") -> tuple[Raw010, Session]:
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue=queue)])
    header = _header(key=queue)
    for at in range(count):
        client.publish(session, header, b"x")
        if at % 1000 == 0:
            client.does(session, [])
    client.does(session, [])
    return client, session


def _emptied(last: Command) -> Callable[[GatewayProcess, int], Sequence[Raw]]:
    def play(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
        client, session = _filled(gateway, count)
        client.does(session, [last])
        return [client]

    return play


def bindings(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A queue with many bindings to each exchange is asked about and deleted."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    arguments = [("h", Tagged(INT32, 1))]

    def binds() -> Iterable[Command]:
        for number in range(count):
            for exchange in ("amq.direct", "amq.topic", "amq.match"):
                yield spec.ExchangeBind(
                    queue="q", exchange=exchange, binding_key=str(number), arguments=arguments
                )

    client.does(session, binds())
    bound = spec.ExchangeBound(exchange="amq.direct", binding_key="0", arguments=arguments)
    client.does(session, [bound] * 500)
    client.does(session, [spec.QueueDelete(queue="q")])
    return [client]


def browsed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Commands about all deliveries that there could be, again and again."""
    client, session = _filled(gateway, 5_000)
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
    client, _session = _filled(gateway, 5_000)
    receiver = Raw10(gateway.amqp_port, patience_s=3).log_in()
    receiver.begin()
    receiver.performs(
        _spec.Attach(
            name="r",
            handle=0,
            role=_spec.RECEIVER,
            source=_spec.Source(address="q", distribution_mode=_spec.DISTRIBUTION_COPY),
            target=_spec.Target(),
        ),
        _spec.Flow(
            next_incoming_id=0,
            incoming_window=FULL,
            next_outgoing_id=0,
            outgoing_window=FULL,
            handle=0,
            delivery_count=0,
            link_credit=5_000,
        ),
    )
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


def structs(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Header segments of very many structs that nobody knows."""
    clients: list[Raw] = []
    for _ in range(count):
        client, session = _client(gateway)
        client.does(session, [spec.QueueDeclare(queue="q")])
        client.publish(session, _header() + b"\x00\x00\x00\x02\x7f\x7f" * 170_000, b"x")
        client.does(session, [])
        clients.append(client)
    return clients


def filters(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Attaches whose sources have very many filters."""
    clients = []
    wide = {f"{number}": Tagged(types.NULL, None) for number in range(4_000)}
    for _ in range(count):
        client = Raw10(gateway.amqp_port, patience_s=3).log_in()
        client.begin()
        for handle in range(20):
            attach = _spec.Attach(
                name=f"r{handle}",
                handle=handle,
                role=_spec.RECEIVER,
                source=_spec.Source(address="amq.fanout", filter=wide),
                target=_spec.Target(),
            )
            client.performs(attach)
        clients.append(client)
    return clients


def sessions(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A connection with very many subscriptions to one queue is gone at once."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    for channel in range(1, count + 1):
        other = client.attach(channel)
        client.does(
            other,
            [spec.MessageSubscribe(queue="q", destination=str(number)) for number in range(1_000)],
        )
    client.close()
    again, session = _client(gateway)
    again.does(session, [spec.QueueQuery(queue="q")])
    return [again]


def left_behind(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A connection is gone at once whose sessions have queues and unsettled deliveries."""
    other, _session = _filled(gateway, 200 * count)
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
    again, session = _client(gateway)
    again.does(session, [spec.QueueDeclare(queue="q0.0", exclusive=True, auto_delete=True)])
    return [again, other]


def committed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """A transaction of very many messages is committed."""
    client, session = _client(gateway)
    client.does(session, [spec.QueueDeclare(queue="q"), spec.TxSelect()])
    header = _header()
    for at in range(count):
        client.publish(session, header, b"x")
        if at % 1000 == 0:
            client.does(session, [])
    assert client.does(session, [spec.TxCommit()])
    assert gateway.metrics()["gateway_queue_depth_messages"] >= count
    return [client]


def fanned_out(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Messages for very many queues each."""
    client, session = _client(gateway)
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
    client, session = _client(gateway)
    header = _header(key="a")
    for at in range(count):
        client.publish(session, header, b"x", to="amq.topic")
        if at % 1000 == 0:
            client.does(session, [])
    client.does(session, [])
    assert gateway.metrics()["gateway_queue_depth_messages"] >= count
    return [client, subscribe("b")]


def checkpointed(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Checkpoints of the audit log, which has one each second, of very many queues."""
    client, session = _client(gateway)
    for at in range(0, count, 100):
        names = [f"q{number}" for number in range(at, at + 100)]
        client.does(session, [spec.QueueDeclare(queue=name) for name in names])
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        assert client.does(session, [spec.QueueQuery(queue="q0")])
    return [client]


def unrouted(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Messages of one octet that no queue takes: two records of the audit log each."""
    client, session = _client(gateway)
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
            client, session = _client(gateway)
            if number % 4:
                session.send_command(spec.ExecutionSync())
                clients.append((client, client.connection.data_to_send()))
            else:
                clients.append((client, HEARTBEAT))
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(_flood, *each) for each in clients]:
            done.result()
    return [client for client, _frame in clients]


def _flood(client: Raw, frame: bytes) -> None:
    many = frame * (65536 // len(frame))
    for _ in range(FLOOD_READS):
        client.say(many)


FLOOD_READS = 64
CREDIT = b"\x00\x53\x13"  # what a flow begins with
EMPTY = bytes.fromhex("0000000802000000")
HEARTBEAT = bytes.fromhex("0f0000100000000000000000010a0000")
FLOW = _spec.Flow(next_incoming_id=0, incoming_window=FULL, next_outgoing_id=0, outgoing_window=1)
BLOB: FieldTable = [("blob", Tagged(VBIN32, bytes(960_000)))]
VOIDS: FieldTable = [("voids", Tagged(LIST, [NULL] * 9_900))]


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


def ruled_keys(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Subjects of very many words, and of very long ones, and an address as long, under rules."""
    peers: list[Raw] = []
    long = "w" * 4_000_000
    given = [
        ("amq.direct", _spec.Properties(subject=".".join(["w"] * 2_000_000))),
        ("amq.direct", _spec.Properties(subject=".".join(["w"] * 1_000))),
        ("amq.direct", _spec.Properties(subject=long)),
        (None, _spec.Properties(to=long)),
    ]
    for _ in range(count):
        for address, properties in given:
            # What is refused and came settled ends its link: each has a connection of its own.
            sender = Raw10(gateway.amqp_port, patience_s=30).log_in()
            sender.begin()
            sender.performs(_sender(0, address))
            heard = sender.hear()
            while heard and CREDIT not in heard:
                heard = sender.hear()
            sender.transfer(0, message(b"x", properties=properties))
            sender.performs(_spec.Close())
            while sender.hear():
                pass
            peers.append(sender)
    return peers


def new_keys(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Messages of ever new keys, each of which a thousand rules are asked about."""
    client, session = _client(gateway)
    for number in range(count):
        client.publish(session, _header(key=f"k.{number}"), b"x", to="amq.direct")
        if number % 1000 == 0:
            client.does(session, [])
    client.does(session, [])
    return [client]


def write_rules(directory: Path) -> None:
    """A thousand rules that fit nothing, and what is needed besides."""
    kinds = (
        "{deny: publish, exchange: amq.direct, key: '#.never.#.%d'}",
        "{deny: publish, queue: '*never*%d*'}",
        "{deny: publish, users: mallory, queue: never.%d}",
        "{deny: publish, addresses: 10.9.%d.0/24, queue: '*'}",
    )
    rules = [kinds[number % 4] % (number // 4) for number in range(1000)]
    text = "rules:\n" + "".join([f"- {each}\n" for each in (*rules, "{allow: all}")])
    (directory / "rules.yaml").write_text(text)


def write_mallory(directory: Path) -> None:
    """A users file with one user; the polite client has no login."""
    write_users(directory / "users.yaml", {"mallory": make_user("m", 4096)})


ATTACKS = (
    Attack(
        "64 connections of one user",
        crowd,
        2_000,
        10,
        config={"anonymous": True, "users_file": "users.yaml"},
        prepare=write_mallory,
        units_max=20 * SHARE,
    ),
    Attack("queries of 960 KB", _queries(BLOB), 500, 20, units_max=24 * SHARE),
    Attack("queries of lists of voids", _queries(VOIDS), 5_000, 100, units_max=4 * SHARE),
    Attack("arguments of 960,000 voids", refused_arguments, 50, 2, units_max=SHARE),
    Attack("selectors over large properties", selectors, 50, 5, units_max=400 * SHARE),
    Attack("selectors of bindings", binding_selectors, 500, 50, units_max=100 * SHARE),
    Attack("subjects of 100,000 words", long_keys, 50, 3, units_max=40 * SHARE),
    Attack(
        "subjects of 2,000,000 words, by rules",
        ruled_keys,
        10,
        2,
        config={"access": {"file": "rules.yaml"}},
        prepare=write_rules,
        units_max=100 * SHARE,
        units_min=4 * VERB,
    ),
    Attack(
        "new keys, by 1,000 rules",
        new_keys,
        100_000,
        500,
        config={"access": {"file": "rules.yaml"}},
        prepare=write_rules,
        units_max=100 * SHARE,
        units_min=500 * 1_000 * RULE,
    ),
    Attack("lists of 4,000,000 nulls", long_lists, 5, 1, units_max=40 * SHARE, kept_max=64 * 2**20),
    Attack("a purge", _emptied(spec.QueuePurge(queue="q")), 100_000, 5_000, units_max=20 * SHARE),
    Attack(
        "a deletion", _emptied(spec.QueueDelete(queue="q")), 100_000, 5_000, units_max=20 * SHARE
    ),
    Attack("a commit", committed, 100_000, 5_000, units_max=20 * SHARE),
    Attack(
        "messages for very many queues",
        fanned_out,
        20_000,
        2_000,
        units_max=60 * SHARE,
        kept_max=64 * 2**20,
    ),
    Attack("another topic", resubscribed, 100_000, 5_000, units_max=20 * SHARE),
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
    Attack("structs that nobody knows", structs, 20, 2, units_max=SHARE),
    Attack("filters", filters, 20, 1, units_max=40 * SHARE, kept_max=64 * 2**20),
    Attack("what a connection leaves behind", left_behind, 250, 20, units_max=60 * SHARE),
    Attack("records of messages that no queue takes", unrouted, 500_000, 20_000),
    Attack("floods of tiny frames", floods, 64, 4, units_max=400 * SHARE),
    Attack("subscriptions of one connection", sessions, 50, 2, units_max=40 * SHARE),
)
