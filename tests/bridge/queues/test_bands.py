"""Levels of priority: which a message has, and whose turn it is."""

import pytest
from support.bridge_world import World
from support.rules import rule

from gateway.bridge.paging.away import AwayPage
from gateway.bridge.queues.bands import Band, Bands
from gateway.bridge.queues.discipline import Discipline
from gateway.bridge.queues.places import Entry, Places
from gateway.message import NO_PRIORITY, RELEASED, Encoding


def publish(world: World, *priorities: int) -> None:
    """One message of each priority; its body says it."""
    for priority in priorities:
        message = world.message(b"%d" % priority, key="q", priority=priority)
        world.host.publishing.publish(message, None, 0)


def taken(world: World, count: int) -> list[int]:
    """The priorities of what a new consumer is sent."""
    consumer, subscription = world.subscribe(credit=count, settled=True)
    world.turn()
    subscription.cancel()
    return [int(body) for body in consumer.bodies()]


@rule("0-10", "message", "priority-level-implementation")
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (2, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
        (3, [0, 0, 0, 0, 1, 2, 2, 2, 2, 2]),
        (4, [0, 0, 0, 0, 1, 2, 3, 3, 3, 3]),
        (5, [0, 0, 0, 1, 2, 3, 4, 4, 4, 4]),
        (10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_with_fewer_than_ten_levels_those_in_the_middle_are_their_own(
    levels: int, expected: list[int]
):
    world, bands = World(), Bands(levels, ())
    found = [bands.level_of(world.message(priority=priority)) for priority in range(10)]
    assert found == expected
    assert bands.level_of(world.message(priority=255)) == levels - 1


def test_without_a_priority_one_of_0_10_has_the_lowest_and_one_of_1_0_the_normal_one():
    world, bands = World(), Bands(10, ())
    message = world.message(priority=NO_PRIORITY)
    message.encoding = Encoding.AMQP_0_10
    assert bands.level_of(message) == 0
    message.encoding = Encoding.AMQP_1_0
    assert bands.level_of(message) == 4


@rule("0-10", "message", "min-priority-levels")
@rule("1.0", "3.2.1", "priorities-are-distinct")
def test_a_queue_that_is_declared_without_priorities_has_none():
    world = World()
    world.queue()
    publish(world, 0, 9, 4)
    assert taken(world, 3) == [0, 9, 4]


def test_the_highest_goes_first_and_of_one_level_what_came_first():
    world = World()
    world.queue(discipline=Discipline(levels=10))
    for body, priority in ((b"a", 4), (b"b", 9), (b"c", 0), (b"d", 9), (b"e", 4)):
        message = world.message(body, key="q", priority=priority)
        world.host.publishing.publish(message, None, 0)
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == [b"b", b"d", b"a", b"e", b"c"]
    world.check()


def test_what_comes_meanwhile_overtakes_and_what_is_given_back_has_its_place():
    world = World()
    world.queue(discipline=Discipline(levels=10))
    publish(world, 4, 5)
    consumer, subscription = world.subscribe(credit=1)
    world.turn()
    [held] = consumer.take()
    publish(world, 5, 9)
    world.host.settlement.settle(held, RELEASED)
    subscription.grant(4)
    world.turn()
    assert [each.message.priority for each in consumer.deliveries] == [9, 5, 5, 4]
    assert consumer.deliveries[1].position == held.position
    world.check()


def test_browsers_and_those_with_a_filter_look_at_the_levels_in_their_order_too():
    class Odd:
        octets = 0

        def accepts(self, message: object) -> bool:
            return int(message.payload) % 2 == 1  # type: ignore[attr-defined]  # a Message

    world = World()
    world.queue(discipline=Discipline(levels=10))
    publish(world, 1, 2, 3, 4, 5)
    browser, _ = world.subscribe(acquire=False)
    chooser, _ = world.subscribe(filter=Odd())
    world.turn()
    assert chooser.bodies() == [b"5", b"3", b"1"]
    assert set(browser.bodies()) >= {b"4", b"2"}
    publish(world, 7)
    world.turn()
    assert chooser.bodies()[-1] == b"7"
    world.check()


def test_after_so_many_in_a_row_a_lower_level_has_its_turn():
    world = World()
    world.queue(discipline=Discipline(levels=3, fair=(0, 1, 2)))
    publish(world, *[9] * 6, *[4] * 3, *[0] * 2)
    assert taken(world, 11) == [9, 9, 4, 0, 0, 9, 9, 4, 9, 9, 4]
    world.check()


def test_one_level_alone_is_sent_whatever_its_bound():
    world = World()
    world.queue(discipline=Discipline(levels=3, fair=(1, 1, 1)))
    publish(world, 4, 4, 4, 4)
    assert taken(world, 9) == [4, 4, 4, 4]


def test_a_restart_changes_no_level():
    world = World()
    world.queue(durable=True, discipline=Discipline(levels=10, fair=(1,) * 10))
    for priority in (1, 9, 5):
        message = world.message(b"%d" % priority, key="q", priority=priority, durable=True)
        world.host.publishing.publish(message, None, 0)
    world.restart()
    assert taken(world, 3) == [9, 5, 1]
    world.check()


def test_what_was_given_back_and_was_on_disk_meanwhile_waits_once() -> None:
    world = World()
    places = Places()
    band = Band(places)
    for position in range(3):
        places.append(Entry(position, world.message(), 0, False))
    entry = band.peek()
    assert entry is not None
    page = places.tail
    assert page is not None
    away = AwayPage()
    for _ in range(5):
        band.hold(entry)
        band.give_back(entry)
        assert away.fill(page, sized=False)
        entries = page.entries
        places.send_away(page, away)
        assert band.peek() is None
        assert places.missed == page.number
        for each in entries:
            assert each is not None
            each.returned = False  # they are other objects
        places.bring_back(page, away, entries)
        band.come_back(entries)
        away = AwayPage()
    assert band.peek() is entry
    assert len(band._returned) == 1
