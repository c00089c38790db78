"""What a real qpidd has answered by QMF, as a survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.migration import qmf
from gateway.migration.document import Survey

ANSWERS = Path(__file__).parent / "qpidd_1_40.json"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ANSWERS.read_text())
    return found


@pytest.fixture(scope="module")
def survey(recorded: dict[str, Any]) -> Survey:
    return qmf.survey_of(recorded["objects"], "old:5672", recorded["asker"])


def test_the_broker_is_told_with_its_version(survey: Survey) -> None:
    broker = survey.broker
    assert (broker.product, broker.version, broker.asked) == ("qpid-cpp", "1.40.0", ["QMF"])
    assert (broker.ha, broker.prepared) == ("", 0)


def test_a_queue_is_told_with_what_was_said_of_it_and_what_it_holds(survey: Survey) -> None:
    queues = {each.name: each for each in survey.queues}
    limited = {"qpid.max_count": 100, "qpid.max_size": 65536, "qpid.policy_type": "reject"}
    assert queues["limited"].arguments == limited
    assert queues["orders"].alternate_exchange == "dead"
    assert queues["orders"].messages == 14
    assert queues["app:news"].exclusive
    assert queues["ring"].durable
    assert not queues["ring"].exclusive


def test_an_exchange_is_told_with_its_alternate_and_the_nameless_one_is_not(
    survey: Survey,
) -> None:
    exchanges = {each.name: each for each in survey.exchanges}
    trades = exchanges["trades"]
    assert (trades.type, trades.alternate_exchange) == ("topic", "dead")
    assert trades.arguments == {"qpid.msg_sequence": 1}
    assert "" not in exchanges


def test_bindings_are_told_with_keys_and_arguments_but_for_those_that_each_queue_has(
    survey: Survey,
) -> None:
    told = {(each.exchange, each.queue, each.key) for each in survey.bindings}
    assert ("trades", "prices", "*.price") in told
    assert ("", "prices", "prices") not in told
    urgent = next(each for each in survey.bindings if each.exchange == "by-headers")
    assert urgent.arguments == {"x-match": "all", "level": 9, "kind": "alarm"}


def test_who_asks_is_not_part_of_what_is_found(survey: Survey, recorded: dict[str, Any]) -> None:
    asker = recorded["asker"]
    assert asker not in [each.name for each in survey.queues]
    assert asker not in [each.queue for each in survey.bindings]
    assert asker not in [each.queue for each in survey.subscriptions]
    own = [each for each in survey.clients if each.user == "anonymous" and each.product]
    assert own == []


def test_clients_are_told_with_what_they_say_of_themselves_and_what_they_receive(
    survey: Survey,
) -> None:
    clients = {each.address: each for each in survey.clients}
    by_protocol = {clients[each.client].protocol for each in survey.subscriptions}
    assert by_protocol == {"AMQP 0-10", "AMQP 1.0"}
    assert {each.process for each in clients.values()} == {"", "qpid-receive"}
    admin = next(each for each in clients.values() if each.user == "admin@QPID")
    assert (admin.product, admin.mechanism) == ("amqp-gateway", "PLAIN")


def test_links_are_told_with_what_they_bring_and_their_connections_are_no_clients(
    survey: Survey,
) -> None:
    [link] = survey.links
    [bridge] = survey.bridges
    assert (link.name, link.state) == ("to-head-office", "Operational")
    assert (bridge.link, bridge.source, bridge.key) == ("to-head-office", "amq.topic", "uk.#")
    assert "to-head-office" not in [each.address for each in survey.clients]


def test_rules_in_force_are_told_by_where_they_stand(survey: Survey) -> None:
    assert survey.acl is not None
    assert (survey.acl.at_broker, survey.acl.text) == ("/etc/qpid/qpidd.acl", None)
