"""The exchange and queue classes, as conversations."""

import pytest
from support.rules import rule
from support.talk_0_10 import Client, Gateway, described
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, INT64, LIST, STR16, UINT32, VOID
from gateway.amqp_0_10.types import Command
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged
from gateway.wire.work import BINDING, COMMAND, COPY, OCTETS_COPIED, RANGE, READ, SHARE, VERB


def client() -> Client:
    return Gateway().session()


def declare(name: str = "q", **fields: object) -> spec.QueueDeclare:
    return spec.QueueDeclare(queue=name, **fields)


def exchange(name: str = "x", kind: str = "direct", **fields: object) -> spec.ExchangeDeclare:
    return spec.ExchangeDeclare(exchange=name, type=kind, **fields)


def bind(queue: str = "q", to: str = "x", key: str = "k", **fields: object) -> spec.ExchangeBind:
    return spec.ExchangeBind(queue=queue, exchange=to, binding_key=key, **fields)


def with_headers(**headers: Tagged) -> spec.MessageProperties:
    return spec.MessageProperties(application_headers=list(headers.items()))


def result(talker: Client, command: Command) -> object:
    [answer, _] = talker.does(command)
    return answer


def test_a_queue_is_what_it_was_declared_as() -> None:
    talker = client()
    arguments = [
        ("qpid.max_count", Tagged(INT32, 5)),
        ("qpid.max_size", Tagged(STR16, "9000")),
        ("qpid.policy_type", Tagged(STR16, "reject")),
        ("no-local", Tagged(BOOLEAN, False)),
    ]
    talker.does(
        declare(durable=True, alternate_exchange="amq.fanout", arguments=arguments),
    )
    assert result(talker, spec.QueueQuery(queue="q")) == spec.QueueQueryResult(
        queue="q",
        alternate_exchange="amq.fanout",
        durable=True,
        arguments=arguments,
        message_count=0,
        subscriber_count=0,
    )
    settings = talker.gateway.world.host.topology.find_queue("q").settings
    assert (settings.max_count, settings.max_size) == (5, 9000)
    assert talker.gateway.settings.counts.arguments_ignored == 0


def test_an_exclusive_queue_may_keep_out_what_its_connection_publishes() -> None:
    talker = client()
    other = talker.gateway.session()
    no_local = [("no-local", Tagged(BOOLEAN, True))]
    talker.does(declare(exclusive=True, arguments=no_local), bind(to="amq.fanout"))
    for each, body in ((talker, b"own"), (other, b"another's")):
        each.publishes(body, to="amq.fanout")
        each.hears()
    talker.subscribes()
    assert talker.gets() == [b"another's"]


@rule("0-10", "queue.declare", "default-binding")
def test_a_query_counts_messages_and_subscribers() -> None:
    talker = client()
    talker.says(declare())
    talker.publishes(b"x")
    talker.subscribes(credit=None)
    answer = talker.does(spec.QueueQuery(queue="q"))[0]
    assert (answer.message_count, answer.subscriber_count) == (1, 1)
    talker.publishes(b"y")
    talker.flows(1)
    talker.flows(0xFFFFFFFF, unit=1)
    assert talker.gets() == [b"x"]
    assert result(talker, spec.QueueQuery(queue="q")).message_count == 1  # one is acquired


def test_names_that_do_not_exist_are_answers_and_not_exceptions() -> None:
    talker = client()
    assert result(talker, spec.QueueQuery(queue="none")) == spec.QueueQueryResult()
    assert result(talker, spec.ExchangeQuery(name="none")).not_found
    assert result(talker, spec.ExchangeBound(exchange="none", queue="none")) == (
        spec.ExchangeBoundResult(exchange_not_found=True, queue_not_found=True)
    )


