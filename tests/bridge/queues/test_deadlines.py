"""Queues are looked at when they want to be, however often they change their mind."""

from support.bridge_world import World

from gateway.bridge.queues.deadlines import Deadlines
from gateway.bridge.queues.queue import Queue


def two_queues() -> tuple[Queue, Queue]:
    world = World()
    world.queue("q")
    world.queue("p")
    q, p = world.host.topology.find_queue("q"), world.host.topology.find_queue("p")
    assert q is not None and p is not None
    return q, p


def test_the_earliest_time_that_a_queue_asked_for_counts() -> None:
    deadlines, (q, p) = Deadlines(), two_queues()
    deadlines.arm(q, 500)
    deadlines.arm(p, 400)
    deadlines.arm(q, 300)
    deadlines.arm(q, 600)
    assert deadlines.next_ms() == 300
    assert deadlines.take_due(299) is None
    assert deadlines.take_due(450) is q
    assert deadlines.take_due(450) is p
    assert deadlines.take_due(1000) is None
    deadlines.arm(q, 700)
    assert deadlines.take_due(1000) is q


def test_times_that_were_moved_forward_again_and_again_are_forgotten() -> None:
    deadlines, (q, p) = Deadlines(), two_queues()
    deadlines.arm(p, 5000)
    for when_ms in range(9000, 0, -1):
        deadlines.arm(q, when_ms)
    assert len(deadlines._heap) < 3000
    assert deadlines.take_due(1) is q
    assert deadlines.take_due(4999) is None
    assert deadlines.take_due(9000) is p
    assert deadlines.take_due(9000) is None
