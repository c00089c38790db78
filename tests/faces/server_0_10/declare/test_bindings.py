"""Bindings that are made, asked for and taken away, as conversations."""

import pytest
from support.declares_0_10 import bind, client, declare, exchange, result, with_headers
from support.rules import rule
from support.talk_0_10 import Gateway
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32, STR16
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged
from gateway.wire.work import BINDING, SHARE, VERB


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


@pytest.mark.parametrize(("exchange", "ignored"), [("amq.direct", 2), ("amq.match", 0)])
def test_an_argument_of_a_binding_that_nothing_looks_at_is_counted(
    exchange: str, ignored: int
) -> None:
    talker = client()
    given = [
        ("x-match", Tagged(STR16, "any")),
        ("qpid.jms-selector", Tagged(STR16, "a = 1")),
        ("x-apache-selector", Tagged(STR16, "a = 1")),
    ]
    talker.does(declare(), bind(to=exchange, arguments=given))
    assert talker.gateway.settings.counts.arguments_ignored == ignored


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


EXCLUSIVE = [("qpid.exclusive-binding", Tagged(INT32, 1))]


@rule("0-10", "exchange.bind", "duplicates")
def test_a_binding_that_excludes_very_many_is_complete_when_they_are_gone() -> None:
    gateway = Gateway()
    host = gateway.world.host
    many = 3 * SHARE // BINDING
    for number in range(many):
        gateway.world.queue(f"q{number}")
        assert host.bindings.bind(f"q{number}", "amq.direct", "k", {}, b"") is None
    gateway.world.queue()
    gateway.world.turn()
    talker = gateway.session()
    bound = bind(to="amq.direct", key="k", arguments=EXCLUSIVE)
    said = talker.says(bound, sync=True)
    assert talker.hears() == [f"completed {said}-{said}"]
    direct = host.topology.find_exchange("amq.direct")
    assert direct is not None and direct.bound == 1
    assert talker.does(bound) == [f"completed {said + 1}-{said + 1}"]  # nothing is left to exclude
    gateway.world.check()
