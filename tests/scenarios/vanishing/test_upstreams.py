"""A message that an upstream sends is in the books, whoever can take it."""

from support.books import NO_MESSAGE, books
from support.face_1_0 import message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.audit.schema import Kind, Reason


def test_what_an_upstream_sends_and_nobody_can_read_is_in_the_books():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    w.subscribe()
    broker.deliver("q", NO_MESSAGE)
    broker.deliver("q", NO_MESSAGE, settled=True)
    w.step()
    assert books(w.world) == (2, [Reason.UNDECODABLE] * 2)
    received = [each for each in w.world.blocks.records() if each.kind == Kind.RECEIVED]
    assert {each.exchange for each in received} == {"upstream broker"}


def test_what_an_upstream_sends_to_a_client_that_has_left_is_in_the_books():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    _, subscription = w.subscribe()
    link = broker.link("q")
    subscription.cancel()
    link.send_delivery(b"late", b"", message(), settled=False)
    w.step()
    assert broker.states() == [_spec.Released()]
    assert books(w.world) == (1, [Reason.CANCELLED])
