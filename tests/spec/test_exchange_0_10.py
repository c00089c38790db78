"""Class exchange of 0-10: types, what a second declaration changes, and numbers."""

import pytest
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.wire.tagged import Tagged


def declared(client: Client, name: str = "x") -> spec.ExchangeQueryResult:
    answer, _ = client.does(spec.ExchangeQuery(name=name))
    assert isinstance(answer, spec.ExchangeQueryResult)
    return answer


def match(value: str) -> FieldTable:
    return [("x-match", Tagged(STR16, "all")), ("a", Tagged(STR16, value))]


@rule("0-10", "exchange.declare.durable", "support")
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("direct", marks=rule("0-10", "exchange", "required-types")),
        pytest.param("fanout", marks=rule("0-10", "exchange", "required-types")),
        pytest.param("topic", marks=rule("0-10", "exchange", "recommended-types")),
        pytest.param("headers", marks=rule("0-10", "exchange", "recommended-types")),
    ],
)
def test_exchanges_of_each_type_can_be_declared(kind: str, durable: bool) -> None:
    client = Gateway().session()
    client.does(spec.ExchangeDeclare(exchange="x", type=kind, durable=durable))
    assert declared(client) == spec.ExchangeQueryResult(type=kind, durable=durable, arguments=[])


@rule("0-10", "exchange.declare.durable", "sticky")
@rule("0-10", "exchange.declare.auto-delete", "sticky")
@pytest.mark.parametrize("first", [True, False])
def test_a_second_declaration_changes_neither_durable_nor_auto_delete(first: bool) -> None:
    client = Gateway().session()
    for given in (first, not first):
        client.says(
            spec.ExchangeDeclare(exchange="x", type="direct", durable=given, auto_delete=given)
        )
    assert client.hears() == ["completed 0-1"]
    assert declared(client).durable == first
    client.does(spec.QueueDeclare(queue="q"), spec.ExchangeBind(queue="q", exchange="x"))
    client.does(spec.ExchangeUnbind(queue="q", exchange="x"))
    assert declared(client).not_found == first


@rule("0-10", "exchange.bind", "duplicates")
def test_a_second_bind_does_not_change_the_arguments_of_the_first() -> None:
    client = Gateway().session()
    client.says(spec.QueueDeclare(queue="q"))
    for value in ("1", "2"):
        client.says(
            spec.ExchangeBind(
                queue="q", exchange="amq.match", binding_key="k", arguments=match(value)
            )
        )
    assert client.hears() == ["completed 0-2"]
    for value in ("1", "2"):
        headers = spec.MessageProperties(application_headers=match(value)[1:])
        client.publishes(value.encode(), to="amq.match", message=headers)
    client.subscribes()
    assert client.gets() == [b"1"]


@rule("0-10", "exchange.declare.arguments", "unknown-argument")
@rule("0-10", "exchange.bind.arguments", "unknown-argument")
def test_arguments_that_nobody_knows_are_kept_and_ignored() -> None:
    client = Gateway().session()
    unknown = [("unknown", Tagged(STR16, "x"))]
    client.says(
        spec.QueueDeclare(queue="q"),
        spec.ExchangeDeclare(exchange="x", type="direct", arguments=unknown),
        spec.ExchangeBind(queue="q", exchange="x", binding_key="k", arguments=unknown),
    )
    client.publishes(b"1", to="x", key="k")
    assert client.hears() == ["completed 0-3"]
    assert declared(client).arguments == unknown
    assert client.gateway.settings.counts.arguments_ignored == 2
    client.subscribes()
    assert client.gets() == [b"1"]


@rule("0-10", "exchange.declare", "minimum")
@rule("0-10", "exchange.bind", "binding-count")
def test_there_may_be_sixteen_exchanges_and_one_queue_bound_to_all() -> None:
    client = Gateway().session()
    client.says(spec.QueueDeclare(queue="q"))
    for number in range(16):
        name = f"x{number}"
        client.says(spec.ExchangeDeclare(exchange=name, type="fanout"))
        client.says(spec.ExchangeBind(queue="q", exchange=name))
    assert client.hears() == ["completed 0-32"]
