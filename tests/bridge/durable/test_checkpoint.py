"""The audit log's checkpoint of very many nodes is written over several turns, and is right."""

from collections import Counter

from support.bridge_ledger import LedgerCheck
from support.bridge_world import World, bind
from support.work import units_of

from gateway.audit.schema import Kind
from gateway.message import ACCEPTED
from gateway.wire.work import CHECKPOINT, SHARE

MANY = 2 * SHARE // CHECKPOINT + 10


def filled(number: int = MANY) -> World:
    """With so many queues, each with a copy."""
    world = World()
    owner = world.owner()
    for each in range(number):
        world.queue(f"q{each}", owner)
        world.send(b"x", key=f"q{each}")
    world.turn()
    return world


def begin(world: World) -> int:
    """Begin a checkpoint: the number of records before it."""
    world.turn()
    before = len(world.blocks.records())
    units = units_of(lambda: world.bridge.checkpoint(world.now_ms))
    assert units <= SHARE + CHECKPOINT
    return before


def end(world: World) -> int:
    """The turns until nothing is left; none is long."""
    turns = 0
    more = [True]
    while more[-1]:
        units = units_of(lambda: more.append(world.bridge.end_turn(world.now_ms)))
        assert units <= 2 * SHARE + CHECKPOINT
        world.commit()
        turns += 1
    return turns


def written(world: World, since: int) -> Counter[str]:
    """Which queues have records, and how many."""
    records = world.blocks.records()[since:]
    return Counter(each.node for each in records if each.kind == Kind.QUEUE_CHECKPOINT)


def assert_right(world: World) -> None:
    """All checkpoints so far were true of their place in the log."""
    world.turn()
    LedgerCheck(world.blocks.records()).assert_balanced()


def test_of_very_many_queues_it_is_written_over_several_turns() -> None:
    world = filled()
    before = begin(world)
    assert end(world) >= 2
    assert written(world, before) == {f"q{number}": 1 for number in range(MANY)}
    assert_right(world)


def test_what_comes_and_goes_meanwhile_is_right() -> None:
    world = filled()
    bind(world, "q0", "amq.fanout")
    before = begin(world)
    first, last = "q0", f"q{MANY - 1}"
    for name in (first, last):
        world.send(b"y", key=name)
    gone = f"q{MANY - 2}"
    world.host.declaring.delete_queue(gone)
    world.queue(gone)
    world.queue("new")
    world.host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    end(world)
    found = written(world, before)
    assert set(found) == {f"q{number}" for number in range(MANY)} - {gone}
    assert set(found.values()) == {1}
    assert_right(world)


def test_a_deleted_queue_whose_copies_somebody_has_and_its_namesake_have_one_record() -> None:
    world = filled(3)
    consumer, _ = world.subscribe("q1")
    world.turn()
    world.host.declaring.delete_queue("q1")
    world.queue("q1")
    world.send(b"again", key="q1")
    before = begin(world)
    end(world)
    assert written(world, before) == {"q0": 1, "q1": 1, "q2": 1}
    world.host.settlement.settle(consumer.take()[0], ACCEPTED)
    assert_right(world)


def test_subscriptions_and_exchanges_are_in_it_once_it_is_done() -> None:
    world = filled(2)
    world.subscribe("q0")
    bind(world, "q0", "amq.fanout")
    world.host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    before = begin(world)
    end(world)
    kinds = Counter(each.kind for each in world.blocks.records()[before:])
    assert kinds[Kind.QUEUE_CHECKPOINT] == 2
    assert kinds[Kind.OUTLET_CHECKPOINT] == 1
    assert kinds[Kind.ROUTE_CHECKPOINT] == 2
    assert_right(world)


def test_another_one_does_not_begin_before_it_is_done() -> None:
    world = filled()
    before = begin(world)
    world.bridge.checkpoint(world.now_ms)
    end(world)
    assert set(written(world, before).values()) == {1}
    begin(world)
    end(world)
    assert set(written(world, before).values()) == {2}


def test_the_last_one_is_written_at_once() -> None:
    world = filled()
    before = begin(world)
    end(world)
    world.bridge.checkpoint(world.now_ms, last=True)
    world.blocks.append(world.audit.take_block(world.now_ms))
    assert set(written(world, before).values()) == {2}
