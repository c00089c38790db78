"""Queue by queue, up to a number of them; the rest has one sample."""

import pytest
from support.bridge_world import World

from gateway.bridge.queues.discipline import Discipline, FlowLimits
from gateway.message import ACCEPTED
from gateway.metrics import OBJECT_METRICS, Collector
from gateway.net.admin import by_queue as module
from gateway.net.admin.by_queue import ByQueue


def test_beyond_so_many_queues_the_rest_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OBJECTS_MAX", 2)
    world = World()
    flow = Discipline(flow=FlowLimits(stop_count=1, resume_count=1))
    for name in ("a", "b", "c", "d"):
        world.queue(name, discipline=Discipline() if name == "a" else flow)
        world.send(b"xyz", key=name)
    for name in ("c", "d"):
        world.subscribe(name, credit=0)
    world.send(b"", key="d")
    found = samples(world)
    assert [found["messages", name] for name in ("a", "b", "other")] == [1, 1, 3]
    assert [found["bytes", name] for name in ("a", "b", "other")] == [3, 3, 6]
    assert [found["subscriptions", name] for name in ("a", "b", "other")] == [0, 0, 2]
    assert [found["stopped", name] for name in ("b", "other")] == [0, 1]
    assert {queue for _metric, queue in found} == {"a", "b", "other"}


def samples(world: World, *wanted: str) -> dict[tuple[str, str], float]:
    """By metric, without what all of them begin with, and by queue."""
    by_queue = ByQueue(world.bridge, lambda: world.now_ms)
    collector = Collector(OBJECT_METRICS, by_queue.readers(), by_queue.count)
    for _ in collector.pieces(wanted):
        pass
    return {
        (
            sample.name.removeprefix("gateway_object_").removeprefix("queue_"),
            sample.labels["queue"],
        ): sample.value
        for family in collector.collect()
        for sample in family.samples
    }


def test_a_queue_tells_what_is_ready_what_somebody_has_what_came_and_went_and_how_old_it_is() -> (
    None
):
    world = World()
    world.queue("q", max_count=9, max_size=1000)
    world.send(b"one", b"two", b"three")
    consumer, _ = world.subscribe("q", credit=2)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    world.pass_time(5000)
    assert {metric: value for (metric, _queue), value in samples(world).items()} == {
        "messages": 2,
        "ready_messages": 1,
        "unsettled_messages": 1,
        "bytes": 8,
        "subscriptions": 1,
        "entered_total": 3,
        "left_total": 1,
        "oldest_seconds": 5,
        "limit_queue_messages": 9,
        "limit_queue_bytes": 1000,
    }


def test_what_left_is_counted_from_the_start_on_whatever_the_store_brought_back() -> None:
    world = World()
    world.queue("q", durable=True)
    world.send(b"one", b"two", durable=True)
    world.turn()
    world.restart()
    assert samples(world)["left_total", "q"] == 0
    world.subscribe("q", settled=True, credit=1)
    world.turn()
    assert samples(world)["left_total", "q"] == 1


def test_only_queues_with_a_name_that_is_wanted_are_told_of() -> None:
    world = World()
    for name in ("orders.new", "orders.old", "news", "Orders"):
        world.queue(name)
    assert {queue for _, queue in samples(world, "orders.*")} == {"orders.new", "orders.old"}
    assert {queue for _, queue in samples(world, "new?", "orders.[no]ew")} == {
        "news",
        "orders.new",
    }
    assert samples(world, "nothing") == {}
