"""Links of 1.0 clients under access rules: the gateway's own, and a qpidd's."""

import pytest
from support.bridge_world import bind
from support.face_1_0 import Hub, message
from support.own_rules import own_rules

from gateway.amqp_1_0 import _spec, events, types
from gateway.audit.schema import Kind, Reason
from gateway.bridge.seams import QueueSettings
from gateway.faces.arguments.of_nodes import policy_properties
from gateway.faces.upstream_1_0.receiving.sources import binding_filter
from gateway.message import Condition
from gateway.permissions.actions import Action
from gateway.permissions.own_rules import OwnRules
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.wire.tagged import Tagged
from gateway.wire.work import WORDS_MAX

UNAUTHORIZED = "amqp:unauthorized-access"
KINDS = ("queue", "exchange")
USER = ("user", "pass")  # known as user@realm


def hub(*rules):
    made = Hub()
    made.world.queue("q")
    made.settings.access.in_force.rules = own_rules(*rules)
    return made


def qpidd(*lines):
    made = Hub()
    made.world.queue("q")
    made.settings.access.in_force.rules = QpiddRules("\n".join(lines) + "\n", "QPID")
    return made


def test_who_may_publish_attaches_a_sender_and_nobody_else():
    world = hub("allow: publish, queue: q, users: user@realm")
    able, other = world.client(user=USER), world.client()
    assert able.send(able.sender("q"), message()) == _spec.Accepted()
    assert not other.sender("q").attached
    assert other.refused() == UNAUTHORIZED
    assert world.settings.counts.access_refused[Action.PUBLISH] == 1


@pytest.mark.parametrize(
    "made",
    [
        lambda: hub("deny: [publish, consume], queue: q", "allow: all"),
        lambda: qpidd("acl deny all access queue name=q", "acl allow all all"),
    ],
    ids=["own", "qpidd"],
)
def test_a_url_as_an_address_is_asked_about_as_the_node_that_it_names(made):
    client = made().client()
    for link in (client.receiver("amqp://host/q"), client.sender("amqp://host/%71")):
        assert not link.attached
        assert client.refused() == UNAUTHORIZED
    to = _spec.Properties(to="amqp://host/q")
    state = client.send(client.sender(None), message(properties=to))
    assert state.error.condition == UNAUTHORIZED


@pytest.mark.parametrize(("rule", "mode"), [("allow: consume", "move"), ("allow: browse", "copy")])
def test_to_browse_and_to_consume_are_two_things(rule, mode):
    world = hub(rule)
    client = world.client()
    other = {"move": "copy", "copy": "move"}[mode]
    assert client.receiver("q", distribution_mode=mode).attached
    assert not client.receiver("q", distribution_mode=other).attached
    assert client.refused() == UNAUTHORIZED


def test_each_subject_is_asked_for_where_the_address_has_no_key():
    world = hub("allow: publish, exchange: amq.topic, key: a.#")
    client = world.client()
    sender = client.sender("amq.topic")
    assert client.send(sender, message(properties=_spec.Properties(subject="a.b"))) is not None
    state = client.send(sender, message(properties=_spec.Properties(subject="b")), tag=b"2")
    assert state.error.condition == UNAUTHORIZED
    assert "may not publish exchange 'amq.topic', key 'b'" in state.error.description
    refused = [each for each in world.world.blocks.records() if each.kind == Kind.REFUSED]
    assert [Reason(each.reason) for each in refused] == [Reason.NOT_ALLOWED]
    world.end()


NEWS = (
    "deny: bind, exchange: amq.topic, key: news.secret",
    "allow: bind, exchange: amq.topic, key: news.#",
    "allow: [create, consume], own: true",
)


