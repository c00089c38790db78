"""Files and streams in queues: two levels at least, files stay, streams make room."""

import pytest
from support.bridge_world import Producer, World
from support.rules import rule

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Published, PublishStatus
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Condition,
    Flag,
    Kind,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.wire.tagged import Tagged

FILE, STREAM = Flag.FILE, Flag.STREAM
PAGE = 256
MANY = 20 * PAGE
DURABLE = pytest.mark.parametrize("durable", [False, True], ids=["transient", "durable"])
NEITHER = Outcome(
    OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True, nor_to_owner=True
)
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


def on_disk(
    world: World,
    flags: list[int],
    *,
    count: int = MANY,
    durable: bool = False,
    priorities: tuple[int, ...] = (4, 9, 0, 5),
) -> Queue:
    """Content of these kinds in turn, and of these priorities, of which most is on disk."""
    for number in range(count):
        message = world.message(
            b"%d" % number,
            key="q",
            flags=flags[number % len(flags)],
            priority=priorities[number % len(priorities)],
            durable=durable,
        )
        world.host.publishing.publish(message, None, 0)
        if number % PAGE == 0:
            world.turn()
    world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    return queue


def paged_world() -> World:
    """One that keeps some eight pages of small messages."""
    world = World(limits=BridgeLimits(memory_octets=8 * PAGE * COPY_OCTETS, turn_deliveries=1000))
    world.bridge.paging.near = 2
    return world


def drained(world: World, queue: Queue) -> list[bytes]:
    """What a consumer gets that takes a part at a time and accepts it."""
    consumer, subscription = world.subscribe(credit=0)
    bodies: list[bytes] = []
    while queue.depth:
        subscription.grant(300, -1)
        world.turn()
        given = consumer.take()
        assert given
        for delivery in given:
            bodies.append(delivery.message.payload)
            world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    subscription.cancel()
    assert (world.disk.pages, world.bridge.pressure.octets) == ({}, 0)
    assert queue.contents is None or (queue.contents.files, queue.contents.higher) == (0, 0)
    return bodies


def levels_of(count: int) -> list[bytes]:
    """In which order copies come out that `on_disk` has put in."""
    high = [b"%d" % number for number in range(count) if number % 4 in (1, 3)]
    return high + [b"%d" % number for number in range(count) if number % 4 in (0, 2)]


@DURABLE
@pytest.mark.parametrize("flags", [[FILE], [STREAM], [FILE, STREAM]])
def test_files_and_streams_rest_on_disk_and_come_out_by_their_levels(
    flags: list[int], durable: bool
) -> None:
    world = paged_world()
    world.queue(durable=True)
    queue = on_disk(world, flags, durable=durable)
    assert queue.places.away > 10
    assert world.bridge.pressure.octets <= 8 * PAGE * COPY_OCTETS
    assert (world.disk.pages == {}) is durable  # they are in the store's log
    if durable:
        world.crash()
        found = world.host.topology.find_queue("q")
        assert found is not None
        assert found.places.away > 10
        queue = found
    assert drained(world, queue) == levels_of(MANY)
    world.check()


