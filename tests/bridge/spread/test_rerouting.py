"""A message on its way through alternate exchanges goes on from where it was left off."""

from support.bridge_world import World, bind
from support.work import units_of

from gateway.audit.schema import Reason
from gateway.bridge.quotas import NOBODY
from gateway.bridge.spread.rerouting import NO_END, Rerouting
from gateway.message import Refusal
from gateway.wire.work import COPY, PUBLISH, WORK

ONE = COPY + PUBLISH


def on_the_way(world: World, exchange: str) -> Rerouting:
    """A message of no queue, which `exchange` is the first to get."""
    message = world.message(b"x", durable=True)
    found = world.host.topology.exchanges[exchange]
    return world.host.publishing.rerouting(message, found, Reason.REJECTED, b"", NOBODY, None)


def exchange(world: World, name: str, alternate: str = "") -> None:
    answer = world.host.declaring.declare_exchange(
        name, "fanout", durable=True, alternate_exchange=alternate
    )
    assert not isinstance(answer, Refusal), answer


def test_it_goes_to_as_many_queues_at_a_time_as_there_is_work_for() -> None:
    world = World()
    exchange(world, "x")
    for number in range(10):
        world.queue(f"q{number}")
        bind(world, f"q{number}", "x")
    rerouting = on_the_way(world, "x")
    done: list[bool] = []
    while not (done and done[-1]):
        before = world.bridge.counts.entered
        units = units_of(lambda: done.append(rerouting.go_on(WORK.units + 2 * ONE)))
        assert units <= 3 * ONE
        assert world.bridge.counts.entered - before <= 3
    assert len(done) == 4
    assert {world.depth(f"q{number}") for number in range(10)} == {1}


def test_it_goes_on_where_nobody_takes_it_and_ends_where_nobody_is_left() -> None:
    world = World()
    exchange(world, "third")
    exchange(world, "second", "third")
    exchange(world, "first", "second")
    world.queue("full", max_count=1)
    world.send(b"y", key="full")
    bind(world, "full", "second")
    world.queue("taken")
    bind(world, "taken", "third")
    assert on_the_way(world, "first").go_on(NO_END)
    assert (world.depth("full"), world.depth("taken")) == (1, 1)
    world.host.declaring.delete_queue("taken", world.owner())
    unroutable = world.bridge.counts.unroutable
    assert on_the_way(world, "first").go_on(NO_END)
    assert world.bridge.counts.unroutable == unroutable + 1


def test_a_queue_that_is_deleted_meanwhile_does_not_get_it() -> None:
    world = World()
    exchange(world, "x")
    for name in ("a", "b", "c"):
        world.queue(name)
        bind(world, name, "x")
    rerouting = on_the_way(world, "x")
    assert not rerouting.go_on(WORK.units)
    world.host.declaring.delete_queue("b", world.owner())
    assert rerouting.go_on(NO_END)
    assert (world.depth("a"), world.depth("c"), world.bridge.counts.refused) == (1, 1, 1)
