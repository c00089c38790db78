"""What the audit log says of bodies as they leave, by each way through the gateway."""

import pytest
from support.bridge_world import Session
from support.face_1_0 import Hub, message
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import sections, types
from gateway.audit.schema import Flag, Kind
from gateway.bridge.seams import QueueSettings
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

PROTOCOLS = ("0-10", "1.0")
BODY = b"a body"


class Ways:
    """One queue, with clients of both protocols."""

    def __init__(self):
        self.hub = Hub()
        self.gateway = Gateway()
        self.gateway.world = self.hub.world
        self.hub.host.declaring.declare_queue("q", QueueSettings(), Session(1))

    def publish(self, protocol):
        if protocol == "1.0":
            client = self.hub.client("publisher")
            client.send(client.sender("q"), message(BODY))
        else:
            client = self.gateway.session()
            client.publishes(BODY, key="q")
            client.hears()

    def consume(self, protocol):
        if protocol == "1.0":
            self.hub.client("consumer").receiver("q")
        else:
            client = self.gateway.session()
            client.subscribes(accept=1)
            client.gets()

    def records(self, kind):
        return [one for one in self.hub.world.blocks.records() if one.kind == kind]


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_a_body_leaves_with_the_digest_that_it_came_with(source, target):
    ways = Ways()
    ways.publish(source)
    ways.consume(target)
    (received,) = ways.records(Kind.RECEIVED)
    (sent,) = ways.records(Kind.SENT)
    assert sent.body_digest == received.body_digest != 0
    assert not sent.flags & Flag.TRANSLATED


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_an_octet_that_changes_in_the_gateway_shows_in_the_digest(source, target):
    ways = Ways()
    ways.publish(source)
    entry = ways.hub.host.topology.find_queue("q").places.next_at(0)
    entry.message.payload = entry.message.payload.replace(BODY, b"A body")
    ways.consume(target)
    (received,) = ways.records(Kind.RECEIVED)
    (sent,) = ways.records(Kind.SENT)
    assert sent.body_digest not in (0, received.body_digest)
    assert not sent.flags & Flag.TRANSLATED


@pytest.mark.parametrize(("target", "flags"), [("1.0", 0), ("0-10", Flag.TRANSLATED)])
def test_a_body_that_the_mapping_changes_is_marked(target, flags):
    ways = Ways()
    writer = Writer()
    sections.write_value(writer, Tagged(types.MAP, []))
    client = ways.hub.client("publisher")
    client.send(client.sender("q"), writer.getvalue())
    ways.consume(target)
    (sent,) = ways.records(Kind.SENT)
    assert sent.flags & Flag.TRANSLATED == flags
    assert sent.body_digest != 0


def test_a_browsed_delivery_that_is_acquired_keeps_its_digest():
    ways = Ways()
    ways.publish("0-10")
    client = ways.gateway.session()
    client.subscribes(acquire=1)
    client.gets()
    client.does(spec.MessageAcquire(transfers=[(0, 0)]))
    ways.hub.world.turn()
    browsed, acquired = ways.records(Kind.SENT)
    assert browsed.body_digest == acquired.body_digest != 0
