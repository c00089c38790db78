"""Queues and exchanges that are declared, asked for, emptied and deleted, as conversations."""

import pytest
from support.declares_0_10 import bind, client, declare, exchange, result
from support.rules import rule
from support.talk_0_10 import Client, described
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, INT64, LIST, STR16, UINT32, VOID
from gateway.amqp_0_10.types import Command
from gateway.wire.tagged import Tagged
from gateway.wire.work import BINDING, COMMAND, COPY, OCTETS_COPIED, RANGE, READ, SHARE, VERB


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
    arguments = [("qpid.ive", Tagged(INT64, 1))]
    talker.does(exchange("x", "topic", durable=True, arguments=arguments))
    assert result(talker, spec.ExchangeQuery(name="x")) == spec.ExchangeQueryResult(
        type="topic", durable=True, arguments=arguments
    )


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
