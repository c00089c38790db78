"""Of what is to be sent, a turn does a bounded part."""

from support.bridge_world import Consumer, World
from support.work import units_of

from gateway.bridge.limits import BridgeLimits
from gateway.message import (
    Kind,
)
from gateway.selectors.selector import Selector, read_selector
from gateway.wire.tagged import Tagged
from gateway.wire.work import OCTETS_SENT, OFFERED, SENDING, SHARE, SLICE, VERB


def test_expired_messages_that_a_turn_finds_cost_its_budget() -> None:
    world = World(limits=BridgeLimits(turn_deliveries=10))
    world.queue()
    for _ in range(25):
        world.send(b"old", ttl_ms=1)
    world.send(b"new")
    world.turn()
    consumer, _ = world.subscribe()
    world.now_ms += 100
    depths = []
    while world.bridge.end_turn(world.now_ms):
        depths.append(world.depth())
    assert depths == [16, 6]
    assert consumer.bodies() == [b"new"]
    world.check()


def test_selectors_that_look_at_much_are_asked_in_several_turns() -> None:
    world = World()
    world.queue()
    selector = read_selector("a LIKE '%x%'")
    assert isinstance(selector, Selector)
    consumers = [world.subscribe(filter=selector)[0] for _ in range(50)]
    headers = {"a": Tagged(Kind.STRING, "a" * 1_000_000)}
    for _ in range(2):
        world.host.publishing.publish(world.message(key="q", headers=headers), None, 0)
    turns = 0
    more = True
    while more:
        more = False

        def turn() -> None:
            nonlocal more
            more = world.bridge.end_turn(world.now_ms)

        assert units_of(turn) <= SHARE + VERB
        turns += 1
    assert turns >= 50 * 2 * (1_000_000 // 16) // SHARE // 2
    assert world.bridge.who() == "queue 'q', which has 50 subscriptions"
    world.host.publishing.publish(
        world.message(key="q", headers={"a": Tagged(Kind.STRING, "x")}), None, 0
    )
    world.turn()
    assert sum(len(consumer.deliveries) for consumer in consumers) == 1


def test_a_turn_of_deliveries_is_cut_by_octets_as_well_as_by_number() -> None:
    world = World()
    world.queue()
    body = bytes(200_000)
    for _ in range(40):
        world.send(body)
    consumer, _ = world.subscribe()
    sent = []
    more = True
    while more:
        before = len(consumer.deliveries)
        more = world.bridge.end_turn(world.now_ms)
        sent.append(len(consumer.deliveries) - before)
    assert sum(sent) == 40
    assert max(sent) <= SHARE * OCTETS_SENT // len(body) + 1
    world.check()


def hungry(world: World, *names: str) -> list[Consumer]:
    """Queues of very many messages, each with somebody who wants them all."""
    for name in names:
        world.queue(name)
        world.send(*[b"x" * 60] * 1_500, key=name)
    world.turn()
    return [world.subscribe(name)[0] for name in names]


def test_who_gets_little_does_not_wait_for_those_who_get_much() -> None:
    world = World()
    world.queue()
    world.send(*[b"x" * 60] * 3_000)
    world.queue("other")
    little, _ = world.subscribe("other")
    world.turn()
    browsers = [world.subscribe(acquire=False)[0] for _ in range(6)]
    for number in range(5):
        world.send(b"%d" % number, key="other")
        assert world.bridge.end_turn(world.now_ms)
        assert len(little.deliveries) == number + 1
    assert {len(browser.deliveries) > 0 for browser in browsers} == {True}
    world.check()


def test_those_who_get_much_have_a_slice_of_the_turn_after_one_another() -> None:
    world = World()
    consumers = hungry(world, *[f"q{number}" for number in range(12)])
    for _ in range(4):
        world.bridge.end_turn(world.now_ms)
    begun = [len(consumer.deliveries) for consumer in consumers]
    for _ in range(6):
        assert units_of(lambda: world.bridge.end_turn(world.now_ms)) <= SHARE + SLICE
    got = [len(each.deliveries) - before for each, before in zip(consumers, begun, strict=True)]
    slice = SLICE // (OFFERED + SENDING)
    assert min(got) > 2 * slice
    assert max(got) - min(got) <= 2 * slice
    world.turn()
    world.check()


def test_who_gets_much_has_a_slice_of_each_turn_however_many_get_little() -> None:
    world = World(limits=BridgeLimits(turn_deliveries=100_000))
    names = [f"q{number}" for number in range(300)]
    for name in names:
        world.queue(name)
        world.subscribe(name)
    (much,) = hungry(world, "much")
    world.bridge.end_turn(world.now_ms)
    for _ in range(4):
        before = len(much.deliveries)
        for name in names:
            world.send(b"x", key=name)
        assert world.bridge.end_turn(world.now_ms)
        assert len(much.deliveries) > before
    world.turn()
    world.check()
