"""What RabbitMQ is given."""

from __future__ import annotations

import json
from typing import Any

from gateway.migration.document import Binding, Exchange, Queue, Survey
from gateway.migration.planned_nodes import planned_nodes
from gateway.migration.targets.rabbitmq import RabbitMQ


def definitions(**what: Any) -> dict[str, Any]:
    nodes = planned_nodes(Survey(**what))
    target = RabbitMQ()
    taken = [target.take(each, nodes) for each in nodes.queues if not target.problem(each)]
    found: dict[str, Any] = json.loads(target.written(taken, nodes))
    return found


def arguments_of(**arguments: Any) -> dict[str, Any]:
    spelled = {f"qpid.{name}": value for name, value in arguments.items()}
    [queue] = definitions(queues=[Queue(name="q", arguments=spelled)])["queues"]
    found: dict[str, Any] = queue["arguments"]
    return found


def test_limits_priorities_and_alternates_are_arguments() -> None:
    assert arguments_of(max_count=5, max_size=9) == {
        "x-queue-type": "classic",
        "x-overflow": "reject-publish",
        "x-max-length": 5,
        "x-max-length-bytes": 9,
    }
    assert arguments_of(max_count=5, policy_type="ring")["x-overflow"] == "drop-head"
    assert arguments_of(priorities=10)["x-max-priority"] == 9
    exchanges = [Exchange(name="dead", type="fanout", durable=True)]
    queues = [Queue(name="q", durable=True, alternate_exchange="dead")]
    made = definitions(queues=queues, exchanges=exchanges)["queues"]
    assert made[0]["arguments"]["x-dead-letter-exchange"] == "dead"


def test_exchanges_and_bindings_of_its_queues_are_there_but_for_those_with_selectors() -> None:
    found = definitions(
        exchanges=[Exchange(name="x", type="topic", durable=True, alternate_exchange="amq.fanout")],
        queues=[Queue(name="q"), Queue(name="l", arguments={"qpid.last_value_queue_key": "k"})],
        bindings=[
            Binding(exchange="x", queue="q", key="a.#"),
            Binding(exchange="x", queue="q", key="b", arguments={"x-apache-selector": "a = 1"}),
            Binding(exchange="x", queue="l", key="c"),
        ],
    )
    assert [each["name"] for each in found["queues"]] == ["q"]
    assert [each["routing_key"] for each in found["bindings"]] == ["a.#"]
    assert found["exchanges"][0]["arguments"] == {"alternate-exchange": "amq.fanout"}


def test_what_it_has_not_is_a_problem() -> None:
    lacking: list[dict[str, Any]] = [
        {"qpid.last_value_queue_key": "k"},
        {"qpid.browse-only": 1},
        {"qpid.filter": "a = 1"},
        {"qpid.policy_type": "ring_strict", "qpid.max_count": 1},
        {"no-local": True},
    ]
    assert definitions(queues=[Queue(name="q", arguments=each) for each in lacking])["queues"] == []
    assert definitions(queues=[Queue(name="amq.q")])["queues"] == []
