"""0-10 commands under the gateway's own rules; qpidd's are replayed in tests/vectors."""

import pytest
from support.own_rules import own_rules
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Kind, Reason
from gateway.permissions.actions import Action
from gateway.permissions.own_rules import OwnRule, OwnRules
from gateway.permissions.rules import Decision
from gateway.wire.work import RULE, SHARE

UNAUTHORIZED = 403


def gateway(*rules: str) -> Gateway:
    made = Gateway()
    made.world.queue("q")
    made.settings.access.in_force.rules = own_rules(*rules)
    return made


def refused(heard: list[object]) -> bool:
    return any(isinstance(each, tuple) and each[0] == UNAUTHORIZED for each in heard)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("allow: consume, queue: q", spec.MessageSubscribe(queue="q", destination="d")),
        ("allow: consume, queue: q", spec.FileConsume(queue="q", consumer_tag="c")),
        ("allow: consume, queue: q", spec.StreamConsume(queue="q", consumer_tag="c")),
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


@pytest.mark.parametrize(
    ("exchange", "key", "may"),
    [
        ("amq.topic", "a.*", True),
        ("amq.topic", "a.b", True),
        ("amq.topic", "a.#", False),
        ("amq.direct", "a.#", True),
        ("amq.direct", "a.b.c", False),
        ("amq.fanout", "a.b", False),
        ("amq.match", "a.b", False),
        ("absent", "a.#", False),
    ],
)
def test_who_may_bind_by_some_keys_is_sent_no_others(exchange: str, key: str, may: bool):
    world = gateway("allow: [bind, unbind], key: a.*")
    for command in (spec.ExchangeBind, spec.ExchangeUnbind):
        heard = world.session("alice").does(command(queue="q", exchange=exchange, binding_key=key))
        assert refused(heard) is not may


def test_what_goes_to_all_that_are_bound_is_for_who_may_have_every_key():
    bind = spec.ExchangeBind(queue="q", exchange="amq.fanout", binding_key="a")
    assert not refused(gateway("allow: bind, key: '#'").session("alice").does(bind))
    assert not refused(gateway("allow: bind").session("alice").does(bind))
    denied = gateway("deny: bind, key: secret", "allow: bind")
    assert refused(denied.session("alice").does(bind))


def acquires(client: Client) -> list[object]:
    """Browse `q` and take what came."""
    client.subscribes("q", acquire=spec.AcquireMode.NOT_ACQUIRED)
    client.hears()
    return client.does(spec.MessageAcquire(transfers=[(0, 9)]))


def test_who_may_only_browse_takes_nothing():
    world = gateway("deny: consume, users: eve", "allow: all")
    publishes(world.session("alice"), to="", key="q")
    assert refused(acquires(world.session("eve")))
    assert names(world, Kind.ACCESS_REFUSED)[0][:3] == ("eve", "consume", "queue 'q'")
    assert not refused(acquires(world.session("alice")))


def test_who_may_only_browse_keeps_nobody_else_out():
    alone = spec.MessageSubscribe(
        queue="q", destination="d", acquire_mode=spec.AcquireMode.NOT_ACQUIRED, exclusive=True
    )
    world = gateway("deny: consume, users: eve", "allow: all")
    assert refused(world.session("eve").does(alone))
    assert not refused(world.session("alice").does(alone))
    world = gateway("allow: all")
    eve = world.session("eve")
    eve.does(alone)
    spread = world.world.bridge.turns.spread
    world.settings.access.adopt(own_rules("allow: browse"), "rules", spread)
    assert refused(eve.hears())


@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_an_alternate_exchange_needs_the_right_to_publish_there(kind: str):
    alternate = {"alternate_exchange": "amq.topic"}
    command = (
        spec.QueueDeclare(queue="r", **alternate)
        if kind == "queue"
        else spec.ExchangeDeclare(exchange="r", type="fanout", **alternate)
    )
    may_publish = "allow: publish, exchange: amq.topic"
    assert refused(gateway("allow: create").session("alice").does(command))
    assert refused(
        gateway("allow: create", f'{may_publish}, key: "a.#"').session("alice").does(command)
    )
    world = gateway("allow: create, users: alice", f"{may_publish}, users: alice", "allow: consume")
    assert not refused(world.session("alice").does(command))
    # It is there: nothing is made to send on that did not before.
    assert not refused(world.session("bob").does(command))


def test_an_alternate_exchange_that_is_missing_is_refused_alike():
    command = spec.QueueDeclare(queue="r", alternate_exchange="none")
    assert refused(gateway("allow: create").session("alice").does(command))
    assert not refused(gateway("allow: all").session("alice").does(command))


