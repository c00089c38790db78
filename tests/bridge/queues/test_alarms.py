"""Queues that tell when much is in them."""

from support.bridge_world import World

from gateway.bridge.queues.alarms import LINES_MAX
from gateway.bridge.queues.discipline import AlertLimits, Discipline


def world_with(**limits: int) -> World:
    world = World()
    world.queue(durable=True, discipline=Discipline(alerts=AlertLimits(**limits)))
    return world


def told(world: World) -> list[tuple[str, int, int, bool]]:
    """What people are told, which they have heard then."""
    lines = world.bridge.copies.alarms.lines
    found = [(each.what, each.value, each.limit, each.up) for each in lines]
    lines.clear()
    return found


def purge(world: World, *stay: bytes) -> None:
    world.host.declaring.purge_queue("q")
    world.send(*stay)


def test_a_queue_alerts_once_until_it_is_as_little_as_to_alert_again() -> None:
    world = world_with(count=3, count_down=1)
    world.send(b"1", b"2")
    assert told(world) == []
    world.send(b"3", b"4")
    assert told(world) == [("count", 3, 3, True)]
    purge(world)
    assert told(world) == [("count", 1, 1, False)]
    world.send(b"1", b"2", b"3")
    assert told(world) == [("count", 3, 3, True)]
    assert world.bridge.copies.alarms.crossed == {"count": 2, "size": 0}
    world.check()


def test_octets_are_alerted_of_by_themselves() -> None:
    world = world_with(count=3, size=100)
    world.send(b"x" * 100)
    assert told(world) == [("size", 100, 100, True)]
    world.send(b"2", b"3")
    assert told(world) == [("count", 3, 3, True)]
    assert world.bridge.copies.alarms.crossed == {"count": 1, "size": 1}


def test_people_hear_of_no_other_time_before_the_gap_is_over_and_each_counts() -> None:
    world = world_with(count=1, gap_ms=1000)
    for _ in range(5):
        purge(world, b"1")
    assert told(world) == [("count", 1, 1, True), ("count", 0, 0, False)]
    world.pass_time(1001)
    purge(world, b"1")
    assert told(world) == [("count", 1, 1, True)]
    assert world.bridge.copies.alarms.crossed["count"] == 6


def test_what_nobody_takes_is_forgotten_the_oldest_first() -> None:
    world = world_with(count=1)
    for _ in range(LINES_MAX):
        purge(world, b"1")
    found = told(world)
    assert len(found) == LINES_MAX
    assert found[-1] == ("count", 1, 1, True)


def test_what_is_recovered_is_alerted_of() -> None:
    world = world_with(count=1)
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    assert told(world) == [("count", 1, 1, True)]
