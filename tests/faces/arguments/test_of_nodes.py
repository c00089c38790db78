"""What a client of 1.0 may want a dynamic node to be, and what it is told of that."""

import pytest
from support.face_1_0 import Hub, body_of, message

from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.faces.arguments.of_nodes import NodeWish, policy_properties, wish_of
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged

CLOSE = policy_properties(_spec.DELETE_ON_CLOSE)


def text(value: str) -> Tagged:
    return Tagged(types.STRING, value)


def number(value: int) -> Tagged:
    return Tagged(types.UINT, value)


def symbol(value: str) -> Tagged:
    return Tagged(types.SYMBOL, value)


RING: Fields = {"qpid.policy_type": text("ring"), "qpid.max_count": number(2)}


def wish(properties: Fields, *, topic: bool = False) -> NodeWish:
    found = wish_of(properties, topic=topic)
    assert isinstance(found, NodeWish), found
    return found


def why(properties: Fields, *, topic: bool = False) -> str:
    found = wish_of(properties, topic=topic)
    assert isinstance(found, Refusal)
    assert found.condition == Condition.INVALID_ARGUMENT
    return found.description


def test_arguments_of_a_queue_are_as_in_0_10_and_told_as_they_came() -> None:
    found = wish(RING)
    assert found.settings.discipline == Discipline(policy=Policy.RING)
    assert found.settings.max_count == 2
    assert found.settings.arguments
    assert found.in_place(RING) == CLOSE | RING


def test_what_has_no_effect_is_not_told() -> None:
    given = RING | {"x-own": number(1), "durable": Tagged(types.BOOLEAN, True)}
    given |= {"compound": Tagged(types.DESCRIBED, types.Described(symbol("d"), number(1)))}
    given |= {"n" * 256: number(1), "exchange-type": text("topic")}
    found = wish(given)
    assert sorted(found.ignored) == ["compound", "durable", "n" * 256, "x-own"]
    assert found.in_place(given) == CLOSE | RING


def test_the_modes_of_a_queue_are_to_move_and_of_an_exchange_to_copy() -> None:
    asked = {"supported-dist-modes": Tagged(types.LIST, [symbol("move"), symbol("copy")])}
    assert wish(asked).in_place(asked) == CLOSE | {"supported-dist-modes": symbol("move")}
    topic = wish(asked, topic=True)
    assert topic.in_place(asked) == CLOSE | {"supported-dist-modes": symbol("copy")}


def test_an_exchange_may_have_another_type_and_number_what_comes() -> None:
    given = {"exchange-type": text("topic"), "qpid.msg_sequence": Tagged(types.BOOLEAN, True)}
    found = wish(given, topic=True)
    assert (found.type, found.marks.numbers, found.marks.remembers) == ("topic", True, False)
    assert found.in_place(given) == CLOSE | given
    assert why({"exchange-type": text("xml")}, topic=True).startswith("exchange-type is none of")


def test_what_a_queue_cannot_be_is_refused_as_in_0_10() -> None:
    assert why({"qpid.max_count": number(1), "qpid.flow_stop_count": number(9)}).startswith(
        "qpid.flow_stop_count 9 is above"
    )
    assert why({"alternate-exchange": number(1)}) == "alternate-exchange is no text"


def receiver(hub: Hub, properties: Fields, **more: object):
    client = hub.client()
    source = _spec.Source(dynamic=True, dynamic_node_properties=properties, **more)
    return client, client.attach(_spec.RECEIVER, source=source)


def test_a_dynamic_queue_is_what_was_asked_for_and_its_client_is_told() -> None:
    hub = Hub()
    hub.world.queue("other")
    hub.host.bindings.bind("other", "amq.fanout", "", {}, b"")
    given = RING | {"alternate-exchange": text("amq.fanout"), "x-own": number(1)}
    client, link = receiver(hub, given)
    del given["x-own"]
    assert link.attach.source.dynamic_node_properties == CLOSE | given
    sender = client.sender(link.attach.source.address)
    for body in (b"1", b"2", b"3"):
        assert client.send(sender, message(body)) == _spec.Accepted()
    assert hub.world.depth("other") == 1
    link.send_flow(credit=5)
    client.step()
    assert [body_of(payload) for payload in client.received()] == [b"2", b"3"]
    link.send_detach()
    client.step()
    assert set(hub.host.topology.queues) == {"other"}


def test_a_dynamic_queue_that_cannot_be_is_refused_and_not_made() -> None:
    hub = Hub()
    client, link = receiver(hub, {"qpid.priorities": text("many")})
    assert not link.attached
    assert client.refused() == "amqp:invalid-field"
    client, _ = receiver(hub, {"alternate-exchange": text("nowhere")})
    assert client.refused() == "amqp:not-found"
    assert hub.host.topology.queues == {}


@pytest.mark.parametrize("ends", ["link", "session"])
def test_an_exclusive_dynamic_queue_is_its_sessions_and_goes_with_its_link(ends: str) -> None:
    hub = Hub()
    client, link = receiver(hub, {"exclusive": Tagged(types.BOOLEAN, True)})
    address = link.attach.source.address
    assert hub.host.topology.queues[address].owner is not None
    if ends == "link":
        link.send_detach()
    else:
        link.session.send_end()
    client.step()
    hub.world.turn()
    assert address not in hub.host.topology.queues
