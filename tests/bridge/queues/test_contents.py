"""Files and streams in queues: two levels at least, files stay, streams make room."""

import pytest
from support.bridge_world import Producer, World
from support.rules import rule

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.seams import Published, PublishStatus
from gateway.message import ACCEPTED, MODIFIED_FAILED, REJECTED, RELEASED, Condition, Flag, Refusal

FILE, STREAM = Flag.FILE, Flag.STREAM
RING = Discipline(policy=Policy.RING)


def publish(
    world: World,
    body: bytes,
    *,
    flags: int = 0,
    priority: int = -1,
    producer: Producer | None = None,
    token: int = 0,
    key: str = "q",
) -> Published:
    message = world.message(body, key=key, flags=flags, priority=priority)
    return world.host.publishing.publish(message, producer, token)


def taken(world: World, count: int = 1000) -> list[bytes]:
    """What a new consumer is sent."""
    consumer, subscription = world.subscribe(credit=count, settled=True)
    world.turn()
    subscription.cancel()
    return consumer.bodies()


@rule("0-10", "file", "priority-levels")
@rule("0-10", "stream", "priority-levels")
@pytest.mark.parametrize("flags", [FILE, STREAM])
def test_what_has_a_priority_of_five_and_more_goes_first(flags: int) -> None:
    world = World()
    world.queue()
    for priority in range(10):
        publish(world, b"%d" % priority, flags=flags, priority=priority)
    assert taken(world) == [b"5", b"6", b"7", b"8", b"9", b"0", b"1", b"2", b"3", b"4"]
    world.check()


def test_messages_of_such_a_queue_stay_in_their_order() -> None:
    world = World()
    world.queue()
    publish(world, b"a", priority=3)
    publish(world, b"b", priority=9)
    publish(world, b"high", flags=STREAM, priority=9)
    publish(world, b"c", priority=0)
    publish(world, b"low", flags=STREAM, priority=0)
    assert taken(world) == [b"high", b"a", b"b", b"c", b"low"]
    world.check()


def test_who_looks_on_and_who_gives_back_find_their_places_when_levels_come() -> None:
    world = World()
    world.queue()
    publish(world, b"a")
    publish(world, b"b")
    browser, _ = world.subscribe(acquire=False)
    world.turn()
    holder, held = world.subscribe(credit=2)
    world.turn()
    world.host.settlement.settle(holder.deliveries[0], RELEASED)
    held.stop()
    publish(world, b"high", flags=FILE, priority=9)
    world.turn()
    world.host.settlement.settle(holder.deliveries[1], MODIFIED_FAILED)
    world.turn()
    assert browser.bodies() == [b"a", b"b", b"high"]
    assert taken(world) == [b"high", b"a", b"b"]
    world.check()


@rule("0-10", "stream", "overflow-discard")
@rule("0-10", "stream.qos.consume-rate", "drop-by-priority")
def test_streams_make_room_the_lowest_priority_first() -> None:
    world = World()
    world.queue(max_count=3)
    publish(world, b"message")
    publish(world, b"high", flags=STREAM, priority=8)
    publish(world, b"low 1", flags=STREAM, priority=1)
    publish(world, b"low 2", flags=STREAM, priority=1)
    publish(world, b"lowest", flags=STREAM, priority=0)
    assert taken(world) == [b"high", b"message", b"low 2"]
    assert world.bridge.counts.evicted == 2
    world.check()


def test_a_message_finds_no_room_that_streams_take() -> None:
    world = World()
    world.queue(max_count=1)
    publish(world, b"packet", flags=STREAM)
    assert publish(world, b"message").status == PublishStatus.REFUSED
    world.check()


def test_streams_that_make_room_go_on_to_the_alternate_exchange() -> None:
    world = World()
    world.queue("old")
    world.queue(max_count=1, alternate_exchange="amq.fanout")
    assert not isinstance(
        world.host.bindings.bind("old", "amq.fanout", "", {}, b"", world.owner()), Refusal
    )
    publish(world, b"1", flags=STREAM)
    publish(world, b"2", flags=STREAM)
    assert (world.depth(), world.depth("old")) == (1, 1)
    world.check()


@rule("0-10", "file", "no-discard")
def test_a_ring_full_of_files_holds_their_publisher() -> None:
    world = World()
    world.queue(max_count=2, discipline=RING)
    producer = Producer()
    for token in range(3):
        publish(world, b"%d" % token, flags=FILE, producer=producer, token=token)
    world.turn()
    assert producer.published == []
    assert world.depth() == 3
    assert taken(world, 1) == [b"0"]
    world.turn()
    assert producer.published == [(2, ACCEPTED)]
    assert world.bridge.counts.evicted == 0
    world.check()


