"""What does not cross is told once, of a delivery that was sent."""

from __future__ import annotations

from support.face_1_0 import Hub
from support.talk_0_10 import Gateway
from support.upstream_world import UpstreamWorld

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, sections, types
from gateway.amqp_1_0._spec import Source
from gateway.audit.schema import Kind
from gateway.message import Message
from gateway.translate.facts import (
    arrival_0_10,
    arrival_1_0,
    message_from_0_10,
    message_from_1_0,
)
from gateway.translate.profiles.profile import Profile
from gateway.translate.view import READER
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged


def text_value(world) -> Message:
    """A 1.0 message of which 0-10 cannot tell that its text was a value."""
    writer = Writer()
    sections.write_value(writer, Tagged(types.STRING, "text"))
    payload = writer.getvalue()
    return message_from_1_0(
        arrival_1_0(payload),
        payload,
        0,
        id=world.bridge.numbers.next_message(),
        exchange="",
        routing_key="q",
        now_ms=world.now_ms,
        publisher=1,
        reader=READER,
    )


def without_body(world, reply_to: ReplyTo | None = None) -> Message:
    """A 0-10 message of which 1.0 cannot tell that it has no body segment."""
    delivery = DeliveryProperties(routing_key="q")
    header = write_header(delivery, MessageProperties(reply_to=reply_to))
    return message_from_0_10(
        arrival_0_10(header, len(header)),
        header,
        len(header),
        id=world.bridge.numbers.next_message(),
        exchange="",
        now_ms=world.now_ms,
        publisher=1,
        times_in_ms=False,
        reader=READER,
    )


def told(world) -> int:
    """How many losses are in the audit log, once everything is in it."""
    world.turn()
    raw = world.blocks.raw()
    return len([each for each in raw if each["kind"] == Kind.TRANSLATED_WITH_LOSS])


def test_a_delivery_that_waits_for_byte_credit_has_its_losses_when_it_is_sent() -> None:
    gateway = Gateway()
    gateway.settings.escrow = False
    gateway.world.queue()
    gateway.world.host.publishing.publish(text_value(gateway.world), None, 0)
    client = gateway.session()
    client.subscribes(credit=None)
    client.flows(10)
    for _ in range(3):
        client.flows(1, unit=1)
        assert client.gets() == []
    assert (told(gateway.world), sum(gateway.settings.translated.lost)) == (0, 0)
    client.flows(0xFFFFFFFF, unit=1)
    assert client.gets() == [b"text"]
    assert (told(gateway.world), sum(gateway.settings.translated.lost)) == (1, 1)


def test_a_delivery_that_is_too_large_for_a_receiver_loses_nothing() -> None:
    hub = Hub(escrow=False)
    hub.world.queue()
    client = hub.client()
    hub.host.publishing.publish(without_body(hub.world), None, 0)
    session = client.session()
    link = session.attach("small", _spec.RECEIVER)
    link.max_message_size = 1
    link.send_attach(source=Source(address="q"), target=_spec.Target(address="here"))
    client.step()
    link.send_flow(credit=10)
    client.step()
    assert client.received() == []
    assert (told(hub.world), sum(hub.settings.translated.lost)) == (0, 0)
    client.receiver("q")
    assert len(client.received()) == 1
    assert (told(hub.world), sum(hub.settings.translated.lost)) == (1, 1)


def test_a_request_that_waits_for_its_reply_node_has_its_losses_when_it_is_sent() -> None:
    w = UpstreamWorld(profile=Profile(dynamic_nodes=True, escrow=False)).place("q")
    w.world.queue("answers")

    def prepare(broker):
        broker.answers[None] = lambda event: broker.accept(
            event, source=Source(address="reply", dynamic=True)
        )

    broker = w.connect(prepare=prepare)
    before = sum(w.faces.translated.lost)
    request = without_body(w.world, ReplyTo(exchange="", routing_key="answers"))
    w.host.publishing.publish(request, None, 0)
    w.step()
    (delivery,) = broker.received()
    assert b"reply" in delivery.payload
    assert (told(w.world), sum(w.faces.translated.lost) - before) == (1, 1)
