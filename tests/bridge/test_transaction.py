"""What a transaction held goes when it is rolled back, over several turns if it is very much."""

from support.bridge_world import World
from support.work import units_of

from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.transaction import Transaction
from gateway.wire.work import COPY, SHARE

MANY = 3 * SHARE // COPY


def held(world: World, number: int) -> Transaction:
    transaction = world.host.transacting.begin(1)
    for _ in range(number):
        message = world.message(b"x", key="q")
        world.host.transacting.publish(transaction, message, None, 0)
    world.turn()
    return transaction


def test_a_rollback_of_very_much_is_done_over_several_turns() -> None:
    world = World()
    world.queue()
    transaction = held(world, MANY)
    pressure = world.bridge.pressure
    assert pressure.messages == MANY
    assert units_of(lambda: world.host.transacting.rollback(transaction)) <= SHARE + COPY
    assert transaction.held == []
    assert world.bridge.counts.rolled_back == 0
    assert pressure.messages > MANY // 2
    assert not world.bridge.idle()
    assert world.bridge.awaited() == ["work is left that is done over several turns"]
    assert world.bridge.end_turn(world.now_ms)
    assert not world.bridge.end_turn(world.now_ms)
    assert (pressure.messages, pressure.octets) == (0, 0)
    assert world.bridge.counts.rolled_back == 1
    assert world.bridge.counts.rolled_back_copies == MANY
    world.turn()
    assert world.bridge.idle()
    world.check()


def test_a_rollback_of_little_is_done_at_once() -> None:
    world = World()
    world.queue()
    transaction = held(world, 10)
    assert world.bridge.pressure.octets == 10 * (COPY_OCTETS + 1)
    world.host.transacting.rollback(transaction)
    assert world.bridge.pressure.octets == 0
    assert world.bridge.counts.rolled_back == 1
    world.check()