@pytest.mark.parametrize(
    ("key", "attached"),
    [("news.*", False), ("#", False), ("news.secret.#", False), ("news.de.#", True)],
)
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("durable", [0, 2])
def test_a_receiver_hears_no_key_that_it_may_not_hear(key, attached, filtered, durable):
    client = hub(*NEWS).client()
    source = {"durable": durable}
    if filtered:
        source["filter"] = binding_filter(key, topic=True)
    link = client.receiver("amq.topic" if filtered else f"amq.topic/{key}", **source)
    assert link.attached is attached
    assert attached or client.refused() == UNAUTHORIZED


def test_a_receiver_that_says_no_key_hears_them_all():
    client = hub(*NEWS).client()
    assert not client.receiver("amq.topic").attached
    assert client.refused() == UNAUTHORIZED


@pytest.mark.parametrize("address", ["amq.direct", None])
def test_a_subject_of_too_many_words_is_refused_before_the_rules_are_asked(address):
    world = hub("allow: publish, exchange: amq.direct, key: a.#", "allow: manage")
    client = world.client()
    sender = client.sender(address)
    properties = _spec.Properties(subject=".".join(["a"] * (WORDS_MAX + 1)), to="amq.direct")
    state = client.send(sender, message(properties=properties))
    assert state.error.condition == "amqp:invalid-field"
    assert "more than 1024 words" in state.error.description
    refused = [each for each in world.world.blocks.records() if each.kind == Kind.REFUSED]
    assert [Reason(each.reason) for each in refused] == [Reason.TOO_LARGE]
    assert world.settings.counts.access_refused[Action.PUBLISH] == 0
    long = "amq.direct/" + properties.subject
    assert not client.sender(long).attached
    assert client.refused() == "amqp:invalid-field"
    world.end()


def test_a_key_in_the_address_is_asked_for_once():
    world = hub("allow: publish, exchange: amq.topic, key: a.#")
    client = world.client()
    assert client.sender("amq.topic/a.b").attached
    assert not client.sender("amq.topic/b").attached
    assert client.refused() == UNAUTHORIZED


def test_the_anonymous_terminus_asks_for_each_message():
    world = hub("allow: publish, queue: q")
    world.world.queue("r")
    client = world.client()
    sender = client.sender(None)
    accepted = client.send(sender, message(properties=_spec.Properties(to="q")))
    state = client.send(sender, message(properties=_spec.Properties(to="r")), tag=b"2")
    assert accepted == _spec.Accepted()
    assert state.error.condition == UNAUTHORIZED
    client.send(sender, message(properties=_spec.Properties(to="r")), tag=b"3", settled=True)
    assert client.refused() == UNAUTHORIZED


def test_a_topic_by_the_anonymous_terminus_is_asked_for_as_a_key():
    client = hub("allow: publish, exchange: amq.topic, key: prices").client()
    sender = client.sender(None)
    topic = [(Tagged(types.SYMBOL, "x-opt-jms-dest"), Tagged(types.BYTE, 1))]
    for to, allowed in (("prices", True), ("amq.topic/prices", True), ("q", False), ("a", False)):
        properties = _spec.Properties(to=to)
        state = client.send(sender, message(properties=properties, annotations=topic))
        if allowed:
            assert state == _spec.Accepted()
        else:
            assert state.error.condition == UNAUTHORIZED


def test_a_sender_that_calls_a_key_of_an_exchange_a_queue_is_asked_for_the_exchange():
    client = hub("allow: publish, exchange: amq.direct, key: a").client()
    assert client.sender("amq.direct/a", capabilities=["queue"]).attached
    assert not client.sender("amq.direct/b", capabilities=["queue"]).attached
    assert client.refused() == UNAUTHORIZED
    access = [f"acl allow all access {kind} name=amq.direct" for kind in KINDS]
    others = ["acl allow all publish exchange", "acl deny all all"]
    client = qpidd(*access, *others).client()
    assert client.sender("amq.direct/a", capabilities=["queue"]).attached
    client = qpidd(access[0], *others).client()
    assert not client.sender("amq.direct/a", capabilities=["queue"]).attached
    assert client.refused() == UNAUTHORIZED