@rule("0-10", "exchange", "required-instances")
@rule("0-10", "exchange", "default-exchange")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "direct"),
        (None, "direct"),
        ("amq.direct", "direct"),
        ("amq.topic", "topic"),
        ("amq.fanout", "fanout"),
        ("amq.match", "headers"),
        ("amq.headers", "headers"),
    ],
)
def test_the_exchanges_of_the_specification_are_there(name: str | None, kind: str) -> None:
    answer = result(client(), spec.ExchangeQuery(name=name))
    assert answer.type == kind
    assert not answer.not_found


def test_an_exchange_is_what_it_was_declared_as() -> None:
    talker = client()
    arguments = [("qpid.msg_sequence", Tagged(INT64, 1))]
    talker.does(exchange("x", "topic", durable=True, arguments=arguments))
    assert result(talker, spec.ExchangeQuery(name="x")) == spec.ExchangeQueryResult(
        type="topic", durable=True, arguments=arguments
    )


def test_bound_tells_which_part_does_not_match() -> None:
    talker = client()
    talker.does(declare(), declare("other"), exchange(), bind())
    bound = spec.ExchangeBound

    def answer(**fields: object) -> spec.ExchangeBoundResult:
        return result(talker, bound(exchange="x", **fields))

    assert answer(queue="q", binding_key="k") == spec.ExchangeBoundResult()
    assert answer(queue="q") == spec.ExchangeBoundResult()
    assert answer(queue="other").queue_not_matched
    assert answer(queue="q", binding_key="none").key_not_matched
    assert result(talker, bound(exchange="q", queue="q")).exchange_not_found


@rule("0-10", "exchange.bind", "duplicates")
def test_bindings_come_and_go() -> None:
    talker = client()
    talker.does(declare(), exchange(), bind(), bind())
    talker.publishes(b"1", to="x", key="k")
    talker.does(spec.ExchangeUnbind(queue="q", exchange="x", binding_key="k"))
    talker.publishes(b"2", to="x", key="k")
    talker.hears()
    assert talker.gateway.world.depth() == 1


@pytest.mark.parametrize(
    ("rule", "headers", "arrives"),
    [("all", {"a": "1"}, False), ("any", {"a": "1"}, True), ("all", {"a": "1", "b": "2"}, True)],
)
def test_a_headers_exchange_compares_what_the_binding_says(
    rule: str, headers: dict[str, str], arrives: bool
) -> None:
    talker = client()
    arguments = [
        ("x-match", Tagged(STR16, rule)),
        ("a", Tagged(STR16, "1")),
        ("b", Tagged(STR16, "2")),
    ]
    talker.does(declare(), bind(to="amq.match", arguments=arguments))
    table = [(key, Tagged(STR16, value)) for key, value in headers.items()]
    talker.publishes(
        b"x", to="amq.match", message=spec.MessageProperties(application_headers=table)
    )
    talker.hears()
    assert talker.gateway.world.depth() == arrives


@rule("0-10", "queue.purge", "empty")
def test_purge_empties_a_queue() -> None:
    talker = client()
    talker.says(declare())
    talker.publishes(b"x")
    talker.hears()
    assert talker.does(spec.QueuePurge(queue="q")) == ["completed 2-2"]
    assert talker.gateway.world.depth() == 0


def test_an_auto_delete_queue_goes_with_its_last_subscriber() -> None:
    talker = client()
    talker.says(declare(auto_delete=True))
    talker.subscribes()
    talker.does(spec.MessageCancel(destination="d"))
    assert talker.gateway.world.host.topology.find_queue("q") is None


def test_an_auto_delete_timeout_lets_it_live_a_little_longer() -> None:
    talker = client()
    talker.says(declare(arguments=[("qpid.auto_delete_timeout", Tagged(UINT32, 2))]))
    talker.subscribes()
    talker.does(spec.MessageCancel(destination="d"))
    world = talker.gateway.world
    assert world.host.topology.find_queue("q") is not None
    world.pass_time(2_001)
    assert world.host.topology.find_queue("q") is None


@rule("0-10", "queue.declare.queue", "reserved-prefix")
def test_clients_may_declare_queues_whose_names_begin_with_amq() -> None:
    assert client().does(declare("amq.topic_1234")) == ["completed 0-0"]


