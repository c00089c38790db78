"""What Azure Service Bus is given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.migration.document import Queue, Survey
from gateway.migration.planned_nodes import planned_nodes
from gateway.migration.targets.servicebus import ServiceBus

GIBIBYTE = 1024 * 1024 * 1024


def problem(queue: Queue) -> str:
    return ServiceBus().problem(planned_nodes(Survey(queues=[queue])).queues[0])


def test_each_queue_is_a_resource_in_the_namespace_with_the_next_size_that_there_is() -> None:
    queues = [
        Queue(name="a/b", durable=True),
        Queue(name="c", durable=True, arguments={"qpid.max_size": GIBIBYTE + 1}),
    ]
    nodes = planned_nodes(Survey(queues=queues))
    taken = [ServiceBus().take(each, nodes) for each in nodes.queues]
    resources = json.loads(ServiceBus().written(taken, nodes))["resources"]
    assert [each["name"] for each in resources] == [
        "[concat(parameters('namespace'), '/a~b')]",
        "[concat(parameters('namespace'), '/c')]",
    ]
    assert [each["properties"]["maxSizeInMegabytes"] for each in resources] == [1024, 2048]
    assert [each.told != [] for each in taken] == [False, True]


def test_what_consumers_reject_goes_to_its_own_dead_letters() -> None:
    queue = Queue(name="q", durable=True, alternate_exchange="amq.fanout")
    nodes = planned_nodes(Survey(queues=[queue]))
    assert "$deadletterqueue" in ServiceBus().take(nodes.queues[0], nodes).told[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"qpid.policy_type": "ring"},
        {"qpid.max_count": 5},
        {"qpid.max_size": 6 * GIBIBYTE},
        {"qpid.priorities": 5},
        {"qpid.last_value_queue_key": "k"},
        {"qpid.browse-only": 1},
        {"qpid.filter": "a = 1"},
        {"qpid.group_header_key": "g", "qpid.shared_msg_group": 1},
    ],
)
def test_what_it_has_not_is_a_problem(arguments: dict[str, Any]) -> None:
    assert problem(Queue(name="q", arguments=arguments)) != ""


def test_a_name_that_it_does_not_take_is_a_problem() -> None:
    assert problem(Queue(name="a:b")) == "its name"
    assert problem(Queue(name="a.b-c_d")) == ""
