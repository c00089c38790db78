"""Of what is to be sent, a turn does a bounded part."""

from support.bridge_world import World
from support.work import units_of

from gateway.bridge.limits import BridgeLimits
from gateway.message import (
    Kind,
)
from gateway.selectors.selector import Selector, read_selector
from gateway.wire.tagged import Tagged
from gateway.wire.work import OCTETS_SENT, SHARE, VERB


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