def told(world: Gateway, command: Command) -> list[object]:
    """What a session hears, names taken out."""
    return world.session("eve").does(command)


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        (spec.QueueDelete(queue="q"), spec.QueueDelete(queue="none")),
        (spec.ExchangeDelete(exchange="e"), spec.ExchangeDelete(exchange="none")),
        (spec.QueueQuery(queue="q"), spec.QueueQuery(queue="none")),
        (spec.ExchangeQuery(name="e"), spec.ExchangeQuery(name="none")),
        (
            spec.QueueDeclare(queue="q", passive=True),
            spec.QueueDeclare(queue="none", passive=True),
        ),
        (
            spec.ExchangeDeclare(exchange="e", passive=True),
            spec.ExchangeDeclare(exchange="none", passive=True),
        ),
        (
            spec.ExchangeBound(exchange="e", queue="mine"),
            spec.ExchangeBound(exchange="none", queue="mine"),
        ),
        (
            spec.ExchangeBound(exchange="none", queue="q"),
            spec.ExchangeBound(exchange="e", queue="none"),
        ),
        (spec.QueuePurge(queue="q"), spec.QueuePurge(queue="none")),
        (
            spec.ExchangeBind(exchange="amq.topic", queue="q", binding_key="a"),
            spec.ExchangeBind(exchange="amq.topic", queue="none", binding_key="a"),
        ),
    ],
)
def test_who_may_do_nothing_with_a_node_hears_the_same_be_it_there_or_not(
    there: Command, missing: Command
):
    rules = ("allow: all, queue: mine, own: true", "allow: bind, exchange: amq.topic, own: true")
    heard = []
    for command in (there, missing):
        world = gateway(*rules)
        world.world.host.declaring.declare_exchange("e", "fanout")
        heard.append(told(world, command))
    assert heard[0] == heard[1]
    if "mine" not in str(there):
        assert refused(heard[0])


def test_a_message_to_an_exchange_is_refused_alike_be_it_there_or_not():
    world = gateway("allow: publish, queue: q")
    world.world.host.declaring.declare_exchange("e", "fanout")
    for exchange in ("e", "none"):
        assert refused(publishes(world.session("eve"), to=exchange, key="k"))


def test_a_passive_declare_and_a_query_are_decided_alike():
    world = gateway("allow: consume, temporary: true", "allow: bind, exchange: amq.topic")
    world.session("alice").does(spec.QueueDeclare(queue="q", passive=True))
    for command in (spec.QueueDeclare(queue="q", passive=True), spec.QueueQuery(queue="q")):
        assert refused(world.session("alice").does(command))


def test_what_upstreams_reject_is_not_its_makers():
    world = gateway("allow: all, own: true, users: eve", "allow: create, durable: true, users: bob")
    rejected = spec.QueueDeclare(queue="gateway.rejected", durable=True)
    assert refused(world.session("eve").does(rejected))
    bob = world.session("bob")
    assert not refused(bob.does(rejected))
    assert refused(bob.does(spec.MessageSubscribe(queue="gateway.rejected", destination="d")))


def test_what_a_user_has_made_is_its_own_on_each_connection_and_nobody_elses():
    world = gateway(
        "allow: create, exchange: e, users: alice, own: true",
        "allow: [create, consume, browse, publish, delete, purge], own: true",
        "allow: [bind, unbind], exchange: amq.topic, own: true",
    )
    alice = world.session("alice")
    assert not refused(alice.does(spec.QueueDeclare(queue="r", durable=True)))
    assert not refused(alice.does(spec.ExchangeDeclare(exchange="e", type="topic")))
    uses = (
        spec.QueueQuery(queue="r"),
        spec.ExchangeBind(exchange="amq.topic", queue="r", binding_key="a"),
        spec.ExchangeUnbind(exchange="amq.topic", queue="r", binding_key="a"),
        spec.MessageSubscribe(queue="r", destination="d"),
        spec.QueuePurge(queue="r"),
        spec.QueueDeclare(queue="r"),
        spec.ExchangeQuery(name="e"),
        spec.ExchangeDelete(exchange="e"),
        spec.QueueDelete(queue="r"),
    )
    for command in uses:
        assert refused(world.session("eve").does(command)), command
    assert refused(publishes(world.session("eve"), to="", key="r"))
    assert not refused(publishes(world.session("alice"), to="", key="r"))
    for command in uses:
        assert not refused(world.session("alice").does(command)), command


def test_without_a_login_what_the_same_connection_has_made_is_its_own():
    world = gateway("allow: [create, consume], own: true")
    nobody = world.session()
    assert not refused(nobody.does(spec.QueueDeclare(queue="r")))
    subscribe = spec.MessageSubscribe(queue="r", destination="d")
    for other in ("anonymous", ""):
        assert refused(world.session(other).does(subscribe))
    assert not refused(nobody.does(subscribe))


def test_a_name_that_another_has_by_now_is_not_published_to():
    world = gateway("allow: [create, delete, publish], own: true")
    alice, eve = world.session("alice"), world.session("eve")
    alice.does(spec.QueueDeclare(queue="r"))
    assert not refused(publishes(alice, to="", key="r"))
    alice.does(spec.QueueDelete(queue="r"))
    eve.does(spec.QueueDeclare(queue="r"))
    assert refused(publishes(alice, to="", key="r"))