FAILURES = [
    ([declare("")], 542),
    pytest.param(
        [declare("none", passive=True)], 404, marks=rule("0-10", "queue.declare.passive", "passive")
    ),
    pytest.param(
        [declare(alternate_exchange="none")],
        404,
        marks=rule("0-10", "queue.declare.alternate-exchange", "unknown-exchange"),
    ),
    pytest.param(
        [declare(), declare(alternate_exchange="amq.fanout")],
        530,
        marks=rule("0-10", "queue.declare.alternate-exchange", "pre-existing-exchange"),
    ),
    ([declare(arguments=[("qpid.max_count", Tagged(INT32, -1))])], 542),
    ([declare(arguments=[("qpid.max_size", Tagged(STR16, "many"))])], 542),
    ([declare(arguments=[("qpid.max_size", Tagged(BOOLEAN, True))])], 542),
    pytest.param(
        [spec.QueueDelete(queue="none")],
        404,
        marks=rule("0-10", "queue.delete.queue", "queue-exists"),
    ),
    pytest.param([spec.QueueDelete()], 542, marks=rule("0-10", "queue.delete.queue", "empty-name")),
    pytest.param(
        [spec.QueuePurge(queue="none")],
        404,
        marks=rule("0-10", "queue.purge.queue", "queue-exists"),
    ),
    pytest.param([spec.QueuePurge()], 542, marks=rule("0-10", "queue.purge.queue", "empty-name")),
    pytest.param(
        [exchange("")],
        542,
        marks=rule("0-10", "exchange.declare.exchange", "exchange-name-required"),
    ),
    pytest.param(
        [exchange("amq.mine")],
        530,
        marks=rule("0-10", "exchange.declare.exchange", "reserved-names"),
    ),
    ([exchange("x", "xml")], 404),
    pytest.param(
        [exchange("x", "strange")],
        404,
        marks=rule("0-10", "exchange.declare.type", "exchange-type-not-found"),
    ),
    pytest.param(
        [exchange("none", passive=True)],
        404,
        marks=rule("0-10", "exchange.declare.passive", "not-found"),
    ),
    ([exchange("x", alternate_exchange="none")], 404),
    pytest.param(
        [exchange(), exchange("x", "topic")],
        530,
        marks=rule("0-10", "exchange.declare.type", "typed"),
    ),
    pytest.param(
        [exchange(), exchange("x", alternate_exchange="amq.fanout")],
        530,
        marks=rule("0-10", "exchange.declare.alternate-exchange", "pre-existing-exchange"),
    ),
    pytest.param(
        [spec.ExchangeDelete(exchange="none")],
        404,
        marks=rule("0-10", "exchange.delete.exchange", "exists"),
    ),
    pytest.param(
        [spec.ExchangeDelete()],
        542,
        marks=rule("0-10", "exchange.delete.exchange", "exchange-name-required"),
    ),
    ([spec.ExchangeDelete(exchange="amq.direct")], 530),
    (
        [declare(alternate_exchange="amq.fanout"), spec.ExchangeDelete(exchange="amq.fanout")],
        530,
    ),
    pytest.param(
        [exchange(), declare(alternate_exchange="x"), spec.ExchangeDelete(exchange="x")],
        530,
        marks=rule("0-10", "exchange.delete.exchange", "used-as-alternate"),
    ),
    pytest.param(
        [spec.ExchangeUnbind(queue="none", exchange="amq.direct")],
        404,
        marks=rule("0-10", "exchange.unbind.queue", "non-existent-queue"),
    ),
    pytest.param(
        [declare(), spec.ExchangeUnbind(queue="q", exchange="none")],
        404,
        marks=rule("0-10", "exchange.unbind.exchange", "non-existent-exchange"),
    ),
    pytest.param(
        [declare(), exchange(), bind(), spec.ExchangeDelete(exchange="x", if_unused=True)],
        406,
        marks=rule("0-10", "exchange.delete.if-unused", "exchange-in-use"),
    ),
    pytest.param(
        [bind(queue="none", to="amq.direct")],
        404,
        marks=rule("0-10", "exchange.bind.queue", "queue-existence"),
    ),
    pytest.param(
        [declare(), bind(to="none")],
        404,
        marks=rule("0-10", "exchange.bind.exchange", "exchange-existence"),
    ),
    pytest.param(
        [declare(), bind(to="")],
        542,
        marks=[
            rule("0-10", "exchange.bind.exchange", "exchange-name-required"),
            rule("0-10", "exchange", "default-access"),
        ],
    ),
    pytest.param([bind(queue="")], 542, marks=rule("0-10", "exchange.bind.queue", "empty-queue")),
    pytest.param(
        [declare(), spec.ExchangeUnbind(queue="q", exchange="amq.direct", binding_key="k")],
        404,
        marks=rule("0-10", "exchange.unbind.binding-key", "non-existent-binding-key"),
    ),
    pytest.param(
        [spec.ExchangeUnbind(queue="q")],
        542,
        marks=[
            rule("0-10", "exchange.unbind.exchange", "exchange-name-required"),
            rule("0-10", "exchange", "default-access"),
        ],
    ),
    ([declare(exclusive=True)], None),
]


