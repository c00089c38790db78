"""What all queues hold is counted in pieces of bounded work."""

from support.bridge_world import World

from gateway.message import ACCEPTED
from gateway.net.admin.census import PIECE, Census, named_queues
from gateway.wire.work import COUNTED, SHARE, WORK


def test_very_many_queues_are_counted_some_at_a_time() -> None:
    world = World()
    for number in range(3 * PIECE + 1):
        world.queue(f"q{number}")
    consumer, _ = world.subscribe("q7")
    for _ in range(3):
        world.send(b"x", key="q7")
    world.turn()
    assert len(consumer.take()) == 3
    census = Census(world.bridge)
    walk = census.take()
    pieces: list[int] = []
    more = True
    while more:
        began = WORK.units
        more = next(walk, walk) is not walk
        pieces.append(WORK.units - began)
    assert max(pieces) == COUNTED * PIECE < SHARE // 10
    assert len(pieces) > 3
    assert census.unsettled == 3


def test_the_sums_of_the_last_walk_stay_until_the_next_is_done() -> None:
    world = World()
    world.queue("q")
    consumer, _ = world.subscribe("q")
    world.send(b"x", key="q")
    world.turn()
    census = Census(world.bridge)
    for _ in census.take():
        assert census.unsettled == 0
    assert census.unsettled == 1
    (delivery,) = consumer.take()
    world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    for _ in census.take():
        assert census.unsettled == 1
    assert census.unsettled == 0


def test_queues_are_met_by_name_without_those_that_went_meanwhile() -> None:
    world = World()
    for number in range(PIECE + 2):
        world.queue(f"q{number}")
    walk = named_queues(world.bridge)
    host, first = next(walk)
    assert (host, len(first)) == (world.host.name, PIECE)
    world.host.declaring.delete_queue(f"q{PIECE}", world.owner())
    _, second = next(walk)
    assert [queue.name for queue in second] == [f"q{PIECE + 1}"]
