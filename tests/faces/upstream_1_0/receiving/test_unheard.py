"""What was settled on a link that we detached is marked, unless the upstream has heard of it."""

from collections import deque

import pytest
from support.face_1_0 import body_of, message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, types
from gateway.faces.dialled.location import Location
from gateway.message import ACCEPTED, Refusal
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

FORCED = _spec.Error(condition="amqp:link:detach-forced")
PEERS = {
    "a session of its own": {},
    "one session for all": {"limits": Limits(channel_max=0)},
}


def last_one(connect=UpstreamWorld.connect, **peer):
    """A world, its container, and the last delivery to a client that has left."""
    w = UpstreamWorld().place("q")
    consumer, subscription = w.subscribe()
    broker = connect(w, **peer)
    broker.deliver("q", message(b"m"))
    w.step()
    subscription.cancel()
    w.step()
    return w, broker, consumer.deliveries[0]


def settle(w, delivery):
    """The client's outcome; nothing of it has been written when this returns."""
    assert w.host.settlement.settle(delivery, ACCEPTED)
    w.world.turn()


def comes_again(w):
    """How often the message was delivered before, as another client hears."""
    consumer, subscription = w.subscribe()
    w.broker.deliver("q", message(b"m"))
    w.step()
    (delivery,) = consumer.deliveries
    assert body_of(delivery.message.payload) == b"m"
    w.settle(delivery, ACCEPTED)
    subscription.cancel()
    w.step()
    assert len(w.upstream.context.unheard) == 0
    return delivery.delivery_count


@pytest.fixture(params=PEERS.values(), ids=PEERS)
def peer(request):
    return request.param


def test_a_connection_that_is_lost_before_the_detach_was_answered_leaves_it_unheard(peer):
    w, _, delivery = last_one(**peer)
    settle(w, delivery)
    assert len(w.upstream.context.unheard) == 1
    w.lose()
    w.connect(**peer)
    assert comes_again(w) == 1
    assert comes_again(w) == 0


def test_so_does_one_that_is_lost_on_the_way_of_the_answer(peer):
    w, broker, delivery = last_one(**peer)
    settle(w, delivery)
    broker.receive(w.face.data_to_send(), w.now_ms)
    w.lose()
    w.connect(**peer)
    assert comes_again(w) == 1


def test_what_the_answer_to_the_detach_says_was_heard_is_not_marked(peer):
    w, _, delivery = last_one(**peer)
    settle(w, delivery)
    w.step()
    assert len(w.upstream.context.unheard) == 0
    assert comes_again(w) == 0
    w.lose()
    w.connect(**peer)
    assert comes_again(w) == 0


def test_nor_is_it_when_another_link_goes_on_in_the_session():
    w = UpstreamWorld().place("q", "r")
    w.connect(limits=Limits(channel_max=0))
    w.subscribe("r")
    consumer, subscription = w.subscribe()
    w.broker.deliver("q", message(b"m"))
    w.step()
    subscription.cancel()
    w.settle(consumer.deliveries[0], ACCEPTED)
    assert len(w.upstream.context.unheard) == 0
    w.lose()
    w.connect()
    assert comes_again(w) == 0


def test_a_detach_with_an_error_is_no_answer(peer):
    w, broker, delivery = last_one(**peer)
    settle(w, delivery)
    broker.link("q").send_detach(error=FORCED)
    w.step()
    assert comes_again(w) == 1


def test_nor_is_an_end_with_one(peer):
    w, broker, delivery = last_one(**peer)
    settle(w, delivery)
    broker.link("q").session.send_end(error=FORCED)
    w.step()
    assert comes_again(w) == 1


@pytest.mark.parametrize("error", [None, FORCED])
def test_nor_is_a_close_of_the_peer(error):
    w, broker, delivery = last_one()
    settle(w, delivery)
    broker.connection.send_close(error=error)
    w.step()
    w.lose()
    w.connect()
    assert comes_again(w) == 1


def test_nor_is_what_breaks_a_rule():
    w, _, delivery = last_one()
    settle(w, delivery)
    w.face.receive_data(b"\x00\x00\x00\x01\x00\x00\x00\x00", w.now_ms)
    w.world.turn()
    w.lose()
    w.connect()
    assert comes_again(w) == 1


