"""What comes by a connection to an upstream, told to those whom it concerns."""

from support.bridge_world import Producer
from support.face_1_0 import message
from support.frames_1_0 import octets_of
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.wire.limits import Limits


def test_what_waits_for_the_session_window_goes_on_when_it_opens():
    w = UpstreamWorld().place("q")
    broker = w.connect(limits=Limits(session_window=4))
    producer = Producer()
    w.publish(*[b"%d" % number for number in range(30)], publisher=producer)
    received = broker.received()
    assert len(received) == 30
    for delivery in received:
        broker.settle(delivery)
    w.step()
    assert [token for token, _ in producer.published] == list(range(1, 31))


def test_a_session_whose_rules_the_upstream_breaks_ends_alone_and_its_links_come_back():
    w = UpstreamWorld().place("q", "r")
    broker = w.connect()
    first, _ = w.subscribe("q")
    second, _ = w.subscribe("r")
    channel = broker.link("q").session.channel_out
    w.face.receive_data(octets_of(_spec.Transfer(handle=77), channel=channel), w.now_ms)
    w.step()
    assert broker.links("q", sends=True) == []
    assert broker.link("r").attached
    w.pass_time(60_000)
    broker.deliver("q", message(b"one"))
    broker.deliver("r", message(b"two"))
    w.step()
    assert (len(first.deliveries), len(second.deliveries)) == (1, 1)