def publishes(client: Client, **where: str) -> list[object]:
    client.publishes(b"x", **where)
    return client.hears()


def test_what_would_be_too_much_work_to_decide_is_refused_by_its_limit():
    world = gateway()
    by_key = OwnRule(Decision(True, 1, ""), 1 << Action.PUBLISH, key=["#", "c", "#"])
    may_connect = OwnRule(Decision(True, 2, ""), 1 << Action.CONNECT)
    world.settings.access.in_force.rules = OwnRules([by_key] * 1000 + [may_connect])
    client = world.session("alice")
    heard = publishes(client, to="amq.direct", key=".".join(["w"] * 128))
    assert 506 in [each[0] for each in heard if isinstance(each, tuple)]
    refused = [each for each in world.world.blocks.records() if each.kind == Kind.REFUSED]
    assert [Reason(each.reason) for each in refused] == [Reason.TOO_LARGE]
    assert world.settings.counts.access_refused[Action.PUBLISH] == 0
    world.world.check()


def test_new_keys_under_many_rules_are_a_share_of_a_turn_and_known_ones_are_not():
    world = gateway()
    never = OwnRule(Decision(False, 1, ""), 1 << Action.PUBLISH, exchange=["never"])
    rules = [never] * 1000 + [OwnRule(Decision(True, 2, ""), -1)]
    world.settings.access.in_force.rules = OwnRules(rules)
    client = world.session("alice")

    def publishes_at_once(keys):
        for key in keys:
            client.publishes(b"x", to="amq.direct", key=key)
        turns = 1
        client.face.receive_data(client.connection.data_to_send(), world.world.now_ms)
        while client.face.behind:
            client.face.data_to_send()
            world.world.turn()
            turns += 1
        return turns

    keys = [f"k{number}" for number in range(100)]
    assert publishes_at_once(keys) >= 100 * 1000 * RULE // SHARE
    assert publishes_at_once(keys) == 1


def test_each_key_is_asked_for_and_a_refused_message_is_in_the_books():
    world = gateway("allow: publish, exchange: amq.topic, key: a.#", "allow: publish, queue: q")
    client = world.session("alice")
    assert not refused(publishes(client, to="amq.topic", key="a.b"))
    assert not refused(publishes(client, to="", key="q"))
    assert refused(publishes(client, to="amq.topic", key="b"))
    assert world.settings.counts.access_refused[Action.PUBLISH] == 1
    world.world.check()


@rule("0-10", "connection.open.virtual-host", "security")
def test_who_may_not_connect_is_told_and_closed():
    world = Gateway()
    world.settings.access.in_force.rules = OwnRules([])
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
    world.settings.access.in_force.file = "access.yaml"
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
    world.settings.access.adopt(
        own_rules("allow: consume, users: bob"), "", world.world.bridge.turns.spread
    )
    assert refused(alice.hears())
    assert not refused(bob.hears())
    assert world.world.host.topology.queues["q"].users.subscriptions == 1
    [*_, last] = names(world, Kind.ACCESS_REFUSED)
    assert (last[0], last[1], last[4]) == ("alice", "consume", "RULES_CHANGED")


def test_rules_that_change_end_the_connections_that_they_forbid():
    world = gateway()
    alice = world.session("alice")
    world.settings.access.adopt(OwnRules([]), "", world.world.bridge.turns.spread)
    assert "closed 320" in alice.hears()


def test_what_is_remembered_of_publishes_is_forgotten_with_the_rules():
    world = gateway("allow: publish")
    client = world.session("alice")
    assert not refused(publishes(client, to="", key="q"))
    world.settings.access.adopt(own_rules("allow: consume"), "", world.world.bridge.turns.spread)
    assert refused(publishes(client, to="", key="q"))


def test_a_refused_message_says_who_where_and_why():
    world = gateway("allow: publish, exchange: amq.topic, key: a.#")
    world.settings.access.in_force.file = "access.yaml"
    client = world.session("alice")
    publishes(client, to="amq.topic", key="b")
    assert names(world, Kind.ACCESS_REFUSED) == [
        (
            *("alice", "publish", "exchange 'amq.topic', key 'b'"),
            *("no rule fits", "NOT_ALLOWED"),
        )
    ]
    (refused_message,) = [each for each in world.world.blocks.raw() if each["kind"] == Kind.REFUSED]
    (why,) = [each for each in world.world.blocks.raw() if each["kind"] == Kind.ACCESS_REFUSED]
    assert why["message"] == refused_message["message"]
    assert why["sequence"] == refused_message["sequence"] + 1


def test_each_key_that_is_refused_is_in_the_audit_log():
    world = gateway("allow: publish, exchange: amq.topic, key: a.#")
    for number in range(20):
        publishes(world.session("alice"), to="amq.topic", key=f"b.{number}")
    objects = [each[2] for each in names(world, Kind.ACCESS_REFUSED)]
    assert objects == [f"exchange 'amq.topic', key 'b.{number}'" for number in range(20)]