def test_a_receiver_on_an_exchange_makes_binds_and_consumes_a_queue():
    rules = [
        "allow: bind, exchange: amq.topic, key: a.#",
        "allow: consume, temporary: true",
        "allow: create, temporary: true",
    ]
    for missing in range(3):
        client = hub(*rules[:missing], *rules[missing + 1 :]).client()
        assert not client.receiver("amq.topic/a.b").attached
        assert client.refused() == UNAUTHORIZED
    client = hub(*rules).client()
    assert client.receiver("amq.topic/a.b").attached
    assert not client.receiver("amq.topic/b").attached


def test_a_dynamic_node_is_created():
    target = _spec.Target(dynamic=True)
    may_create, may_publish = "allow: create, temporary: true", "allow: publish, temporary: true"
    world = hub(may_create, may_publish)
    client = world.client()
    sender = client.attach(_spec.SENDER, target=target)
    assert client.send(sender, message()) == _spec.Accepted()
    for rules in ([may_create], [may_publish], ["deny: publish", may_create]):
        world = hub(*rules)
        before = dict(world.host.topology.queues)
        client = world.client()
        assert not client.attach(_spec.SENDER, target=target).attached
        assert client.refused() == UNAUTHORIZED
        assert world.host.topology.queues == before


def test_a_qpidds_rules_are_asked_for_access_to_a_dynamic_node_first():
    source = _spec.Source(dynamic=True)
    lines = [
        "acl allow all create queue",
        "acl allow all consume queue",
        "acl allow all access queue",
        "acl allow all access exchange",
    ]
    for missing in range(len(lines)):
        world = qpidd(*lines[:missing], *lines[missing + 1 :], "acl deny all all")
        client = world.client()
        assert not client.attach(_spec.RECEIVER, source=source).attached
        assert client.refused() == UNAUTHORIZED
        assert set(world.host.topology.queues) == {"q"}
    client = qpidd(*lines, "acl deny all all").client()
    assert client.attach(_spec.RECEIVER, source=source).attached
    # Where it asks for a queue by its capability, nobody is asked about exchanges.
    client = qpidd(*lines[:3], "acl deny all all").client()
    wanted = _spec.Source(dynamic=True, capabilities=["temporary-queue"])
    assert client.attach(_spec.RECEIVER, source=wanted).attached


def test_a_qpidds_rules_see_what_a_dynamic_queue_is_to_be():
    rules = ["acl allow all create queue queuemaxcountupperlimit=5"]
    for count, attached in ((5, True), (6, False)):
        properties = {"qpid.max_count": Tagged(types.UINT, count)}
        source = _spec.Source(dynamic=True, dynamic_node_properties=properties)
        others = ("acl allow all consume all", "acl allow all access all", "acl deny all all")
        client = qpidd(*rules, *others).client()
        assert client.attach(_spec.RECEIVER, source=source).attached == attached


POLICIES = (
    None,
    _spec.DELETE_ON_CLOSE,
    _spec.DELETE_ON_NO_LINKS,
    _spec.DELETE_ON_NO_MESSAGES,
    _spec.DELETE_ON_NO_LINKS_OR_MESSAGES,
)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_dynamic_node_is_temporary_for_all_that_is_done_with_it(policy):
    world = hub("allow: [create, consume, browse, purge, delete], temporary: true, own: true")
    client = world.client(user=USER)
    properties = None if policy is None else policy_properties(policy)
    source = _spec.Source(dynamic=True, dynamic_node_properties=properties)
    assert client.attach(_spec.RECEIVER, source=source).attached
    [name] = set(world.host.topology.queues) - {"q"}
    assert client.receiver(name).attached
    assert client.receiver(name, distribution_mode="copy").attached
    other = world.client(user=("other", "own"))
    assert not other.receiver(name).attached
    assert other.refused() == UNAUTHORIZED


