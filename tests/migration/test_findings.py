"""What of an old installation will not work the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gateway.migration import qmf
from gateway.migration.document import (
    Acl,
    Binding,
    Broker,
    Client,
    Exchange,
    Finding,
    Queue,
    Survey,
)
from gateway.migration.findings import findings

RECORDED = json.loads((Path(__file__).parent / "qpidd_1_40.json").read_text())


def survey(**what: Any) -> Survey:
    return Survey(broker=Broker(address="old:5672"), **what)


def told(**what: Any) -> dict[str, str]:
    """Severity by where."""
    return {each.where: each.severity for each in findings(survey(**what))}


def only(**what: Any) -> Finding:
    [found] = findings(survey(**what))
    return found


def test_of_a_real_qpidd_federation_breaks_and_arguments_without_effect_differ() -> None:
    found = findings(qmf.survey_of(RECORDED["objects"], "old:5672", RECORDED["asker"]))
    by_severity = {
        severity: [each.where for each in found if each.severity == severity]
        for severity in ("breaks", "differs", "note")
    }
    assert by_severity["breaks"] == [
        "link to-head-office to 127.0.0.1:46403",
        "bridge news-from-there",
    ]
    assert set(by_severity["differs"]) == {"queue described"}
    assert {"what waits", "durable subscriptions", "clients"} <= set(by_severity["note"])


def test_the_worst_stands_first() -> None:
    queues = [Queue(name="a", arguments={"x": 1}), Queue(name="b", messages=1)]
    found = findings(survey(queues=queues, exchanges=[Exchange(name="x", type="xml")]))
    assert [each.severity for each in found] == ["breaks", "differs", "note"]


def test_of_queues_that_have_the_same_it_is_told_once_with_some_of_their_names() -> None:
    queues = [Queue(name=f"q{number}", arguments={"x-new": 1}) for number in range(9)]
    assert only(queues=queues).where == "queue q0, q1, q2, q3, q4 and 4 others"


def test_arguments_with_which_a_declare_is_refused_break() -> None:
    wrong = Queue(name="q", arguments={"qpid.priorities": 5, "qpid.last_value_queue_key": "k"})
    assert only(queues=[wrong]).severity == "breaks"


def test_who_listens_to_management_hears_nothing_any_longer() -> None:
    bound = [Binding(exchange="qmf.default.topic", queue="console", key="#")]
    assert told(bindings=bound) == {"exchange qmf.default.topic": "breaks"}


def test_a_broker_that_takes_from_here_is_told_once() -> None:
    queue = Queue(name="qpid.bridge_queue_1_a", arguments={"qpid.trace.id": "a"})
    other = Client(address="a", federation=True)
    assert told(queues=[queue], clients=[other]) == {"federation from others": "breaks"}
    assert told(clients=[other]) == {"federation from others": "breaks"}
    gateway = Client(address="b", federation=True, product="amqp-gateway")
    assert "federation from others" not in told(clients=[gateway])


def test_rules_are_read_as_the_gateway_reads_them_line_by_line() -> None:
    text = "acl deny all create link\nacl frobnicate all all\nacl allow all all\n"
    acl = Acl(at_broker="/etc/qpid/qpidd.acl", text=text)
    assert told(acl=acl) == {
        "access rules /etc/qpid/qpidd.acl, line 1": "note",
        "access rules /etc/qpid/qpidd.acl, line 2": "breaks",
    }


def test_rules_that_are_in_force_and_were_not_given_are_asked_for() -> None:
    assert "--acl" in only(acl=Acl(at_broker="/etc/qpid/qpidd.acl")).what


def test_mechanisms_from_before_scram_are_told_with_the_key_that_offers_them() -> None:
    clients = [Client(address="a", mechanism="DIGEST-MD5"), Client(address="b", mechanism="PLAIN")]
    assert "legacy_mechanisms" in findings(survey(clients=clients))[-1].what
    assert set(told(clients=clients)) == {"clients", "logins by DIGEST-MD5"}


def test_sessions_that_outlive_their_connections_longer_than_is_granted_differ() -> None:
    clients = [Client(address="a", detached_lifespan_s=600)]
    assert told(clients=clients)["sessions"] == "differs"
    assert "sessions" not in told(clients=[Client(address="a", detached_lifespan_s=30)])


def test_prepared_branches_and_a_cluster_are_told() -> None:
    broker = Broker(address="old:5672", prepared=2, ha="active", queues_per_user=10)
    found = {each.where: each.severity for each in findings(Survey(broker=broker))}
    assert found == {
        "distributed transactions": "note",
        "clients that fail over": "differs",
        "the broker's options": "note",
    }


def test_an_ordinary_installation_has_nothing_that_differs() -> None:
    queues = [Queue(name="orders", durable=True, arguments={"qpid.max_count": 5})]
    exchanges = [Exchange(name="amq.topic", type="topic"), Exchange(name="x", type="headers")]
    assert told(queues=queues, exchanges=exchanges) == {}


def test_names_that_are_made_on_demand_break_and_an_alternate_that_is_a_queue_differs() -> None:
    broker = Broker(address="old:5672", made_on_demand=["auto.*"])
    queues = [Queue(name="q", alternate_queue="dead")]
    found = {each.where: each.severity for each in findings(Survey(broker=broker, queues=queues))}
    assert found == {"nodes called auto.*": "breaks", "queue q": "differs"}