@pytest.mark.parametrize(("commands", "code"), FAILURES)
def test_what_cannot_be_declared_ends_the_session(
    commands: list[Command], code: int | None
) -> None:
    heard = client().does(*commands)
    if code is None:
        assert heard == [f"completed 0-{len(commands) - 1}"]
    else:
        assert heard[-2:] == [(code, len(commands) - 1), "ended 0"]


@rule("0-10", "queue.delete.if-unused", "if-unused-flag")
@rule("0-10", "queue.delete.if-empty", "not-empty")
def test_a_queue_in_use_or_not_empty_may_be_kept_from_deletion() -> None:
    gateway = Gateway()
    gateway.world.queue()
    for condition in ("if_empty", "if_unused"):
        talker = gateway.session()
        talker.publishes(b"x")
        talker.subscribes(credit=None)
        heard = talker.does(spec.QueueDelete(queue="q", **{condition: True}))
        assert heard[-2:] == [(406, 2), "ended 0"]
    assert gateway.session().does(spec.QueueDelete(queue="q")) == ["completed 0-0"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(
            declare("amq.mine"),
            530,
            marks=rule("0-10", "queue.declare.queue", "reserved-prefix"),
        ),
        pytest.param(
            declare(arguments=[("unknown", Tagged(STR16, "x"))]),
            540,
            marks=rule("0-10", "queue.declare.arguments", "unknown-argument"),
        ),
        pytest.param(
            exchange(arguments=[("unknown", Tagged(STR16, "x"))]),
            540,
            marks=rule("0-10", "exchange.declare.arguments", "unknown-argument"),
        ),
    ],
)
def test_the_letter_of_the_specification_is_kept_where_that_is_configured(
    command: Command, code: int
) -> None:
    talker = Gateway(strict=True).session()
    assert talker.does(command) == [(code, 0), "ended 0"]


@rule("0-10", "queue.declare.exclusive", "in-use")
def test_an_exclusive_queue_is_locked_for_others() -> None:
    gateway = Gateway()
    owner, other = gateway.session(), gateway.session()
    owner.does(declare(exclusive=True))
    for command in (
        declare(),
        spec.QueueDelete(queue="q"),
        spec.QueuePurge(queue="q"),
        bind(to="amq.direct"),
    ):
        assert other.does(command)[-2:] == [(405, 0), "ended 0"]
        other.attach()
    owner.does(spec.QueuePurge(queue="q"), bind(to="amq.direct"))
    assert owner.does(spec.QueueDelete(queue="q")) == ["completed 3-3"]


def scoped(**fields: object) -> spec.ExchangeBind:
    return bind(to="amq.direct", arguments=[("x-scope", Tagged(STR16, "session"))], **fields)


def is_bound(gateway: Gateway) -> bool:
    return gateway.world.host.topology.find_exchange("amq.direct").find("q", "k") is not None


