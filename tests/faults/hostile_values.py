"""Attacks on time by what a command or message holds: values, selectors, keys and filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.face_1_0 import message
from support.gateway_process import GatewayProcess
from support.raw_peers import Raw, Raw010, Raw10

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import LIST, STR16, VBIN32, VOID
from gateway.amqp_0_10.encoding import write_list
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import _spec, types
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import ARGUMENT, RULE, SHARE, VERB

from .hostile import MIB, Attack
from .hostile_clients import header_of, logged_in, receiving, write_mallory

NULL = Tagged(VOID, None)


def _queries(arguments: FieldTable) -> Callable[[GatewayProcess, int], Sequence[Raw]]:
    def play(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
        client, session = logged_in(gateway)
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
        client, session = logged_in(gateway)
        client.does(session, [spec.QueueDeclare(queue="x", arguments=arguments)])
        clients.append(client)
    return clients


def selectors(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Subscriptions whose selectors search a property of nearly 1 MB."""
    client, session = logged_in(gateway)
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
            client.publish(session, header_of(application_headers=headers), b"")
    client.does(session, [])
    return [client]


def binding_selectors(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Bindings, each with another selector, that are all asked about each message."""
    client, session = logged_in(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    for number in range(count):
        text = f"p LIKE '%a_a_{number}%'"
        arguments = [("x-apache-selector", Tagged(STR16, text))]
        bind = spec.ExchangeBind(
            queue="q", exchange="amq.fanout", binding_key=str(number), arguments=arguments
        )
        client.does(session, [bind])
    header = header_of(application_headers=[("p", Tagged(STR16, "a" * 60_000))])
    for _ in range(20):
        client.publish(session, header, b"", to="amq.fanout")
        if not client.does(session, []):
            session = client.attach(session.channel + 1)
    return [client]


def long_keys(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Subjects of very many words against `#.*.#`, and of as many as there may be."""
    client, session = logged_in(gateway)
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
    client, session = logged_in(gateway)
    client.does(session, [spec.QueueDeclare(queue="q")])
    receiver = receiving(gateway, _spec.Source(address="q"), 100_000)
    for number in (4_000_000, 9_900):
        writer = Writer()
        write_list(writer, [NULL] * number)
        for _ in range(count):
            header = header_of(content_type="amqp/list")
            client.publish(session, header, writer.getvalue())
    client.does(session, [])
    heard = 0
    while heard < count * 4_000_000:
        more = receiver.hear()
        if not more:
            break
        heard += len(more)
    return [client, receiver]


def structs(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Header segments of very many structs that nobody knows."""
    clients: list[Raw] = []
    for _ in range(count):
        client, session = logged_in(gateway)
        client.does(session, [spec.QueueDeclare(queue="q")])
        client.publish(session, header_of() + b"\x00\x00\x00\x02\x7f\x7f" * 170_000, b"x")
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


CREDIT = b"\x00\x53\x13"  # what a flow begins with
BLOB: FieldTable = [("blob", Tagged(VBIN32, bytes(960_000)))]
VOIDS: FieldTable = [("voids", Tagged(LIST, [NULL] * 9_900))]


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
    client, session = logged_in(gateway)
    for number in range(count):
        client.publish(session, header_of(key=f"k.{number}"), b"x", to="amq.direct")
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


def questions(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Many clients of one user, who ask all at once for bindings with tables of 1,500 values."""
    clients = []
    table = [(f"header-{number:05}", Tagged(STR16, "x" * 20)) for number in range(1_500)]
    for _ in range(count):
        client = Raw010(gateway.amqp_port, patience_s=120).log_in("mallory", "m")
        session = client.attach()
        client.does(session, [spec.ExecutionSync()])  # which says where its commands begin
        session.send_command(spec.ExchangeBound(exchange="amq.match", arguments=table))
        clients.append((client, client.connection.data_to_send()))
    with ThreadPoolExecutor(count) as pool:
        for answered in [pool.submit(_ask, *each) for each in clients]:
            assert answered.result()
    return [client for client, _question in clients]


def _ask(client: Raw, question: bytes) -> bool:
    """The same question again and again; whether each was answered."""
    client.say(question * ASKED)
    answers = b""
    while answers.count(RESULT) < ASKED:
        heard = client.hear()
        if not heard:
            return False
        answers += heard
    return True


ASKED = 40
RESULT = b"\x03\x02"  # what an execution.result begins with

ATTACKS = (
    Attack(
        "200 connections ask with large tables",
        questions,
        200,
        4,
        config={"anonymous": True, "users_file": "users.yaml"},
        prepare=write_mallory,
        units_min=4 * ASKED * 1_500 * ARGUMENT,
        units_max=200 * SHARE,
    ),
    Attack("queries of 960 KB", _queries(BLOB), 500, 20, grown_max=16 * MIB, units_max=24 * SHARE),
    Attack("queries of lists of voids", _queries(VOIDS), 5_000, 100, units_max=8 * SHARE),
    Attack("arguments of 960,000 voids", refused_arguments, 50, 2, units_max=7 * SHARE),
    Attack("selectors over large properties", selectors, 50, 5, units_max=400 * SHARE),
    Attack("selectors of bindings", binding_selectors, 500, 50, units_max=200 * SHARE),
    Attack("subjects of 100,000 words", long_keys, 50, 3, units_max=40 * SHARE),
    Attack(
        "subjects of 2,000,000 words, by rules",
        ruled_keys,
        10,
        2,
        config={"access": {"file": "rules.yaml"}},
        prepare=write_rules,
        units_max=150 * SHARE,
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
    Attack("structs that nobody knows", structs, 20, 2, units_max=7 * SHARE),
    Attack("filters", filters, 20, 1, units_max=100 * SHARE, kept_max=64 * 2**20),
)
