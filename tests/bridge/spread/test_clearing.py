"""Long queues are purged and deleted over several turns, and the ledger balances all the same."""

from support.bridge_world import World, bind
from support.long_work import Waiter, turns
from support.work import units_of

from gateway.message import ACCEPTED, Refusal
from gateway.wire.work import COPY, SHARE, VERB

MANY = 3 * SHARE // COPY


def filled(world: World, number: int = MANY, **settings: object) -> None:
    world.queue(**settings)  # type: ignore[arg-type]
    for _ in range(number):
        message = world.message(b"x", key="q", durable=True)
        world.host.publishing.publish(message, None, 0)
    world.turn()


def test_a_long_queue_is_purged_over_several_turns() -> None:
    world = World()
    filled(world)
    waiter = Waiter()
    purge = world.host.declaring.purge_at_upstream
    assert units_of(lambda: purge("q", waiter, 7)) == 0
    world.send(b"later")
    assert turns(world) == 3
    assert waiter.told == [(7, None)]
    assert world.depth() == 1
    assert world.bridge.counts.purged == MANY
    world.check()


def test_a_short_queue_is_purged_at_once() -> None:
    world = World()
    filled(world, 10)
    assert world.host.declaring.purge_at_upstream("q", Waiter(), 7) is False
    assert world.host.declaring.purge_queue("q") == 10
    world.check()


def test_what_somebody_has_and_what_is_given_back_before_is_not_left_out() -> None:
    world = World()
    filled(world)
    consumer, _ = world.subscribe(credit=2)
    world.turn()
    first, second = consumer.take()
    assert world.host.declaring.purge_at_upstream("q", Waiter(), 7) is True
    turns(world)
    assert world.depth() == 2
    world.host.settlement.settle(first, ACCEPTED)
    world.host.settlement.settle(second, ACCEPTED)
    world.turn()
    assert world.depth() == 0
    world.check()


def test_a_deleted_queue_has_lost_its_name_at_once_and_its_copies_later() -> None:
    world = World()
    filled(world, durable=True)
    consumer, _ = world.subscribe(credit=1)
    world.turn()
    [delivery] = consumer.take()
    assert units_of(lambda: world.host.declaring.delete_queue("q")) <= SHARE + VERB
    assert "q" not in world.host.topology.queues
    assert len(consumer.cancelled) == 1
    world.host.settlement.settle(delivery, ACCEPTED)
    world.queue()
    assert turns(world) >= 2
    assert world.depth() == 0
    assert world.bridge.counts.purged == MANY - 1
    world.check()
    world.restart()
    assert world.bridge.problems == []
    world.check()


def test_copies_of_a_deleted_queue_go_to_its_alternate_over_several_turns() -> None:
    world = World()
    world.queue("dead")
    world.host.declaring.declare_exchange("dlx", "fanout")
    bind(world, "dead", "dlx")
    filled(world, alternate_exchange="dlx")
    world.host.declaring.delete_queue("q")
    assert isinstance(world.host.declaring.delete_exchange("dlx"), Refusal)
    turns(world)
    assert world.depth("dead") == MANY
    assert world.host.declaring.delete_exchange("dlx") is None
    world.check()


def test_after_a_crash_the_copies_of_a_deleted_queue_end_as_they_would_have() -> None:
    world = World()
    filled(world, durable=True)
    world.host.declaring.delete_queue("q")
    world.bridge.end_turn(world.now_ms)
    world.commit()
    world.crash()
    assert "q" not in world.host.topology.queues
    turns(world)
    world.restart()
    assert len(world.bridge.living_queues().rest()) == 0
    assert world.bridge.problems == []


def test_a_purge_of_a_queue_that_is_deleted_meanwhile_is_over() -> None:
    world = World()
    filled(world)
    waiter = Waiter()
    world.host.declaring.purge_at_upstream("q", waiter, 7)
    world.host.declaring.delete_queue("q")
    turns(world)
    assert waiter.told == [(7, None)]
    world.check()
