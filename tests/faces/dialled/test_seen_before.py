"""What comes again from an upstream is marked, whoever had it and whatever the upstream says."""

from support.face_1_0 import body_of, message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.faces.dialled import seen_before
from gateway.faces.dialled.seen_before import SeenBefore
from gateway.message import ACCEPTED


def world():
    return UpstreamWorld().place("q")


def counts(consumer):
    return [
        (body_of(delivery.message.payload), delivery.delivery_count)
        for delivery in consumer.deliveries
    ]


def test_what_was_unsettled_when_the_connection_was_lost_is_marked_when_it_comes_again():
    w = world()
    consumer, _ = w.subscribe()
    w.connect().deliver("q", message(b"m"))
    w.step()
    w.lose()
    broker = w.connect()
    broker.deliver("q", message(b"m"))
    broker.deliver("q", message(b"new"))
    w.step()
    assert counts(consumer) == [(b"m", 0), (b"m", 1), (b"new", 0)]


def test_so_is_what_was_settled_since_the_upstream_may_not_have_heard_of_it():
    w = world()
    consumer, _ = w.subscribe()
    w.connect().deliver("q", message(b"m"))
    w.step()
    w.settle(consumer.deliveries[0], ACCEPTED)
    w.lose()
    w.connect().deliver("q", message(b"m"))
    w.step()
    assert counts(consumer) == [(b"m", 0), (b"m", 1)]


def test_it_is_known_by_whichever_link_it_comes():
    w = world()
    first, subscription = w.subscribe()
    w.connect().deliver("q", message(b"m"))
    w.step()
    w.lose()
    subscription.cancel()
    second, _ = w.subscribe()
    w.connect().deliver("q", message(b"m"))
    w.step()
    assert counts(second) == [(b"m", 1)]
    assert len(first.deliveries) == 1


def test_it_is_marked_once_for_each_time_that_it_was_here():
    w = world()
    consumer, _ = w.subscribe()
    broker = w.connect()
    broker.deliver("q", message(b"alike"))
    broker.deliver("q", message(b"alike"))
    w.step()
    w.lose()
    broker = w.connect()
    for _ in range(3):
        broker.deliver("q", message(b"alike"))
    w.step()
    assert [count for _, count in counts(consumer)] == [0, 0, 1, 1, 0]


def test_what_a_browser_saw_is_no_sign_of_anything():
    w = world()
    consumer, _ = w.subscribe(acquire=False)
    broker = w.connect()
    broker.deliver("q", message(b"m"))
    w.step()
    w.lose()
    w.connect().deliver("q", message(b"m"))
    w.step()
    assert counts(consumer) == [(b"m", 0), (b"m", 0)]
    assert len(w.upstream.context.seen_before) == 0


def test_a_count_of_the_upstream_is_left_as_it_is():
    w = world()
    consumer, _ = w.subscribe()
    header = _spec.Header(delivery_count=4)
    w.connect().deliver("q", message(b"m", header=header))
    w.step()
    w.lose()
    w.connect().deliver("q", message(b"m", header=header))
    w.step()
    assert [count for _, count in counts(consumer)] == [4, 4]


def test_the_oldest_is_forgotten_when_there_are_too_many():
    seen = SeenBefore()
    for digest in range(seen_before.SEEN_MAX + 1):
        seen.add(digest)
    assert len(seen) == seen_before.SEEN_MAX
    assert not seen.take(0)
    assert seen.take(1)
    assert not seen.take(1)