def test_the_name_of_a_node_of_one_link_does_not_tell_that_of_another():
    world = hub("allow: all")
    client = world.client()
    for _ in range(2):
        client.attach(_spec.RECEIVER, source=_spec.Source(dynamic=True))
        assert client.receiver("amq.topic/a").attached
    tags = [name.rpartition(".")[2] for name in set(world.host.topology.queues) - {"q"}]
    assert len(set(tags)) == 4
    assert min(len(tag) for tag in tags) >= 24


@pytest.mark.parametrize("end", ["detach", "lost"])
def test_the_queue_of_a_receiver_on_an_exchange_is_its_links_alone(end):
    world = hub("allow: all")
    client = world.client()
    receiver = client.receiver("amq.topic/a")
    [name] = set(world.host.topology.queues) - {"q"}
    host, other = world.host, world.world.owner()
    refusals = [
        host.bindings.unbind(name, "amq.topic", "a", other),
        host.bindings.bind(name, "amq.topic", "b", {}, b"", other),
        host.declaring.purge_queue(name, other),
        host.declaring.delete_queue(name, other),
        host.declaring.declare_queue(name, QueueSettings(), other),
    ]
    assert [each.condition for each in refusals] == [Condition.RESOURCE_LOCKED] * 5
    assert host.topology.queues[name].bound_to() == [("amq.topic", "a")]
    if end == "detach":
        receiver.send_detach(closed=True)
        client.step()
    else:
        client.face.receive_eof(world.world.now_ms)
        world.step()
    assert name not in host.topology.queues


def hears(client, role, address):
    """How an attach is refused."""
    attach = client.sender if role == _spec.SENDER else client.receiver
    assert not attach(address).attached
    error = client.take(events.DetachReceived).detach.error
    return error.condition, error.description.replace(repr(address), "it")


@pytest.mark.parametrize("role", [_spec.SENDER, _spec.RECEIVER])
def test_who_may_do_nothing_with_a_node_hears_the_same_be_it_there_or_not(role):
    world = hub("allow: [publish, consume], queue: known")
    world.host.declaring.declare_exchange("e", "fanout")
    client = world.client()
    heard = {hears(client, role, address) for address in ("q", "none", "e", "e/k", "none/k")}
    [(condition, _)] = heard
    assert condition == UNAUTHORIZED
    assert hears(client, role, "known")[0] == "amqp:not-found"


def test_nor_does_it_hear_more_by_the_anonymous_terminus():
    world = hub("allow: publish, queue: known")
    world.host.declaring.declare_exchange("e", "fanout")
    client = world.client()
    sender = client.sender(None)
    told = set()
    for at, address in enumerate(("q", "none", "e", "e/k")):
        payload = message(properties=_spec.Properties(to=address))
        error = client.send(sender, payload, tag=b"%d" % at).error
        told.add((error.condition, error.description.replace(repr(address), "it")))
    [(condition, _)] = told
    assert condition == UNAUTHORIZED
    state = client.send(sender, message(properties=_spec.Properties(to="known")), tag=b"k")
    assert state.error.condition == "amqp:not-found"


def test_a_client_without_a_login_is_not_the_user_who_is_called_so():
    world = hub("allow: publish, users: anonymous", "allow: consume, login: false")
    user, nobody = world.client(user=("anonymous", "own")), world.client()
    assert user.sender("q").attached
    assert not user.receiver("q").attached
    assert nobody.receiver("q").attached
    assert not nobody.sender("q").attached


def test_who_may_not_ask_about_a_node_does_not_hear_that_it_is_missing():
    client = hub("allow: publish, queue: known*").client()
    client.sender("known")
    assert client.refused() == "amqp:not-found"
    client.sender("unknown")
    assert client.refused() == UNAUTHORIZED
    client.receiver("unknown")
    assert client.refused() == UNAUTHORIZED


def test_who_may_not_connect_is_closed():
    world = Hub()
    world.settings.access.in_force.rules = OwnRules([])
    client = world.client()
    assert client.take(events.CloseReceived).error.condition == UNAUTHORIZED