@pytest.mark.parametrize("levels", [0, 3])
@pytest.mark.parametrize("ring", [False, True])
def test_a_start_leaves_content_on_disk_that_it_need_not_read_for_that(
    ring: bool, levels: int
) -> None:
    world = paged_world()
    discipline = Discipline(policy=Policy.RING if ring else Policy.REJECT, levels=levels)
    world.queue(durable=True, max_count=MANY if ring else 0, discipline=discipline)
    on_disk(world, [0, FILE, 0, FILE], durable=True)
    world.crash()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert queue.contents is not None
    assert (queue.contents.files, queue.contents.higher) == (MANY // 2, MANY // 2)
    assert world.bridge.paging.came == 0
    assert queue.places.away > 10
    if ring:
        for _ in range(MANY // 4 + 5):  # of the two kinds of messages those of priority 0, and 4
            publish(world, b"late", priority=0)
            world.turn()
        for _ in range(10):
            world.turn()
    bodies = drained(world, queue)
    files = [body for body in bodies if body != b"late" and int(body) % 2]
    assert files == [b"%d" % number for number in range(MANY) if number % 2]
    assert len(bodies) == MANY
    assert world.bridge.counts.evicted == (MANY // 4 + 5 if ring else 0)
    world.check()


def test_levels_come_when_a_part_is_on_disk_already() -> None:
    world = paged_world()
    world.queue()
    queue = on_disk(world, [0, FILE], priorities=(9, 4))
    away = queue.places.away
    assert away > 10
    publish(world, b"high", flags=FILE, priority=9)
    on_disk(world, [0], count=2 * PAGE)
    assert queue.places.away > away
    assert drained(world, queue) == [
        b"high",
        *(b"%d" % number for number in range(MANY)),
        *(b"%d" % number for number in range(2 * PAGE)),
    ]
    world.check()


def test_streams_on_disk_make_room_the_lowest_priority_first() -> None:
    world = paged_world()
    world.queue(max_count=MANY)
    queue = on_disk(world, [STREAM, FILE, 0, STREAM], priorities=(3, 9, 0, 1))
    assert queue.places.away > 10
    for _ in range(MANY // 4 + PAGE):
        publish(world, b"new", flags=STREAM, priority=5)
        world.turn()
    for _ in range(10):
        world.turn()
    assert queue.depth == MANY
    bodies = drained(world, queue)
    gone = {b"%d" % number for number in range(MANY)} - set(bodies)
    lowest = [number for number in range(MANY) if number % 4 == 3]
    others = [number for number in range(MANY) if number % 4 == 0][:PAGE]
    assert gone == {b"%d" % number for number in [*lowest, *others]}
    world.check()


@DURABLE
def test_a_ring_lets_all_but_files_go_wherever_they_are(durable: bool) -> None:
    world = paged_world()
    most = MANY // 2
    world.queue(durable=True, max_count=most, discipline=RING)
    queue = on_disk(world, [FILE, 0, STREAM], durable=durable)
    for _ in range(10):
        world.turn()
    assert queue.depth == most
    assert queue.places.away > 2
    if durable:
        world.crash()
        found = world.host.topology.find_queue("q")
        assert found is not None
        queue = found
    bodies = {int(body) for body in drained(world, queue)}
    assert len(bodies) == most
    assert {number for number in range(MANY) if number % 3 == 0} <= bodies
    assert world.bridge.counts.evicted == MANY - most or durable
    world.check()


@DURABLE
def test_what_one_session_has_rejected_rests_on_disk_and_goes_to_others_only(
    durable: bool,
) -> None:
    world = paged_world()
    world.queue(durable=True)
    queue = on_disk(world, [FILE], durable=durable)
    owner = world.owner()
    consumer, subscription = world.subscribe(owner=owner, credit=0)
    rejected: list[bytes] = []
    while len(rejected) < MANY:
        subscription.grant(300, -1)
        world.turn()
        given = consumer.take()
        assert given
        for delivery in given:
            rejected.append(delivery.message.payload)
            world.host.settlement.settle(delivery, NEITHER)
    assert rejected == levels_of(MANY)
    for _ in range(3 * world.bridge.paging.patience):
        world.turn()
    assert world.bridge.pressure.octets <= 8 * PAGE * COPY_OCTETS
    assert queue.places.away > 10
    other, another = world.subscribe(owner=owner, credit=MANY)
    for _ in range(MANY // PAGE):
        world.turn()
    assert (consumer.deliveries, other.deliveries) == ([], [])
    subscription.cancel()
    another.cancel()
    assert drained(world, queue) == levels_of(MANY)
    world.check()


def test_of_a_page_that_cannot_be_read_the_files_are_counted_no_more() -> None:
    world = paged_world()
    world.queue()
    queue = on_disk(world, [FILE, STREAM])
    assert queue.contents is not None
    world.disk.unreadable.add(next(iter(world.disk.pages)))
    assert len(drained(world, queue)) == MANY - PAGE
    assert world.bridge.counts.lost == PAGE
    world.check()


@DURABLE
def test_a_last_value_replaces_a_file_of_either_level_that_is_on_disk(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True, discipline=Discipline(last_value_key="k"))

    def put(count: int, body: bytes) -> Queue:
        for number in range(count):
            message = world.message(
                body % number,
                key="q",
                flags=FILE,
                priority=9 * (number % 2),
                headers={"k": Tagged(Kind.INTEGER, number)},
                durable=durable,
            )
            world.host.publishing.publish(message, None, 0)
            if number % PAGE == 0:
                world.turn()
        world.turn()
        found = world.host.topology.find_queue("q")
        assert found is not None
        return found

    queue = put(MANY, b"old %d")
    came = world.bridge.paging.came
    assert queue.places.away > 10
    put(MANY // 2, b"new %d")
    assert (queue.depth, world.bridge.paging.came) == (MANY, came)
    expected: list[bytes] = []
    for level in (1, 0):
        expected += [b"old %d" % each for each in range(MANY // 2 + level, MANY, 2)]
        expected += [b"new %d" % each for each in range(level, MANY // 2, 2)]
    assert drained(world, queue) == expected
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
