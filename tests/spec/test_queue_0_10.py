"""Class queue of 0-10: what a second declaration changes, and numbers."""

import pytest
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.wire.tagged import Tagged


def declared(client: Client, name: str = "q") -> spec.QueueQueryResult:
    answer, _ = client.does(spec.QueueQuery(queue=name))
    assert isinstance(answer, spec.QueueQueryResult)
    return answer


@rule("0-10", "queue.declare.durable", "types")
@rule("0-10", "queue.declare.exclusive", "types")
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("exclusive", [True, False])
def test_queues_are_durable_or_not_and_exclusive_or_not(durable: bool, exclusive: bool) -> None:
    client = Gateway().session()
    client.does(spec.QueueDeclare(queue="q", durable=durable, exclusive=exclusive))
    queue = declared(client)
    assert (queue.durable, queue.exclusive) == (durable, exclusive)


@rule("0-10", "queue.declare.durable", "pre-existence")
@rule("0-10", "queue.declare.auto-delete", "pre-existence")
@pytest.mark.parametrize("first", [True, False])
def test_a_second_declaration_changes_neither_durable_nor_auto_delete(first: bool) -> None:
    client = Gateway().session()
    for given in (first, not first):
        client.says(spec.QueueDeclare(queue="q", durable=given, auto_delete=given))
    assert client.hears() == ["completed 0-1"]
    queue = declared(client)
    assert (queue.durable, queue.auto_delete) == (first, first)


@rule("0-10", "queue.declare.arguments", "unknown-argument")
def test_arguments_that_nobody_knows_are_kept_and_ignored() -> None:
    client = Gateway().session()
    unknown = [("unknown", Tagged(STR16, "x"))]
    assert client.does(spec.QueueDeclare(queue="q", arguments=unknown)) == ["completed 0-0"]
    assert declared(client).arguments == unknown
    assert client.gateway.settings.counts.arguments_ignored == 1


@rule("0-10", "queue.declare", "minimum-queues")
def test_there_may_be_256_queues() -> None:
    client = Gateway().session()
    for number in range(256):
        declare = spec.QueueDeclare(queue=f"q{number}")
        assert client.does(declare) == [f"completed {number}-{number}"]
