"""What `check --connect` makes of answers, of rules and of profiles."""

from __future__ import annotations

import pytest

from gateway.clients.findings import Ability, Finding, Node, Presence, lacks, nodes_of
from gateway.clients.probed import Question
from gateway.config.placement import NodeRule, ShadowRule
from gateway.translate.profiles.loading import load_profile
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template


def rule(number: int, kind: str, pattern: str, *, spool: bool = False) -> NodeRule:
    return NodeRule(number, kind, pattern, None, "a", spool=spool)


def test_a_finding_is_fine_when_it_was_reached_and_nothing_is_missing() -> None:
    finding = Finding("a", nodes=[Node("nodes.0", "queue", "q", "q", state=Presence.YES)])
    assert not finding.fine
    finding.reached = True
    assert finding.fine
    finding.abilities = [Ability("transactions", False, False), Ability("browsing", True)]
    assert finding.fine
    finding.nodes[0].state = Presence.NO
    assert not finding.fine
    assert finding.as_json()["nodes"][0]["state"] == "no"


def test_a_broker_that_refuses_what_its_profile_counts_on_is_not_fine() -> None:
    finding = Finding("a", reached=True, abilities=[Ability("transactions", True, False, "no")])
    assert not finding.fine
    finding.abilities[0].answered = True
    assert finding.fine


def test_addresses_of_exchanges_are_shown_with_a_key_and_asked_about_without() -> None:
    rabbitmq = load_profile("rabbitmq4")
    rules = [rule(0, "exchange", "news"), rule(1, "exchange", "amq.fanout")]
    rules.append(
        NodeRule(2, "exchange", "own", None, "a", address=Template("x/{exchange|plain}/{key}"))
    )
    rules += [rule(3, "queue", "a.*"), NodeRule(4, "queue", "b", None, "b")]
    found = [(node.key, node.address, node.asked) for node in nodes_of(rules, "a", rabbitmq)]
    assert found == [
        ("nodes.0", "/exchanges/news/KEY", "/exchanges/news"),
        ("nodes.1", "/exchanges/amq.fanout", "/exchanges/amq.fanout"),
        ("nodes.2", "x/own/KEY", "x/own/"),
        ("nodes.3", "/queues/NAME", ""),
    ]


def test_a_node_is_not_asked_about_where_asking_would_make_it() -> None:
    (node,) = nodes_of([rule(0, "queue", "q")], "a", load_profile("artemis"))
    assert (node.asked, node.state, node.bad) == ("", Presence.AUTO, False)
    created = NodeRule(0, "queue", "q", None, "a", create=True)
    (node,) = nodes_of([created], "a", load_profile("rabbitmq310"))
    assert (node.asked, node.state, node.bad) == ("", Presence.AUTO, False)


def test_a_missing_node_that_the_gateway_makes_is_not_bad() -> None:
    created = NodeRule(0, "queue", "q", None, "a", create=True)
    (node,) = nodes_of([created], "a", load_profile("rabbitmq4"))
    node.learn(Question("q", exists=False, problem="amqp:not-found"))
    assert (node.state, node.problem, node.bad) == (Presence.CREATED, "", False)
    (other,) = nodes_of([rule(0, "queue", "q")], "a", load_profile("rabbitmq4"))
    other.learn(Question("q", exists=False, problem="amqp:not-found"))
    assert (other.state, other.problem, other.bad) == (Presence.NO, "amqp:not-found", True)
    other.learn(Question("q"))
    assert (other.state, other.bad) == (Presence.UNKNOWN, True)


def test_what_a_profile_lacks_is_said_of_the_rules_that_it_concerns() -> None:
    rules = [
        rule(0, "queue", "q"),
        rule(1, "queue", "s", spool=True),
        rule(2, "exchange", "x"),
    ]
    told = dict(lacks(rules, Profile(modified=False, browse="none")))
    assert told["0-10 transactions (tx): 540"] == ["nodes.0", "nodes.2"]
    assert told["browsing (acquire-mode not-acquired): 540"] == ["nodes.0"]
    assert told["publishing: there is no address for it"] == ["nodes.2"]
    assert any(text.startswith("modified") for text in told)
    assert not lacks([], Profile())


@pytest.mark.parametrize(
    ("products", "product", "version", "fine"),
    [
        (["RabbitMQ 4"], "RabbitMQ", "4.0.5", True),
        (["RabbitMQ 4"], "RabbitMQ", "3.10.8", False),
        (["RabbitMQ 4"], "apache-activemq-artemis", "2.44.0", False),
        (["one", "qpid"], "qpid", "", True),
        (["RabbitMQ 4"], "", "", True),
        ([], "anything", "1", True),
    ],
)
def test_what_is_of_another_product_is_not_fine_where_the_profile_names_its_own(
    products, product, version, fine
):
    finding = Finding("a", "p", products, reached=True, product=product, version=version)
    assert finding.fine is fine
    assert finding.as_json()["stranger"] is not fine


def test_the_shadow_of_a_queue_is_asked_about_where_it_is_to_be() -> None:
    rabbitmq = load_profile("rabbitmq4")
    shadow = ShadowRule("new", Template("{queue}.shadow"), 1.0, 1, 1)
    rules = [
        NodeRule(0, "queue", "q", None, "old", shadow=shadow),
        NodeRule(1, "queue", "a.*", None, None, shadow=shadow),
    ]
    found = [(each.key, each.name, each.asked) for each in nodes_of(rules, "new", rabbitmq)]
    assert found == [
        ("nodes.0.shadow", "q.shadow", "/queues/q.shadow"),
        ("nodes.1.shadow", "NAME.shadow", ""),
    ]
    assert [each.key for each in nodes_of(rules, "old", rabbitmq)] == ["nodes.0"]
    (made,) = nodes_of(rules[:1], "new", load_profile("artemis"))
    assert (made.asked, made.state) == ("", Presence.AUTO)
