"""Clients of qpid::messaging have nodes made by their names, and are told what those are."""

import pytest
from support.face_1_0 import Hub, body_of, message
from support.own_rules import own_rules

from gateway.amqp_1_0 import _spec, types
from gateway.bridge.queues.discipline import Life, Policy
from gateway.faces.arguments.of_nodes import policy_properties
from gateway.wire.tagged import Tagged

ON_DEMAND = "create-on-demand"
# The C++ client says it as a text, and wants that back.
COPY = {"supported-dist-modes": Tagged(types.STRING, "copy")}
MOVE = {"supported-dist-modes": Tagged(types.STRING, "move")}


def text(value):
    return Tagged(types.STRING, value)


def boolean(value):
    return Tagged(types.BOOLEAN, value)


def asking(role, address, properties=None, *more):
    given = {
        "address": address,
        "dynamic_node_properties": properties,
        "capabilities": [ON_DEMAND, *more],
    }
    if role == _spec.SENDER:
        return {"target": _spec.Target(**given)}
    return {"source": _spec.Source(**given)}


def answer(link, role):
    return link.attach.target if role == _spec.SENDER else link.attach.source


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.end()


def queue(hub, name):
    return hub.world.bridge.default_host.topology.find_queue(name)


def exchange(hub, name):
    return hub.world.bridge.default_host.topology.find_exchange(name)


ROLES = pytest.mark.parametrize("role", [_spec.SENDER, _spec.RECEIVER])


@ROLES
def test_a_queue_is_made_and_stays(hub, role):
    client = hub.client()
    link = client.attach(role, **asking(role, "new"))
    assert answer(link, role).address == "new"
    assert answer(link, role).capabilities == [ON_DEMAND]
    link.send_detach(closed=True)
    hub.step()
    settings = queue(hub, "new").settings
    assert (settings.durable, settings.auto_delete, settings.exclusive) == (False, False, False)
    other = hub.client()
    assert other.send(other.sender("new"), message(b"x")) == _spec.Accepted()
    other.receiver("new")
    assert [body_of(each) for each in other.received()] == [b"x"]


@ROLES
def test_a_topic_is_an_exchange_of_type_topic_or_as_it_says(hub, role):
    client = hub.client()
    client.attach(role, **asking(role, "first", None, "topic"))
    wanted = {"exchange-type": text("fanout"), "durable": boolean(True)} | COPY
    link = client.attach(role, name="two", **asking(role, "second", wanted, "topic"))
    assert exchange(hub, "first").type == "topic"
    assert (exchange(hub, "second").type, exchange(hub, "second").durable) == ("fanout", True)
    assert answer(link, role).dynamic_node_properties == wanted


@ROLES
def test_it_is_as_its_properties_say_and_the_client_is_told_so(hub, role):
    wanted = {
        "durable": boolean(True),
        "auto-delete": boolean(True),
        "qpid.max_count": Tagged(types.LONG, 2),
        "qpid.policy_type": text("ring"),
        **MOVE,
    }
    link = hub.client().attach(role, **asking(role, "new", wanted, "durable"))
    settings = queue(hub, "new").settings
    assert (settings.durable, settings.auto_delete, settings.life) == (True, True, Life.UNUSED)
    assert (settings.max_count, settings.discipline.policy) == (2, Policy.RING)
    assert answer(link, role).dynamic_node_properties == wanted
    assert answer(link, role).capabilities == [ON_DEMAND, "durable"]


@pytest.mark.parametrize(
    ("policy", "life"),
    [
        (_spec.DELETE_ON_CLOSE, Life.CLOSED),
        (_spec.DELETE_ON_NO_LINKS, Life.UNUSED),
        (_spec.DELETE_ON_NO_LINKS_OR_MESSAGES, Life.UNUSED_AND_EMPTY),
    ],
)
def test_a_lifetime_policy_is_that_of_its_queue(hub, policy, life):
    wanted = policy_properties(policy)
    link = hub.client().attach(_spec.RECEIVER, **asking(_spec.RECEIVER, "new", wanted))
    settings = queue(hub, "new").settings
    assert (settings.auto_delete, settings.life) == (True, life)
    assert link.attach.source.dynamic_node_properties == wanted
    link.send_detach(closed=True)
    hub.step()
    assert queue(hub, "new") is None


def test_a_policy_that_no_queue_has_is_counted_and_not_told(hub):
    wanted = policy_properties(_spec.DELETE_ON_NO_MESSAGES)
    link = hub.client().attach(_spec.SENDER, **asking(_spec.SENDER, "new", wanted))
    assert not link.attach.target.dynamic_node_properties
    assert not queue(hub, "new").settings.auto_delete
    assert hub.settings.counts.arguments_ignored == 1


@ROLES
def test_what_is_there_stays_as_it_is_and_is_told(hub, role):
    there = {"durable": boolean(False), "qpid.max_count": Tagged(types.UINT, 5)}
    client = hub.client()
    client.attach(role, **asking(role, "q", there))
    wanted = {"durable": boolean(True), "qpid.max_count": Tagged(types.LONG, 5)}
    wanted |= {"qpid.max_size": Tagged(types.LONG, 5)}
    link = client.attach(role, name="two", **asking(role, "q", wanted, "durable"))
    told = {"durable": boolean(False), "qpid.max_count": Tagged(types.LONG, 5)}
    assert answer(link, role).dynamic_node_properties == told
    assert answer(link, role).capabilities == [ON_DEMAND]
    assert (queue(hub, "q").settings.durable, queue(hub, "q").settings.max_size) == (False, 0)


@ROLES
def test_what_cannot_be_is_refused(hub, role):
    client = hub.client()
    wanted = {"qpid.policy_type": text("none"), "qpid.max_count": text("many")}
    client.attach(role, **asking(role, "new", wanted))
    assert client.refused() == "amqp:invalid-field"
    client.attach(role, name="two", **asking(role, "amq.mine", None, "topic"))
    assert client.refused() == "amqp:not-allowed"
    assert queue(hub, "new") is None


@ROLES
def test_who_may_not_make_a_queue_does_not(role):
    hub = Hub()
    hub.world.queue("q")
    hub.settings.access.in_force.rules = own_rules("allow: [publish, consume], queue: '*'")
    client = hub.client()
    client.attach(role, **asking(role, "new"))
    assert client.refused() == "amqp:unauthorized-access"
    assert queue(hub, "new") is None
    link = client.attach(role, name="two", **asking(role, "q"))
    assert answer(link, role).address == "q"
    hub.end()


def test_without_the_capability_nothing_is_made(hub):
    client = hub.client()
    source = _spec.Source(address="new", dynamic_node_properties={"durable": boolean(True)})
    client.attach(_spec.RECEIVER, source=source)
    assert client.refused() == "amqp:not-found"