def test_rules_that_change_detach_the_links_that_they_forbid():
    world = hub("allow: [publish, consume]", "allow: [bind, create]")
    client = world.client()
    sender, receiver = client.sender("q"), client.receiver("q")
    topic = client.receiver("amq.topic/a")
    world.settings.access.adopt(
        own_rules("allow: [publish, consume]"), "", world.world.bridge.turns.spread
    )
    client.step()
    assert (sender.attached, receiver.attached, topic.attached) == (True, True, False)
    assert client.refused() == UNAUTHORIZED
    world.settings.access.adopt(own_rules("allow: consume"), "", world.world.bridge.turns.spread)
    client.step()
    assert (sender.attached, receiver.attached) == (False, True)
    world.settings.access.adopt(own_rules(), "", world.world.bridge.turns.spread)
    client.step()
    assert not receiver.attached
    world.settings.access.adopt(OwnRules([]), "", world.world.bridge.turns.spread)
    client.step()
    assert client.take(events.CloseReceived).error.condition == UNAUTHORIZED
    world.end()


def test_a_qpidds_rules_ask_for_access_to_the_node_first():
    # By its name as either kind of node, since nobody knows yet what it is.
    queue, exchange = (f"acl allow user@realm access {kind} name=q" for kind in KINDS)
    others = ["acl allow all publish exchange", "acl deny all all"]
    assert qpidd(queue, exchange, *others).client(user=USER).sender("q").attached
    for client in (
        qpidd(queue, *others).client(user=USER),
        qpidd(exchange, *others).client(user=USER),
        qpidd(queue, exchange, *others).client(),
    ):
        assert not client.sender("q").attached
        assert client.refused() == UNAUTHORIZED
    client = qpidd(queue, *others).client(user=USER)
    assert client.sender("q", capabilities=["queue"]).attached


def test_a_qpidds_rules_are_asked_about_the_anonymous_terminus_and_what_comes_by_it():
    relay = "acl allow all access exchange name=ANONYMOUS-RELAY"
    others = ["acl allow all publish exchange", "acl deny all all"]
    client = qpidd(*others).client()
    assert not client.sender(None).attached
    assert client.refused() == UNAUTHORIZED
    to = message(properties=_spec.Properties(to="q"))
    client = qpidd(relay, *others).client()
    assert client.send(client.sender(None), to).error.condition == UNAUTHORIZED
    client = qpidd(relay, "acl allow all access queue name=q", *others).client()
    assert client.send(client.sender(None), to) == _spec.Accepted()


def test_without_a_line_about_publishing_a_qpidd_asks_about_queues_only():
    lines = ["acl allow all access all", "acl deny all all"]
    world = qpidd(*lines)
    client = world.client()
    assert client.sender("amq.topic").attached
    assert not client.sender("q").attached
    assert client.refused() == UNAUTHORIZED


def test_a_qpidds_rules_know_a_receiver_on_an_exchange_by_its_queue():
    world = qpidd(
        "acl allow all access all",
        "acl allow all bind exchange name=amq.topic routingkey=a.#",
        "acl allow all consume queue",
        "acl allow all create queue autodelete=true exclusive=true",
        "acl deny all all",
    )
    client = world.client()
    assert client.receiver("amq.topic/a.b").attached
    assert not client.receiver("amq.topic/b").attached
    assert client.refused() == UNAUTHORIZED


def test_a_quota_of_queues_counts_what_is_made_for_links():
    world = qpidd("quota queues 1 all", "acl allow all all")
    client = world.client()
    assert client.receiver("amq.topic/a").attached
    assert not client.receiver("amq.topic/a").attached
    assert client.refused() == UNAUTHORIZED


def test_a_bound_queue_that_others_made_is_consumed_without_asking_for_its_bindings():
    world = hub("allow: consume, queue: q")
    bind(world.world, "q", "amq.topic", "a")
    client = world.client()
    receiver = client.receiver("q")
    world.settings.access.adopt(
        own_rules("allow: consume, queue: q"), "", world.world.bridge.turns.spread
    )
    client.step()
    assert receiver.attached
