"""Queue by queue, up to a number of them; the rest has one sample."""

import pytest
from support.bridge_world import World

from gateway.bridge.queues.discipline import Discipline, FlowLimits
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
    by_queue = ByQueue(world.bridge)
    collector = Collector(OBJECT_METRICS, by_queue.readers(), by_queue.count)
    collector.take()
    found = {
        (family.name.rpartition("_")[2], sample.labels["queue"]): sample.value
        for family in collector.collect()
        for sample in family.samples
    }
    assert [found["messages", name] for name in ("a", "b", "other")] == [1, 1, 3]
    assert [found["bytes", name] for name in ("a", "b", "other")] == [3, 3, 6]
    assert [found["subscriptions", name] for name in ("a", "b", "other")] == [0, 0, 2]
    assert [found["stopped", name] for name in ("b", "other")] == [0, 1]
    assert len(found) == 11