def test_an_end_that_the_peer_begins_is_none_either():
    """Where it had not read our detach: the session was shared, and goes on without it."""
    w = UpstreamWorld().place("q", "r")
    broker = w.connect(limits=Limits(channel_max=0))
    w.subscribe("r")
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"m"))
    w.step()
    subscription.cancel()
    w.step()
    settle(w, consumer.deliveries[0])
    broker.link("q").session.send_end()
    w.step()
    w.pass_time(5_000)
    assert comes_again(w) == 1


def test_a_session_that_we_end_for_an_error_leaves_it_unheard():
    w = UpstreamWorld().place("q", "r")
    broker = w.connect(limits=Limits(channel_max=0))
    w.subscribe("r")
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"m"))
    w.step()
    subscription.cancel()
    w.step()
    session = broker.link("q").session
    settle(w, consumer.deliveries[0])
    session.write(_spec.Detach(handle=77, closed=True))
    w.step()
    w.pass_time(5_000)
    assert comes_again(w) == 1


def test_a_link_that_the_peer_has_detached_already_is_not_answered():
    w, broker, delivery = last_one()
    link = broker.link("q")
    settle(w, delivery)
    assert len(w.upstream.context.unheard) == 1
    link.session.send_end(error=FORCED)
    w.step()
    w.upstream.context.unheard.keep(link, deque([7]))
    assert len(w.upstream.context.unheard) == 0
    assert w.upstream.context.seen_before.take(7)


def test_what_a_browser_saw_is_not_kept():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    consumer, subscription = w.subscribe(acquire=False)
    broker.deliver("q", message(b"m"))
    w.step()
    subscription.cancel()
    w.step()
    settle(w, consumer.deliveries[0])
    assert len(w.upstream.context.unheard) == 0
    w.lose()
    assert len(w.upstream.context.seen_before) == 0


@pytest.mark.parametrize("answered", [False, True])
def test_the_subscription_of_a_binding_that_is_gone_is_like_any_link(answered):
    w = UpstreamWorld(
        profile=Profile(exchange=Template("{exchange|plain}/{key}"), subscriptions="address")
    ).place(exchange="x")
    assert not isinstance(w.host.declaring.declare_exchange("x", "direct"), Refusal)
    w.world.queue("here")
    assert w.host.bindings.bind("here", "x", "k", {}, b"") is None
    broker = w.connect()
    broker.deliver("x/k", message(b"m"))
    w.step()
    w.host.bindings.unbind("here", "x", "k")
    w.world.turn()
    assert len(w.upstream.context.unheard) == 1
    if answered:
        w.step()
    w.lose()
    assert len(w.upstream.context.unheard) == 0
    assert len(w.upstream.context.seen_before) == (not answered)


def redirected(w):
    """The container to which the receivers of q are redirected."""
    info = {"network-host": Tagged(types.STRING, "b.example")}
    error = _spec.Error(condition="amqp:link:redirect", info=info)

    def prepare(broker):
        def answer(event):
            if event.attach.role == _spec.RECEIVER:
                event.link.refuse(error)
            else:
                broker.accept(event)

        broker.answers["q"] = answer

    location = Location(network_host="a.example", port=5672, hostname="a.example")
    w.connect(location=location, prepare=prepare)
    return w.roads.open()


@pytest.mark.parametrize("answered", [False, True])
def test_a_detour_that_closes_with_its_last_link_is_answered_by_a_close(answered):
    w, broker, delivery = last_one(redirected)
    settle(w, delivery)
    octets = w.roads.faces["b.example"].data_to_send()
    assert w.roads.hung_up == ["b.example"]
    assert len(w.upstream.context.unheard) == 1
    if answered:
        broker.receive(octets, w.now_ms)
        w.step()
        assert len(w.upstream.context.unheard) == 0
    w.roads.lose("b.example")
    assert len(w.upstream.context.unheard) == 0
    assert len(w.upstream.context.seen_before) == (not answered)


def test_the_oldest_session_is_taken_to_be_unheard_when_there_are_too_many():
    w = UpstreamWorld().place("q", "r")
    w.upstream.context.unheard.most = 1
    broker = w.connect()
    last = []
    for queue in ("q", "r"):
        consumer, subscription = w.subscribe(queue)
        broker.deliver(queue, message(queue.encode()))
        w.step()
        subscription.cancel()
        w.step()
        last += consumer.deliveries
    for delivery in last:
        settle(w, delivery)
    context = w.upstream.context
    assert (len(context.unheard), len(context.seen_before)) == (1, 1)
    w.step()
    assert (len(context.unheard), len(context.seen_before)) == (0, 1)