def test_a_ring_lets_all_others_go_for_a_file() -> None:
    world = World()
    world.queue(max_count=3, discipline=RING)
    publish(world, b"old")
    publish(world, b"file 1", flags=FILE)
    publish(world, b"new")
    publish(world, b"file 2", flags=FILE)
    publish(world, b"file 3", flags=FILE)
    publish(world, b"late")
    assert taken(world) == [b"file 1", b"file 2", b"file 3"]
    assert world.bridge.counts.evicted == 3
    world.check()


def test_what_a_ring_has_given_and_got_back_may_go() -> None:
    world = World()
    world.queue(max_count=2, discipline=RING)
    publish(world, b"file", flags=FILE)
    publish(world, b"held")
    consumer, subscription = world.subscribe()
    world.turn()
    subscription.stop()
    publish(world, b"more")
    assert [entry.body() for entry in (each.message for each in consumer.deliveries)] == [
        b"file",
        b"held",
    ]
    world.host.settlement.settle(consumer.deliveries[1], RELEASED)
    publish(world, b"newest")
    world.turn()
    assert world.depth() == 2
    world.check()


@rule("0-10", "file", "no-discard")
def test_a_queue_that_refuses_holds_the_publisher_of_a_file() -> None:
    world = World()
    world.queue(max_count=1)
    producer = Producer()
    publish(world, b"message")
    status = publish(world, b"file", flags=FILE, producer=producer, token=7).status
    assert status == PublishStatus.PENDING
    refused = publish(world, b"another")
    assert refused.refusal is not None
    assert refused.refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    assert taken(world, 1) == [b"message"]
    world.turn()
    assert producer.published == [(7, ACCEPTED)]
    world.check()


def test_a_file_that_no_queue_could_hold_is_refused() -> None:
    world = World()
    world.queue(max_size=3)
    assert publish(world, b"large", flags=FILE).status == PublishStatus.REFUSED
    world.check()


def test_a_file_does_not_destroy_a_queue_that_destructs_itself() -> None:
    world = World()
    world.queue(max_count=1, discipline=Discipline(policy=Policy.SELF_DESTRUCT))
    publish(world, b"1", flags=FILE)
    publish(world, b"2", flags=FILE)
    world.turn()
    assert world.depth() == 2
    world.check()


@pytest.mark.parametrize("restart", [World.restart, World.crash])
def test_files_are_what_they_were_after_a_restart(restart: object) -> None:
    world = World()
    world.queue(durable=True, max_count=2, discipline=RING)
    for number in range(2):
        message = world.message(
            b"%d" % number, key="q", flags=FILE, durable=True, priority=5 * number
        )
        world.host.publishing.publish(message, None, 0)
    world.turn()
    restart(world)  # type: ignore[operator]
    publish(world, b"late")
    assert taken(world) == [b"1", b"0"]
    world.check()


@rule("0-10", "file", "no-discard")
def test_a_full_alternate_has_room_for_a_file_that_is_rejected() -> None:
    world = World()
    world.queue("old", max_count=1)
    world.queue(alternate_exchange="amq.fanout")
    world.host.bindings.bind("old", "amq.fanout", "", {}, b"", world.owner())
    publish(world, b"in the way", key="old")
    publish(world, b"file", flags=FILE)
    consumer, _ = world.subscribe()
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    world.turn()
    assert world.depth("old") == 2
    world.check()


def test_a_queue_of_which_a_part_is_on_disk_stays_in_its_order_and_more_of_it_goes() -> None:
    limits = BridgeLimits(memory_octets=8 * 256 * COPY_OCTETS, turn_deliveries=1000)
    world = World(limits=limits)
    world.queue()
    for number in range(16 * 256):
        world.send(b"%d" % number)
        if number % 256 == 0:
            world.turn()
    world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    away = queue.places.away
    assert away > 2
    publish(world, b"high", flags=FILE, priority=9)
    world.turn()
    for _ in range(2 * 256):
        world.send(b"late")
    world.turn()
    assert queue.places.away > away
    bodies: list[bytes] = []
    while queue.depth:
        bodies += taken(world)
    assert bodies.index(b"high") == 16 * 256
    world.check()


def test_what_has_left_is_forgotten_however_many_come() -> None:
    world = World()
    world.queue(discipline=RING)
    world.subscribe(settled=True)
    for _ in range(50):
        for number in range(20):
            publish(world, b"x", flags=STREAM, priority=number % 10)
        world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.contents is not None
    assert queue.contents.others is not None
    assert len(queue.contents.streams) + len(queue.contents.others) < 500
    world.check()
