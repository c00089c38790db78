"""Lookers walk their queue by cursors of their own, and look back."""

from support.bridge_world import World
from support.rules import rule
from support.work import units_of

from gateway.message import (
    ACCEPTED,
    RELEASED,
    Message,
    Outcome,
    OutcomeKind,
)
from gateway.wire.work import SHARE, VERB

ELSEWHERE = Outcome(OutcomeKind.MODIFIED, undeliverable_here=True)


class Begins:
    """A `Filter` by the first octet."""

    octets = 0

    def __init__(self, octet: bytes) -> None:
        self.octet = octet

    def accepts(self, message: Message) -> bool:
        return message.payload.startswith(self.octet)


@rule("1.0", "3.5.1", "filters-hold")
def test_a_filter_passes_over_what_it_does_not_want_and_looks_back_at_what_is_returned() -> None:
    world = World()
    world.queue()
    world.send(b"a1", b"b1", b"a2", b"b2")
    wants_b, _ = world.subscribe(filter=Begins(b"b"))
    world.turn()
    assert wants_b.bodies() == [b"b1", b"b2"]
    rest, rest_subscription = world.subscribe()
    world.turn()
    assert rest.bodies() == [b"a1", b"a2"]
    rest_subscription.stop()
    world.host.settlement.settle(wants_b.take()[0], RELEASED)
    world.turn()
    assert wants_b.bodies() == [b"b1"]
    world.check()


def test_a_consumer_that_has_gone_past_an_excluded_copy_still_gets_it() -> None:
    world = World()
    world.queue()
    first, _ = world.subscribe(credit=1)
    second, _ = world.subscribe(credit=2)
    world.send(b"1", b"2")
    world.turn()
    assert (first.bodies(), second.bodies()) == ([b"1"], [b"2"])
    world.host.settlement.settle(first.take()[0], ELSEWHERE)
    world.turn()
    assert second.bodies() == [b"2", b"1"]
    world.check()


def test_a_copy_that_comes_back_over_and_over_is_remembered_once() -> None:
    world = World()
    world.queue()
    world.send(b"1", ttl_ms=1_000_000)
    browser, looking = world.subscribe(acquire=False)
    world.turn()
    looking.grant(0, 0)
    consumer, _ = world.subscribe()
    for _ in range(500):
        world.turn()
        [delivery] = consumer.take()
        world.host.settlement.settle(delivery, RELEASED)
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert len(looking.walks[0].revisit) < 100
    assert len(queue.expiring._heap) < 100
    world.turn()
    assert len(browser.deliveries) == 1
    [delivery] = consumer.take()
    world.host.settlement.settle(delivery, ACCEPTED)
    world.check()


def test_lookers_that_find_nothing_are_asked_in_several_turns() -> None:
    world = World()
    world.queue()
    one = Begins(b"1")
    for _ in range(1000):
        world.subscribe(filter=Begins(b"x"))
    last, _ = world.subscribe(filter=one)
    for _ in range(100):
        world.send(b"1")
    units = units_of(lambda: world.bridge.end_turn(world.now_ms))
    assert units <= SHARE + VERB
    world.turn()
    assert len(last.deliveries) == 100
