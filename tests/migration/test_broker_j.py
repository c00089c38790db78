"""What a real Broker-J has answered by its REST, as a survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.migration.broker_j import host_of, survey_of
from gateway.migration.document import Acl, Queue, Survey

RECORDED = json.loads((Path(__file__).parent / "broker_j_9_2.json").read_text())


def survey(**more: Any) -> Survey:
    return survey_of(RECORDED["told"] | more, RECORDED["nodes"], "default/default", "http://old")


def queue(**attributes: Any) -> Queue:
    [made] = survey(queue=[{"name": "q", "type": "standard", **attributes}]).queues
    return made


def test_the_broker_is_told_with_its_virtual_host_and_what_it_makes_on_demand() -> None:
    broker = survey().broker
    assert (broker.product, broker.version) == ("qpid-broker-j", "9.2.0")
    assert (broker.virtual_host, broker.made_on_demand) == ("default", ["auto[.].*"])


def test_the_default_virtual_host_is_meant_where_none_is_named() -> None:
    def node(name: str, default: str, *hosts: str) -> dict[str, Any]:
        made = [{"name": each} for each in hosts]
        return {"name": name, "defaultVirtualHostNode": default, "virtualhosts": made}

    nodes = [node("a", "false", "one"), node("b", "true", "two")]
    assert host_of(nodes, "") == "b/two"
    assert host_of(nodes, "one") == "a/one"
    assert host_of(nodes, "three") == ""
    assert host_of([node("a", "false", "one")], "") == "a/one"
    assert host_of([node("a", "false", "one"), node("b", "false", "two")], "") == ""


def test_attributes_are_told_by_the_arguments_that_make_the_same() -> None:
    arguments = {each.name: each.arguments for each in survey().queues}
    assert arguments == {
        "plain": {},
        "dlq": {},
        "altq": {},
        "alt": {"x-qpid-maximum-delivery-count": 3},
        "lvq": {"qpid.last_value_queue_key": "symbol"},
        "prio": {"qpid.priorities": 5},
        "sorted": {"qpid.queue_sort_key": "k"},
        "ring": {"qpid.max_count": 5, "qpid.policy_type": "ring"},
        "grp": {"qpid.group_header_key": "g", "qpid.shared_msg_group": 1},
        "flow": {"qpid.flow_stop_size": 50000, "qpid.flow_resume_size": 40000},
    }


def test_an_alternate_is_an_exchange_or_a_queue() -> None:
    queues = {each.name: each for each in survey().queues}
    assert (queues["alt"].alternate_exchange, queues["alt"].alternate_queue) == ("dlx", "")
    assert (queues["altq"].alternate_exchange, queues["altq"].alternate_queue) == ("", "dlq")


def test_bindings_are_told_with_their_selectors() -> None:
    told = {(each.exchange, each.queue, each.key): each.arguments for each in survey().bindings}
    assert told == {
        ("dlx", "dlq", ""): {},
        ("amq.topic", "plain", "a.#"): {"x-filter-jms-selector": "a = 1"},
    }


def test_a_subscription_is_told_with_its_client() -> None:
    [subscription] = survey().subscriptions
    [client] = survey().clients
    assert (subscription.queue, subscription.client) == ("plain", client.address)
    assert (client.product, client.protocol) == ("amqp-gateway", "AMQP 0-10")


@pytest.mark.parametrize(
    ("attributes", "exclusive", "auto_delete"),
    [
        ({"exclusive": "SESSION", "lifetimePolicy": "DELETE_ON_SESSION_END"}, True, True),
        ({"exclusive": "CONTAINER"}, True, False),
        ({"exclusive": "NONE", "lifetimePolicy": "PERMANENT"}, False, False),
    ],
)
def test_how_long_a_queue_lives_and_for_whom_is_told(
    attributes: dict[str, str], exclusive: bool, auto_delete: bool
) -> None:
    made = queue(**attributes)
    assert (made.exclusive, made.auto_delete) == (exclusive, auto_delete)


def test_what_no_argument_makes_stands_by_its_own_name() -> None:
    assert queue(maximumMessageTtl=5, context={}).arguments == {"maximumMessageTtl": 5}


def test_groups_have_the_header_of_jms_where_no_other_is_named() -> None:
    made = queue(messageGroupType="STANDARD").arguments
    assert made == {"qpid.group_header_key": "JMSXGroupID"}


def test_rules_are_told_by_where_they_stand() -> None:
    assert survey().acl is None
    rules = [{"name": "acl", "path": "/etc/broker/rules.acl"}]
    assert survey(rules=rules).acl == Acl(at_broker="/etc/broker/rules.acl", kind="broker-j")
