"""Temporary nodes of 1.0 clients: anybody may send to them, their own connection receives."""

import pytest
from support import talk_0_10
from support.face_1_0 import Hub, body_of, message

from gateway.amqp_0_10 import _spec as old
from gateway.amqp_1_0 import _spec, events, types
from gateway.wire.tagged import Tagged

ACCEPTED = _spec.Accepted()


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.end()


def made(client, kind="queue", policy=_spec.DELETE_ON_CLOSE):
    """The link by which a client had a temporary node made, as JMS clients do, and its address."""
    described = types.Described(Tagged(types.ULONG, policy), Tagged(types.LIST, []))
    asked = _spec.Target(
        dynamic=True,
        capabilities=[f"temporary-{kind}"],
        dynamic_node_properties={"lifetime-policy": Tagged(types.DESCRIBED, described)},
    )
    link = client.attach(_spec.SENDER, target=asked)
    return link, link.attach.target.address


@pytest.mark.parametrize("mode", [_spec.DISTRIBUTION_MOVE, _spec.DISTRIBUTION_COPY])
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_a_temporary_node_serves_consumers_of_its_own_connection_only(hub, kind, mode):
    one, two = hub.client(), hub.client("another")
    _, address = made(one, kind)
    one.receiver(address)  # in a session of its own
    two.receiver(address, distribution_mode=mode)
    assert two.refused() == "amqp:resource-locked"
    assert two.send(two.sender(address), message(b"reply")) == ACCEPTED
    assert [body_of(payload) for payload in one.received()] == [b"reply"]


def test_the_node_of_a_dynamic_source_serves_its_own_connection_only(hub):
    one, two = hub.client(), hub.client("another")
    link = one.attach(_spec.RECEIVER, source=_spec.Source(dynamic=True))
    two.receiver(link.attach.source.address)
    assert two.refused() == "amqp:resource-locked"
    assert one.receiver(link.attach.source.address).attached


@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_clients_of_0_10_send_to_a_temporary_node_and_do_not_receive(hub, kind):
    gateway = talk_0_10.Gateway(world=hub.world)
    gateway.connections = 1000
    client = hub.client()
    _, address = made(client, kind)
    client.receiver(address)
    other = gateway.session()
    exchange, key = ("", address) if kind == "queue" else (address, "")
    other.publishes(b"reply", to=exchange, key=key)
    assert other.hears()
    client.step()
    assert len(client.received()) == 1
    own = old.QueueDeclare(queue="own", exclusive=True, auto_delete=True)
    commands = {
        "queue": [old.MessageSubscribe(queue=address, destination="d")],
        "topic": [own, old.ExchangeBind(queue="own", exchange=address, binding_key="")],
    }
    heard = other.does(*commands[kind])
    assert [each[0] for each in heard if isinstance(each, tuple)] == [405]


def test_a_node_that_outlives_the_link_that_made_it_serves_everybody(hub):
    one, two = hub.client(), hub.client("another")
    link, address = made(one, policy=_spec.DELETE_ON_NO_MESSAGES)
    one.send(link, message(b"left behind"))
    two.receiver(address)
    assert two.refused() == "amqp:resource-locked"
    one.face.receive_eof(hub.world.now_ms)
    receiver = two.receiver(address)
    event = two.take(events.DeliveryReceived)
    assert body_of(event.payload) == b"left behind"
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    two.step()
    assert hub.host.topology.find_queue(address) is None
