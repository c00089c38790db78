"""Plans: for each target, from a real qpidd's survey and from small ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config.load import load
from gateway.migration import qmf
from gateway.migration.document import (
    Acl,
    Binding,
    Broker,
    Client,
    Link,
    Queue,
    Subscription,
    Survey,
)
from gateway.migration.plan import ACL, CONFIGURATION, Plan, plan_of
from gateway.migration.targets import LOCAL, NAMES, OLD
from gateway.migration.written import configuration

RECORDED = json.loads((Path(__file__).parent / "qpidd_1_40.json").read_text())
RULES = "group admins admin@QPID\nacl allow admins all all\nacl deny all all\n"


def survey(**what: Any) -> Survey:
    return Survey(broker=Broker(address="old:5672", asked=["QMF"]), **what)


def planned(target: str = "local", **what: Any) -> Plan:
    return plan_of(survey(**what), target)


def real() -> Survey:
    found = qmf.survey_of(RECORDED["objects"], "old:5672", RECORDED["asker"])
    return found.model_copy(update={"acl": Acl(text=RULES)})


@pytest.mark.parametrize("target", NAMES)
def test_the_gateway_accepts_what_is_planned_of_a_real_qpidd(target: str, tmp_path: Path) -> None:
    plan = plan_of(real(), target)
    for name, text in plan.files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / CONFIGURATION).write_text(configuration(plan, real(), target))
    settings = load(tmp_path / CONFIGURATION)
    [host] = settings.virtual_hosts
    there = (0, 0) if target == OLD else (17, 7)
    assert (len(host.queues), len(host.bindings)) == there
    assert settings.access.qpidd_file == tmp_path / ACL
    at = {LOCAL: set(), OLD: {OLD}}.get(target, {"new"})
    assert {each.upstream for each in settings.nodes} == at
    federation = ["link to-head-office to 127.0.0.1", "bridge news-from-there"]
    told = [each.split(":")[0] for each in plan.left[:2]]
    assert told == ([] if target == OLD else federation)


def test_of_an_ordinary_installation_nothing_is_left_for_anybody() -> None:
    queues = [Queue(name="orders", durable=True)]
    bindings = [Binding(exchange="amq.topic", queue="orders", key="o.#")]
    for target in NAMES:
        assert planned(target, queues=queues, bindings=bindings).left == []


def test_in_front_of_the_old_broker_all_that_clients_publish_to_stays_there() -> None:
    what: dict[str, Any] = {
        "queues": [Queue(name="q", durable=True), Queue(name="reply", exclusive=True)],
        "bindings": [
            Binding(exchange="amq.topic", queue="reply", key="k"),
            Binding(exchange="qmf.default.topic", queue="reply", key="k"),
        ],
        "subscriptions": [Subscription(queue="q", arguments={"x-apache-selector": "a = 1"})],
    }
    plan = planned(OLD, **what)
    assert plan.configuration == {
        "upstreams": {"old": {"hosts": ["amqp://old:5672"], "profile": "qpid-0-10"}},
        "nodes": [
            {"queue": "q", "upstream": "old"},
            {"exchange": "amq.topic", "upstream": "old"},
        ],
    }
    assert "selectors" in plan.left[-1]
    broker = Broker(address="http://old:8080", virtual_host="vh")
    section = plan_of(Survey(broker=broker), OLD).configuration["upstreams"]["old"]
    assert (section["hosts"], section["hostname"]) == (["amqp://old:5672"], "vh")


def test_a_queue_that_the_target_cannot_make_stays_local_with_its_discipline() -> None:
    ring = {"qpid.policy_type": "ring_strict", "qpid.max_count": 5}
    queues = [Queue(name="a", durable=True), Queue(name="b", durable=True, arguments=ring)]
    plan = planned("artemis", queues=queues)
    assert plan.configuration["nodes"] == [{"queue": "a", "upstream": "new"}]
    [host] = plan.configuration["virtual_hosts"]
    assert host["queues"] == [{"name": "a"}, {"name": "b", "arguments": ring}]
    assert plan.left == ["queue b stays local; the target lacks: policy ring_strict"]


def test_what_those_who_are_connected_do_and_the_target_does_not_is_left() -> None:
    what: dict[str, Any] = {
        "queues": [Queue(name="q", durable=True)],
        "subscriptions": [
            Subscription(queue="q", browse=True),
            Subscription(queue="q", arguments={"x-apache-selector": "a = 1"}),
        ],
        "clients": [Client(address="a", transactions=True)],
    }
    assert planned("rabbitmq", **what).left == [
        "queues are browsed, which is refused there, 540: q",
        "subscriptions have selectors, which are refused there, 540: q",
        "1 clients use transactions, which are refused there, 540",
    ]
    assert planned("artemis", **what).left == []
    assert planned("local", **what).left == []


def test_what_no_configuration_brings_back_is_left() -> None:
    links = [Link(name="l", host="h", port=1)]
    bindings = [Binding(exchange="qmf.default.topic", queue="console", key="#")]
    left = planned(links=links, bindings=bindings, not_asked=["q: not found"]).left
    assert [each.partition(":")[0] for each in left] == [
        "the survey is not whole",
        "link l to h",
        "exchange qmf.default.topic",
    ]


def test_rules_go_along_with_the_realm_that_users_have() -> None:
    clients = [Client(address=each, user=f"{each}@EXAMPLE", mechanism="PLAIN") for each in "ab"]
    plan = planned(acl=Acl(text=RULES), clients=clients)
    assert plan.configuration["access"] == {"qpidd_file": ACL, "qpidd_realm": "EXAMPLE"}
    assert plan.files[ACL] == RULES
    assert [each for each in plan.steps if "user add" in each] == [
        "amqp-gateway user add --file users.yaml a",
        "amqp-gateway user add --file users.yaml b",
    ]


def test_rules_that_are_missing_or_cannot_be_kept_to_are_left() -> None:
    assert "may do everything" in planned(acl=Acl(at_broker="/etc/qpid/acl")).left[0]
    assert "Broker-J" in planned(acl=Acl(kind="broker-j", text="ACL ALLOW ALL ALL")).left[0]
    wrong = planned(acl=Acl(text="acl frobnicate all all\n"))
    assert wrong.left[0].startswith("access rules, line 1: ")
    assert "access" not in wrong.configuration


def test_a_limit_of_connections_goes_along() -> None:
    broker = Broker(address="old:5672", connections_per_address=7)
    plan = plan_of(Survey(broker=broker), "local")
    assert plan.configuration["limits"] == {"connections_per_address": 7}


def test_no_name_at_the_old_broker_becomes_a_line_of_the_file_or_a_command(tmp_path: Path) -> None:
    hostile = "a\u2028access: null\n\x1b[0mb"
    queues = [
        Queue(name=hostile, durable=True, arguments={"x-new": 1}),
        Queue(name="*", durable=True),
    ]
    clients = [Client(address="a", user="a; reboot@QPID", mechanism="PLAIN")]
    found = survey(queues=queues, clients=clients)
    plan = plan_of(found, "artemis")
    file = tmp_path / CONFIGURATION
    file.write_text(configuration(plan, found, "artemis"))
    settings = load(file)
    assert [each.name for each in settings.virtual_hosts[0].queues] == [hostile, "*"]
    assert settings.nodes == []
    assert "amqp-gateway user add --file users.yaml 'a; reboot'" in plan.steps


def test_the_file_says_on_top_what_is_left_and_in_lines_what_is_there() -> None:
    found = survey(queues=[Queue(name="no", durable=True)], links=[Link(name="l", host="h")])
    text = configuration(plan_of(found, "artemis", "amqps://new:5671"), found, "artemis")
    head, _, body = text.partition("\n\n")
    assert all(line.startswith("#") for line in head.split("\n"))
    assert "# - link l to h:0: federation is not offered" in head
    assert max(map(len, head.split("\n"))) <= 100
    assert "\n  - {name: 'no'}\n" in body
    assert yaml.safe_load(text)["upstreams"]["new"]["hosts"] == ["amqps://new:5671"]
