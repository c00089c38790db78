"""0-10 commands under the gateway's own rules; qpidd's are replayed in tests/vectors."""

import pytest
from support.own_rules import own_rules
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.schema import Kind, Reason
from gateway.permissions.actions import Action
from gateway.permissions.own_rules import OwnRules

UNAUTHORIZED = 403


def gateway(*rules: str) -> Gateway:
    made = Gateway()
    made.world.queue("q")
    made.settings.access.rules = own_rules(*rules)
    return made


def refused(heard: list[object]) -> bool:
    return any(isinstance(each, tuple) and each[0] == UNAUTHORIZED for each in heard)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("allow: consume, queue: q", spec.MessageSubscribe(queue="q", destination="d")),
        (
            "allow: browse, queue: q",
            spec.MessageSubscribe(
                queue="q", destination="d", acquire_mode=spec.AcquireMode.NOT_ACQUIRED
            ),
        ),
        ("allow: create, queue: r, durable: true", spec.QueueDeclare(queue="r", durable=True)),
        ("allow: create, temporary: true", spec.QueueDeclare(queue="r", exclusive=True)),
        ("allow: create, temporary: true", spec.QueueDeclare(queue="r", auto_delete=True)),
        ("allow: delete, queue: q", spec.QueueDelete(queue="q")),
        ("allow: purge, queue: q", spec.QueuePurge(queue="q")),
        ("allow: publish, queue: q", spec.QueueQuery(queue="q")),
        ("allow: consume, queue: q", spec.QueueDeclare(queue="q")),
        ("allow: create, exchange: e", spec.ExchangeDeclare(exchange="e", type="topic")),
        ("allow: bind, exchange: amq.topic", spec.ExchangeQuery(name="amq.topic")),
        (
            "allow: bind, exchange: amq.topic, queue: q, key: a.#",
            spec.ExchangeBind(exchange="amq.topic", queue="q", binding_key="a.b"),
        ),
    ],
)
def test_what_a_rule_allows_is_done_and_what_none_does_is_refused(rule: str, command):
    assert not refused(gateway(rule).session("alice").does(command))
    assert refused(gateway("allow: manage").session("alice").does(command))


def publishes(client: Client, **where: str) -> list[object]:
    client.publishes(b"x", **where)
    return client.hears()


def test_each_key_is_asked_for_and_a_refused_message_is_in_the_books():
    world = gateway("allow: publish, exchange: amq.topic, key: a.#", "allow: publish, queue: q")
    client = world.session("alice")
    assert not refused(publishes(client, to="amq.topic", key="a.b"))
    assert not refused(publishes(client, to="", key="q"))
    assert refused(publishes(client, to="amq.topic", key="b"))
    assert world.settings.counts.access_refused[Action.PUBLISH] == 1
    world.world.check()


def test_who_may_not_connect_is_told_and_closed():
    world = Gateway()
    world.settings.access.rules = OwnRules([])
    client = Client(world)
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0u\0p", "en_US")
    client.hears()
    client.authenticated("alice")
    client.hears()
    client.connection.send_open("")
    assert "closed 320" in client.hears()
    assert world.settings.counts.access_refused[Action.CONNECT] == 1


def names(world: Gateway, kind: Kind) -> list[tuple[str, ...]]:
    """Actor, action, object, rule and reason of the records of a kind."""
    return [
        (
            *(str(each[key]) for key in ("actor", "exchange", "node", "peer")),
            Reason(int(each["reason"])).name,
        )
        for each in world.world.blocks.raw()
        if each["kind"] == kind
    ]


def test_a_refusal_is_in_the_audit_log():
    world = gateway("deny: purge, queue: q")
    world.settings.access.file = "access.yaml"
    assert refused(world.session("alice").does(spec.QueuePurge(queue="q")))
    assert names(world, Kind.ACCESS_REFUSED) == [
        ("alice", "purge", "queue 'q'", "access.yaml:3", "NOT_ALLOWED")
    ]


def test_rules_that_change_end_the_subscriptions_that_they_forbid():
    world = gateway("allow: consume")
    alice, bob = world.session("alice"), world.session("bob")
    for client in (alice, bob):
        client.subscribes("q")
        assert not refused(client.hears())
    world.settings.access.adopt(own_rules("allow: consume, users: bob"), "", world.world.now_ms)
    assert refused(alice.hears())
    assert not refused(bob.hears())
    assert world.world.host.topology.queues["q"].users.subscriptions == 1
    [*_, last] = names(world, Kind.ACCESS_REFUSED)
    assert (last[0], last[1], last[4]) == ("alice", "consume", "RULES_CHANGED")


def test_rules_that_change_end_the_connections_that_they_forbid():
    world = gateway()
    alice = world.session("alice")
    world.settings.access.adopt(OwnRules([]), "", world.world.now_ms)
    assert "closed 320" in alice.hears()


def test_what_is_remembered_of_publishes_is_forgotten_with_the_rules():
    world = gateway("allow: publish")
    client = world.session("alice")
    assert not refused(publishes(client, to="", key="q"))
    world.settings.access.adopt(own_rules("allow: consume"), "", world.world.now_ms)
    assert refused(publishes(client, to="", key="q"))