@pytest.mark.parametrize("end", ["detach", "loss", "exception"])
def test_a_binding_for_the_session_ends_with_it(end: str) -> None:
    gateway = Gateway()
    first = gateway.session()
    first.does(declare(durable=True), scoped(), bind(to="amq.direct", key="other"))
    assert is_bound(gateway)
    if end == "detach":
        first.session.detach()
        first.hears()
    elif end == "loss":
        first.loses_transport()
    else:
        first.does(spec.QueueDelete(queue="none"))
    assert gateway.world.host.topology.find_queue("q").bound_to() == [("amq.direct", "other")]


def test_a_binding_for_sessions_lasts_until_the_last_of_them_ends() -> None:
    gateway = Gateway()
    first, second = gateway.session(), gateway.session()
    first.does(declare(), scoped())
    second.does(scoped())
    first.loses_transport()
    assert is_bound(gateway)
    second.loses_transport()
    assert not is_bound(gateway)


def test_a_binding_that_anybody_wants_for_good_stays_and_is_stored() -> None:
    gateway = Gateway()
    first, second = gateway.session(), gateway.session()
    first.does(declare(durable=True), scoped())
    second.does(bind(to="amq.direct"))
    first.loses_transport()
    assert is_bound(gateway)
    gateway.world.crash()
    assert is_bound(gateway)


def test_a_binding_for_the_session_is_gone_after_a_crash() -> None:
    gateway = Gateway()
    first = gateway.session()
    first.does(declare(durable=True), scoped())
    gateway.world.crash()
    assert gateway.world.host.topology.find_queue("q") is not None
    assert not is_bound(gateway)


def test_a_binding_for_the_session_that_was_taken_away_is_not_taken_away_again() -> None:
    gateway = Gateway()
    first = gateway.session()
    unbind = spec.ExchangeUnbind(queue="q", exchange="amq.direct", binding_key="k")
    first.does(declare(), scoped(), unbind, bind(to="amq.direct"))
    first.does(declare("gone"), scoped(queue="gone"), spec.QueueDelete(queue="gone"))
    first.loses_transport()
    assert is_bound(gateway)


def test_an_auto_delete_exchange_goes_with_its_last_scoped_binding() -> None:
    gateway = Gateway()
    first = gateway.session()
    scope = [("x-scope", Tagged(STR16, "session"))]
    first.does(declare(), exchange(auto_delete=True))
    first.does(bind(key="1", arguments=scope), bind(key="2", arguments=scope))
    first.loses_transport()
    assert gateway.world.host.topology.find_exchange("x") is None


@pytest.mark.parametrize("name", ["x-filter-jms-selector", "x-apache-selector"])
def test_a_binding_lets_in_what_its_selector_accepts(name: str) -> None:
    talker = client()
    talker.does(declare())
    chosen = bind(to="amq.direct", arguments=[(name, Tagged(STR16, "a = 1"))])
    talker.does(chosen)
    assert is_bound(talker.gateway)
    for number in (1, 2, 1):
        properties = with_headers(a=Tagged(INT32, number))
        talker.publishes(b"", to="amq.direct", key="k", message=properties)
    talker.hears()
    queue = talker.gateway.world.host.topology.find_queue("q")
    assert queue is not None and queue.depth == 2


def test_a_selector_that_is_none_refuses_the_binding() -> None:
    talker = client()
    talker.does(declare())
    chosen = bind(to="amq.direct", arguments=[("x-filter-jms-selector", Tagged(STR16, "a ="))])
    assert talker.does(chosen) == [(542, 1), "ended 0"]
    assert not is_bound(talker.gateway)


def test_an_empty_selector_in_a_binding_selects_nothing() -> None:
    talker = client()
    empty = [("x-filter-jms-selector", Tagged(STR16, ""))]
    talker.does(declare(), bind(to="amq.direct", arguments=empty))
    assert is_bound(talker.gateway)


def read(talker: Client, octets: bytes) -> int:
    """The units that one read costs."""
    return units_of(lambda: talker.face.receive_data(octets, talker.gateway.world.now_ms))


def test_a_query_is_answered_with_the_octets_of_the_arguments_as_they_were_kept() -> None:
    talker = client()
    arguments = [("voids", Tagged(LIST, [Tagged(VOID, None)] * 9000)), ("a", Tagged(INT32, 1))]
    talker.does(declare(arguments=arguments), exchange(arguments=arguments))
    for query in (spec.QueueQuery(queue="q"), spec.ExchangeQuery(name="x")):
        talker.says(query)
        octets = talker.connection.data_to_send()
        units = read(talker, octets)
        assert units <= READ + COMMAND + 9100 // OCTETS_COPIED
        assert units_of(talker.face.connection.data_to_send) == RANGE  # what is completed
        [answer, _] = talker.does(query)
        assert answer.arguments == arguments


def test_arguments_of_too_many_values_end_the_session() -> None:
    talker = client()
    arguments = [("voids", Tagged(LIST, [Tagged(VOID, None)] * 20_000))]
    assert talker.does(declare(arguments=arguments))[0] == (506, 0)


def test_bindings_are_looked_at_for_exchange_bound_up_to_a_limit() -> None:
    gateway = Gateway()
    host = gateway.world.host
    gateway.world.queue("q")

    def binds(first: int, end: int) -> None:
        for number in range(first, end):
            host.bindings.bind("q", "amq.direct", str(number), {}, b"")

    def looks() -> int:
        return units_of(lambda: host.bindings.bound("amq.direct", None, "7"))

    binds(0, 100)
    few = looks()
    binds(100, 1000)
    assert looks() == 10 * few
    arguments = {str(number): Tagged(INT32, 1) for number in range(VERB // 1000)}
    refused = host.bindings.bound("amq.direct", None, "7", arguments)
    assert isinstance(refused, Refusal)
    assert refused.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    talker = gateway.session()
    table = list(arguments.items())
    bound = spec.ExchangeBound(exchange="amq.direct", binding_key="7", arguments=table)
    assert talker.does(bound)[0] == (506, 0)


def test_a_purge_of_a_long_queue_is_complete_when_all_has_gone() -> None:
    talker = client()
    talker.does(declare())
    world = talker.gateway.world
    for _ in range(3 * SHARE // COPY):
        world.host.publishing.publish(world.message(key="q"), None, 0)
    world.turn()
    purge = talker.says(spec.QueuePurge(queue="q"))
    query = talker.says(spec.QueueQuery(queue="q"))
    talker.face.receive_data(talker.connection.data_to_send(), world.now_ms)
    world.bridge.end_turn(world.now_ms)
    assert world.depth() > 0
    heard = talker.hears()
    assert f"completed {purge}-{query}" in heard or f"completed {purge}-{purge}" in heard
    [answer] = [one for one in heard if isinstance(one, spec.QueueQueryResult)]
    assert answer.message_count == 0


@pytest.mark.parametrize("last", [spec.QueueDelete(queue="q"), spec.ExchangeDelete(exchange="x")])
def test_a_deletion_is_complete_when_its_very_many_bindings_have_gone(last: Command) -> None:
    talker = client()
    talker.does(declare(), exchange())
    world = talker.gateway.world
    for number in range(3 * SHARE // BINDING):
        world.host.bindings.bind("q", "x", str(number), {}, b"")
    world.turn()
    talker.says(last)
    talker.face.receive_data(talker.connection.data_to_send(), world.now_ms)
    kept = world.host.bindings.kept.held
    turns = 0
    told = b""
    while not told:
        assert units_of(lambda: world.bridge.end_turn(world.now_ms)) <= SHARE + VERB // 10
        world.commit()
        told = talker.face.data_to_send()
        turns += 1
    assert turns >= 3
    assert world.host.bindings.kept.held < kept
    events = [described(each) for each in talker.connection.receive_data(told, world.now_ms)]
    assert events == ["completed 2-2"]
