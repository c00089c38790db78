"""Queues that hold more than memory may: pages go to the disk, and come back in time."""

import random

import pytest
from support.bridge_world import Consumer, Producer, World

from gateway.audit.schema import Kind as Step
from gateway.audit.schema import Reason
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.paging.paging import LARGE_OCTETS, PAGE_OCTETS
from gateway.bridge.pressure import AWAY_OCTETS, COPY_OCTETS
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import PublishStatus
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    NO_TTL,
    REJECTED,
    RELEASED,
    Kind,
    Message,
    OutcomeKind,
)
from gateway.wire.tagged import Tagged

DURABLE = pytest.mark.parametrize("durable", [False, True], ids=["transient", "durable"])
PAGE = 256
MANY = 30 * PAGE


def paged_world(memory_octets: int = 12 * PAGE * COPY_OCTETS) -> World:
    """One that keeps some twelve pages of small messages."""
    return World(limits=BridgeLimits(memory_octets=memory_octets, turn_deliveries=1000))


def filled(
    world: World, count: int = MANY, *, durable: bool = False, ttl_ms: int = NO_TTL
) -> Queue:
    for number in range(count):
        world.send(b"%d" % number, durable=durable, ttl_ms=ttl_ms)
        if number % PAGE == 0:
            world.turn()
    world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    return queue


def settle_all(world: World, consumer: Consumer) -> list[bytes]:
    bodies = consumer.bodies()
    for delivery in consumer.take():
        world.host.settlement.settle(delivery, ACCEPTED)
    return bodies


def test_what_is_beyond_memory_is_on_disk_and_counts_little() -> None:
    world = paged_world()
    world.queue()
    queue = filled(world)
    pressure, paging = world.bridge.pressure, world.bridge.paging
    assert queue.places.away > 15
    assert pressure.octets <= 12 * PAGE * COPY_OCTETS
    assert (pressure.held, queue.depth) == (MANY, MANY)
    assert pressure.payload == queue.octets
    assert pressure.away_messages == queue.places.away * PAGE
    assert pressure.octets == (
        pressure.payload
        - pressure.away_octets
        + COPY_OCTETS * pressure.messages
        + AWAY_OCTETS * pressure.away_messages
    )
    assert paging.went == len(world.disk.pages) == queue.places.away
    world.check()


def test_many_small_queues_have_together_what_one_may_have() -> None:
    world = paged_world()
    names = [f"q{number}" for number in range(10)]
    for name in names:
        world.queue(name)
    for number in range(4 * PAGE):
        for name in names:
            world.send(b"%d" % number, key=name)
        if number % 32 == 0:
            world.turn()
    for _ in range(20):
        world.turn()
    pressure = world.bridge.pressure
    assert pressure.messages - pressure.away_messages <= 2 * PAGE * len(names)
    assert world.bridge.paging.near == 1
    for name in names:
        consumer, subscription = world.subscribe(name, credit=300)
        seen: list[bytes] = []
        while len(seen) < 4 * PAGE:
            world.turn()
            seen += settle_all(world, consumer)
            subscription.grant(300, -1)
        assert seen == [b"%d" % number for number in range(4 * PAGE)]
    for _ in range(4 * world.bridge.paging.patience):
        world.turn()
    assert world.bridge.paging.near > 1
    world.check()


@DURABLE
def test_everything_comes_out_in_its_order(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True)
    filled(world, durable=durable)
    assert (world.disk.pages == {}) is durable  # they are in the store's log
    consumer, subscription = world.subscribe(credit=300)
    seen: list[bytes] = []
    while len(seen) < MANY:
        world.turn()
        taken = settle_all(world, consumer)
        assert taken
        seen += taken
        subscription.grant(300, -1)
    assert seen == [b"%d" % number for number in range(MANY)]
    world.turn()
    assert world.disk.pages == {}
    assert world.bridge.pressure.octets == world.bridge.pressure.away_octets == 0
    world.check()


@DURABLE
def test_pages_are_brought_back_before_they_are_wanted(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True)
    filled(world, durable=durable)
    consumer, subscription = world.subscribe(credit=0)
    for _ in range(MANY // 100):
        subscription.grant(100, -1)
        world.turn()
        settle_all(world, consumer)
    assert world.depth() < 100
    assert world.bridge.paging.came > 15
    assert world.bridge.paging.waits == 0


@DURABLE
def test_a_browser_sees_all_of_it_and_leaves_it_on_disk(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True)
    queue = filled(world, durable=durable)
    before = queue.places.away
    browser, _ = world.subscribe(acquire=False, settled=True)
    world.turn()
    assert browser.bodies() == [b"%d" % number for number in range(MANY)]
    world.turn()
    world.turn()
    assert queue.places.away >= before - 9
    world.check()


def test_a_browser_at_the_end_of_a_page_does_not_want_it_again() -> None:
    world = paged_world(1)
    world.bridge.paging.near = 1
    world.queue()
    queue = filled(world, 3 * PAGE)
    browser, subscription = world.subscribe(acquire=False, settled=True, credit=PAGE - 1)
    consumer, taking = world.subscribe(credit=0)
    world.turn()
    entry = queue.places.get(browser.deliveries[0].position + PAGE - 1)
    assert entry is not None
    world.bridge.copies.leave(queue, entry)  # the last of that page
    filled(world, 3 * PAGE)
    came = world.bridge.paging.came
    subscription.add(PAGE, 0)
    world.turn()
    assert len(browser.deliveries) == 2 * PAGE - 1
    assert world.bridge.paging.came <= came + 1
    del consumer, taking


def test_a_selector_finds_what_is_on_disk() -> None:
    world = paged_world()
    world.queue()
    filled(world)

    class Last:
        octets = 0

        def accepts(self, message: Message) -> bool:
            return message.payload == b"%d" % (MANY - 300)

    consumer, _ = world.subscribe(filter=Last())
    world.turn()
    assert consumer.bodies() == [b"%d" % (MANY - 300)]
    world.check()


def test_a_drain_ends_when_what_is_on_disk_has_been_sent() -> None:
    world = paged_world()
    world.queue()
    filled(world)
    consumer, subscription = world.subscribe(credit=10 * MANY)
    subscription.drain()
    world.bridge.end_turn(world.now_ms)
    assert consumer.drained == 0
    world.turn()
    assert (len(consumer.deliveries), consumer.drained) == (MANY, 1)


@DURABLE
def test_a_purge_empties_what_is_on_disk(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True)
    queue = filled(world, durable=durable)
    assert world.host.settlement.clearing.purge(queue, Waiting(), 1)
    world.turn()
    assert (queue.depth, queue.octets, queue.checksum, world.disk.pages) == (0, 0, 0, {})
    assert world.bridge.counts.purged == MANY
    world.check()
    world.crash()
    assert world.depth() == 0


def test_a_deleted_queue_sends_what_is_on_disk_to_its_alternate() -> None:
    world = paged_world()
    world.host.declaring.declare_exchange("dead", "fanout")
    world.queue("letters")
    assert world.host.bindings.bind("letters", "dead", "", {}, b"") is None
    world.queue(alternate_exchange="dead")
    filled(world)
    world.host.declaring.delete_queue("q")
    world.turn()
    assert world.depth("letters") == MANY
    world.check()


@DURABLE
def test_what_is_over_expires_on_disk_too(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True)
    queue = filled(world, durable=durable, ttl_ms=1000)
    assert queue.places.away
    world.pass_time(2000)
    assert (queue.depth, world.bridge.counts.expired, world.disk.pages) == (0, MANY, {})
    world.check()


def test_a_ring_lets_the_oldest_go_wherever_it_is() -> None:
    world = paged_world(10 * PAGE * COPY_OCTETS)
    world.bridge.paging.near = 1
    world.queue(max_count=20 * PAGE, discipline=Discipline(policy=Policy.RING))
    queue = filled(world)
    world.turn()
    assert queue.depth == 20 * PAGE
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == [b"%d" % number for number in range(MANY - 20 * PAGE, MANY)]
    world.check()


def test_failed_deliveries_are_still_counted_of_what_comes_from_the_log() -> None:
    world = paged_world(PAGE * COPY_OCTETS)
    world.queue(durable=True)
    consumer, _ = world.subscribe(credit=3 * PAGE)
    filled(world, 3 * PAGE, durable=True)
    for number, delivery in enumerate(consumer.take()):
        world.host.settlement.settle(delivery, MODIFIED_FAILED if number % 2 else RELEASED)
    world.turn()
    for life in range(1, 3):
        world.crash()
        queue = world.host.topology.find_queue("q")
        assert queue is not None
        world.bridge.paging.near = 1
        filled(world, PAGE, durable=True)  # and so the last page of before may go
        assert queue.places.away >= 2
        again, _ = world.subscribe()
        world.turn()
        counts = [delivery.delivery_count for delivery in again.deliveries[: 3 * PAGE]]
        assert counts == [1, 2] * (3 * PAGE // 2), life  # somebody may have seen them, once
    world.check()


@DURABLE
def test_what_was_given_back_goes_but_for_what_is_next(durable: bool) -> None:
    world = paged_world(1)
    world.bridge.paging.near = world.bridge.paging.patience = 1
    world.queue(durable=True)
    consumer, subscription = world.subscribe()
    queue = filled(world, 4 * PAGE, durable=durable)
    given = consumer.take()
    for delivery in reversed(given):
        world.host.settlement.settle(delivery, RELEASED)
    subscription.cancel()
    filled(world, 4 * PAGE, durable=durable)
    assert queue.places.away == 5  # not the last, nor that which is next, nor the first new one
    again, subscription = world.subscribe(credit=0)
    seen: list[bytes] = []
    for _ in range(8 * PAGE // 64):
        subscription.grant(100, -1)
        world.turn()
        seen += settle_all(world, again)
    assert seen == [b"%d" % number for number in range(4 * PAGE)] * 2
    world.check()


@DURABLE
def test_what_the_store_brings_back_goes_away_as_it_comes(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True)
    filled(world, durable=durable)
    world.crash()
    pressure = world.bridge.pressure
    assert pressure.away_messages > MANY // 3 if durable else pressure.held == 0
    assert pressure.octets <= 22 * PAGE * COPY_OCTETS
    world.restart()
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == (MANY if durable else 0)
    world.check()


def test_what_a_start_leaves_on_disk_is_told_of_and_comes_out_in_its_order() -> None:
    world = paged_world()
    world.queue(durable=True)
    filled(world, durable=True)
    world.crash()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    pressure, paging = world.bridge.pressure, world.bridge.paging
    assert paging.went == queue.places.away > 15
    assert pressure.octets <= 13 * PAGE * (COPY_OCTETS + 4) + AWAY_OCTETS * MANY
    assert (pressure.payload, pressure.held) == (queue.octets, MANY)
    world.check()
    world.send(b"new", b"newer")
    world.turn()
    consumer, subscription = world.subscribe(credit=300)
    seen: list[bytes] = []
    while len(seen) < MANY + 2:
        world.turn()
        seen += settle_all(world, consumer)
        subscription.grant(300, -1)
    assert seen == [*(b"%d" % number for number in range(MANY)), b"new", b"newer"]
    assert (queue.depth, queue.octets, pressure.octets) == (0, 0, 0)
    world.check()


def test_what_a_start_leaves_on_disk_expires_there() -> None:
    world = paged_world()
    world.queue(durable=True)
    filled(world, durable=True, ttl_ms=60_000)
    world.crash()
    world.pass_time(60_001)
    assert (world.depth(), world.bridge.counts.expired) == (0, MANY)
    world.check()


def test_what_is_held_stays_in_memory() -> None:
    world = paged_world(1)
    world.bridge.paging.near = 1
    world.queue()
    consumer, _ = world.subscribe()
    queue = filled(world, 4 * PAGE)
    assert (queue.unsettled, queue.places.away) == (4 * PAGE, 0)
    for delivery in consumer.take():
        world.host.settlement.settle(delivery, ACCEPTED)
    assert queue.depth == 0


def test_a_browsed_copy_can_be_acquired_whatever_became_of_its_page() -> None:
    world = paged_world(1)
    world.bridge.paging.near = 1
    world.queue()
    browser, subscription = world.subscribe(acquire=False, credit=5)
    queue = filled(world, 4 * PAGE)
    assert queue.places.away == 2
    [*_, last] = browser.take()
    assert world.host.settlement.acquire(last)
    world.host.settlement.settle(last, ACCEPTED)
    assert queue.depth == 4 * PAGE - 1
    subscription.cancel()


def test_a_full_disk_leaves_everything_in_memory() -> None:
    world = paged_world()
    world.queue()
    world.disk.full = True
    queue = filled(world)
    assert (queue.places.away, world.bridge.pressure.messages) == (0, MANY)
    assert world.bridge.paging.refused > 0
    world.disk.full = False
    for _ in range(300):
        world.turn()
    assert queue.places.away > 15
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == MANY
    world.check()


@pytest.mark.parametrize("harm", ["missing", "wrong", "short"])
def test_a_page_that_cannot_be_read_is_told_of_and_gives_no_wrong_message(harm: str) -> None:
    world = paged_world()
    world.queue()
    queue = filled(world)
    for number, octets in list(world.disk.pages.items())[3:5]:
        if harm == "missing":
            world.disk.unreadable.add(number)
        else:
            world.disk.pages[number] = b"" if harm == "wrong" else octets[: len(octets) // 2]
    lost = 2 * PAGE
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == MANY - lost
    assert (world.bridge.counts.lost, world.bridge.paging.failed) == (lost, 2)
    assert len(world.bridge.paging.problems) == 2
    assert queue.depth == MANY - lost
    told = [record for record in world.blocks.records() if record.reason == Reason.UNDECODABLE]
    assert len(told) == lost
    settle_all(world, consumer)
    assert queue.checksum == 0
    world.check()


@pytest.mark.parametrize("harm", ["missing", "wrong"])
def test_what_is_durable_of_a_page_that_cannot_be_read_comes_from_the_log(harm: str) -> None:
    world = paged_world()
    world.queue(durable=True)
    for number in range(MANY):
        world.send(b"%d" % number, durable=number % 2 == 0)
        if number % PAGE == 0:
            world.turn()
    world.turn()
    first = next(iter(world.disk.pages))
    if harm == "missing":
        world.disk.unreadable.add(first)
    else:
        world.disk.pages[first] = world.disk.pages[first][:-100]
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == MANY - PAGE // 2
    assert world.bridge.counts.lost == PAGE // 2
    settle_all(world, consumer)
    world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert (queue.depth, queue.octets, queue.checksum, world.disk.pages) == (0, 0, 0, {})
    assert world.bridge.pressure.octets == 0
    world.check()


def test_what_the_log_does_not_have_is_lost_and_told_of() -> None:
    world = paged_world()
    world.queue(durable=True)
    queue = filled(world, durable=True)
    away = [number for number in queue.places._pages if queue.places.is_away(number * PAGE)]
    gone = [away[3] * PAGE + at for at in (0, 7, 255)]
    for position in gone:
        world.store._content.on_dequeue(queue.number, position)
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == MANY - len(gone)
    assert world.bridge.counts.lost == len(gone)
    settle_all(world, consumer)
    assert (queue.depth, queue.octets, queue.checksum) == (0, 0, 0)
    assert world.bridge.pressure.octets == 0
    world.check()


def test_large_copies_fill_small_pages() -> None:
    world = paged_world(4 * LARGE_OCTETS)
    world.bridge.paging.near = 2
    world.queue()
    body = bytes(100_000)
    for _ in range(100):
        world.send(body)
        world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert queue.places.pages >= 8
    assert queue.places.away >= 5
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == [body] * 100


@DURABLE
def test_what_is_too_large_to_be_copied_stays_unless_the_log_has_it(durable: bool) -> None:
    world = paged_world(LARGE_OCTETS)
    world.bridge.paging.near = 1
    world.queue(durable=True)
    body = bytes(PAGE_OCTETS + 1)
    for _ in range(4):
        world.send(body, durable=durable)
        world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert queue.places.away == (2 if durable else 0)
    consumer, _ = world.subscribe()
    world.turn()
    assert [len(each) for each in consumer.bodies()] == [len(body)] * 4


def test_publishers_wait_only_for_what_is_in_memory() -> None:
    limits = BridgeLimits(
        memory_octets=20 * PAGE * COPY_OCTETS,
        octets_high=30 * PAGE * COPY_OCTETS,
        octets_low=25 * PAGE * COPY_OCTETS,
        octets_max=40 * PAGE * COPY_OCTETS,
    )
    world = World(limits=limits)
    world.queue()
    filled(world, 3 * MANY)
    assert world.depth() == 3 * MANY
    assert not world.bridge.pressure.high
    assert world.bridge.counts.refused == world.bridge.counts.pending == 0


@pytest.mark.parametrize("how", ["paged", "count", "size"])
def test_a_queue_may_have_less_in_memory_than_others(how: str) -> None:
    world = paged_world(1 << 40)
    flows = Discipline(policy=Policy.FLOW_TO_DISK)
    if how == "paged":
        world.queue(discipline=Discipline(paged=4 * 4096))
    elif how == "count":
        world.queue(max_count=5 * PAGE, discipline=flows)
    else:
        world.queue(max_size=4 * 4096, discipline=flows)
    world.queue("other")
    queue = filled(world)
    for number in range(MANY):
        world.send(b"%d" % number, key="other")
    world.turn()
    assert queue.depth == MANY
    assert queue.places.away >= 12
    assert world.bridge.counts.refused == 0
    consumer, _ = world.subscribe()
    other, _ = world.subscribe("other")
    world.turn()
    assert len(consumer.deliveries) == len(other.deliveries) == MANY
    world.check()


def ranked(world: World, *, durable: bool = False) -> list[bytes]:
    """A queue with priorities; what is to come out of it, in that order."""
    world.queue(durable=True, discipline=Discipline(levels=3))
    sent: list[tuple[int, int]] = []
    for number in range(MANY):
        priority = (3, 4, 5)[number * number % 7 % 3]
        message = world.message(b"%d" % number, key="q", durable=durable, priority=priority)
        world.host.publishing.publish(message, None, 0)
        sent.append((-priority, number))
        if number % PAGE == 0:
            world.turn()
    world.turn()
    return [b"%d" % number for _, number in sorted(sent)]


def depths(queue: Queue) -> list[int]:
    assert queue.bands is not None
    return [band.places.count for band in queue.bands.levels]


@DURABLE
def test_priorities_are_kept_on_disk(durable: bool) -> None:
    world = paged_world()
    expected = ranked(world, durable=durable)
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert queue.places.away > 15
    browser, _ = world.subscribe(acquire=False, settled=True)
    world.turn()
    assert browser.bodies() == expected
    consumer, subscription = world.subscribe(credit=0)
    seen: list[bytes] = []
    while len(seen) < MANY:
        subscription.grant(700, -1)
        world.turn()
        seen += settle_all(world, consumer)
    assert seen == expected
    world.turn()
    assert (queue.places.count, world.disk.pages) == (0, {})
    assert depths(queue) == [0, 0, 0]
    world.check()


def test_a_ring_with_priorities_lets_the_lowest_go_wherever_they_are() -> None:
    world = paged_world(10 * PAGE * COPY_OCTETS)
    world.bridge.paging.near = 1
    most = 20 * PAGE
    world.queue(max_count=most, discipline=Discipline(levels=2, policy=Policy.RING))
    for number in range(MANY):
        message = world.message(b"%d" % number, key="q", priority=4 + number % 2)
        world.host.publishing.publish(message, None, 0)
        if number % PAGE == 0:
            world.turn()
    world.turn()
    assert world.depth() == most
    consumer, _ = world.subscribe()
    world.turn()
    high = [b"%d" % number for number in range(1, MANY, 2)]
    low = [b"%d" % number for number in range(0, MANY, 2)]
    assert consumer.bodies() == high + low[len(high) - most :]
    world.check()


def test_of_a_page_with_priorities_what_cannot_be_read_is_lost_on_each_level() -> None:
    world = paged_world()
    expected = ranked(world)
    world.disk.unreadable.add(next(iter(world.disk.pages)))
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == MANY - PAGE == len(set(consumer.bodies()) & set(expected))
    settle_all(world, consumer)
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert depths(queue) == [0, 0, 0]
    world.check()


def keyed(
    world: World, *, keys: int, count: int = MANY, durable: bool = False, body: bytes = b"%d"
) -> Queue:
    """Messages of so many keys in turn, by the header k."""
    for number in range(count):
        headers = {"k": Tagged(Kind.INTEGER, number % keys)}
        message = world.message(body % number, key="q", headers=headers, durable=durable)
        world.host.publishing.publish(message, None, 0)
        if number % PAGE == 0:
            world.turn()
    world.turn()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    return queue


@DURABLE
def test_groups_are_kept_on_disk_and_each_is_one_consumers_at_a_time(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True, discipline=Discipline(group_key="k"))
    queue = keyed(world, keys=7, durable=durable)
    assert queue.places.away > 15
    consumers = [world.subscribe(credit=40) for _ in range(3)]
    of_group: dict[int, list[int]] = {}
    seen = 0
    while seen < MANY:
        world.turn()
        held: dict[int, int] = {}
        before = seen
        for number, (consumer, subscription) in enumerate(consumers):
            for body in consumer.bodies():
                assert held.setdefault(int(body) % 7, number) == number
                of_group.setdefault(int(body) % 7, []).append(int(body))
            deliveries = consumer.take()
            seen += len(deliveries)
            for delivery in deliveries:
                world.host.settlement.settle(delivery, ACCEPTED)
            subscription.grant(40, -1)
        assert seen > before
    assert all(numbers == sorted(numbers) for numbers in of_group.values())
    world.turn()
    assert (queue.places.count, world.disk.pages) == (0, {})
    world.check()


def test_who_has_a_group_is_sent_what_of_it_is_on_disk() -> None:
    world = paged_world()
    world.queue(discipline=Discipline(group_key="k"))
    keyed(world, keys=2)
    one, granted = world.subscribe(credit=1)
    world.turn()
    [held] = one.take()
    two, _ = world.subscribe()
    world.turn()
    assert two.bodies() == [b"%d" % number for number in range(1, MANY, 2)]
    settle_all(world, two)
    granted.grant(MANY, -1)
    world.turn()
    assert one.bodies() == [b"%d" % number for number in range(2, MANY, 2)]
    world.host.settlement.settle(held, ACCEPTED)
    settle_all(world, one)
    assert world.depth() == 0
    world.check()


def test_of_a_group_whose_copies_cannot_be_read_the_others_come() -> None:
    world = paged_world()
    world.queue(discipline=Discipline(group_key="k"))
    queue = keyed(world, keys=3)
    world.disk.unreadable.add(next(iter(world.disk.pages)))
    consumer, _ = world.subscribe()
    world.turn()
    assert len(consumer.deliveries) == MANY - PAGE == queue.depth
    settle_all(world, consumer)
    assert queue.groups is not None
    assert (queue.depth, queue.groups.groups) == (0, {})
    world.check()


@DURABLE
def test_a_last_value_replaces_one_that_is_on_disk_and_leaves_it_there(durable: bool) -> None:
    world = paged_world()
    world.queue(durable=True, discipline=Discipline(last_value_key="k"))
    queue = keyed(world, keys=MANY, durable=durable)
    assert queue.places.away > 15
    pressure, paging = world.bridge.pressure, world.bridge.paging
    came = paging.came
    keyed(world, keys=MANY // 2, count=MANY // 2, durable=durable)
    assert (queue.depth, paging.came) == (MANY, came)
    assert pressure.payload == queue.octets
    assert world.check().kinds[Step.REPLACED] == MANY // 2
    if durable:
        world.crash()
    consumer, _ = world.subscribe()
    world.turn()
    newest = [b"%d" % number for number in [*range(MANY // 2, MANY), *range(MANY // 2)]]
    assert consumer.bodies() == newest
    settle_all(world, consumer)
    world.turn()
    assert (world.depth(), world.disk.pages) == (0, {})
    assert (world.bridge.pressure.octets, world.bridge.pressure.key_octets) == (0, 0)
    world.check()


def test_all_of_a_page_may_be_replaced_while_it_is_on_its_way_back() -> None:
    world = paged_world()
    world.queue(discipline=Discipline(last_value_key="k"))
    queue = keyed(world, keys=MANY)
    first = next(page for page in queue.places.ahead(0, MANY) if page.away is not None)
    world.bridge.paging.want(queue, first.number, None)
    base = queue.places.first()
    assert base is not None
    for position in range(first.number * PAGE, (first.number + 1) * PAGE):
        headers = {"k": Tagged(Kind.INTEGER, position - base)}
        message = world.message(b"new", key="q", headers=headers)
        world.host.publishing.publish(message, None, 0)
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies().count(b"new") == PAGE
    assert len(consumer.deliveries) == MANY
    settle_all(world, consumer)
    world.turn()
    assert (world.depth(), world.disk.pages) == (0, {})
    world.check()


@pytest.mark.parametrize("body", [b"%d", b"%0400d"], ids=["small", "large"])
def test_what_is_left_of_a_page_on_disk_is_written_anew(body: bytes) -> None:
    world = paged_world(12 * PAGE * (COPY_OCTETS + len(body % 0)))
    world.queue(discipline=Discipline(last_value_key="k"))
    queue = keyed(world, keys=MANY, body=body)
    each = sum(map(len, world.disk.pages.values())) // (PAGE * len(world.disk.pages))
    went = world.bridge.paging.went
    for number in range(MANY):  # of each page 8 stay
        if number % 32:
            headers = {"k": Tagged(Kind.INTEGER, number)}
            message = world.message(b"", key="q", headers=headers)
            world.host.publishing.publish(message, None, 0)
        if number % PAGE == 0:
            world.turn()
    for _ in range(10):
        world.turn()
    first = queue.places.first()
    assert first is not None
    away = [page.away for page in queue.places.ahead(first, MANY) if page.away is not None]
    spare = [one for one in away if one.messages <= 8]
    assert len(spare) > 15
    for one in away:
        assert len(world.disk.pages[one.spot[0]]) < 5 * (each * one.messages + 1024)
    assert world.bridge.paging.went - went < 3 * MANY // PAGE
    consumer, _ = world.subscribe()
    world.turn()
    stayed = {body % number for number in range(0, MANY, 32)}
    assert set(consumer.bodies()) == {b"", *stayed}
    assert len(consumer.deliveries) == MANY
    settle_all(world, consumer)
    world.turn()
    assert (world.depth(), world.disk.pages) == (0, {})
    world.check()


def test_where_the_disk_is_full_pages_that_are_back_make_room() -> None:
    world = paged_world()
    world.queue()
    queue = filled(world)
    consumer, _ = world.subscribe(credit=12 * PAGE)
    world.turn()
    settle_all(world, consumer)
    assert len(world.disk.pages) > queue.places.away
    world.disk.full = True
    filled(world, 12 * PAGE)
    assert world.bridge.paging.refused > 0
    assert len(world.disk.pages) == queue.places.away
    world.check()


def test_publishers_of_a_queue_whose_marks_take_too_much_wait_and_nobody_else() -> None:
    limits = BridgeLimits(memory_octets=20 * PAGE * COPY_OCTETS, index_octets=AWAY_OCTETS * MANY)
    world = World(limits=limits)
    world.queue()
    world.queue("other")
    filled(world)
    producer = Producer()

    def publish(token: int, queue: str) -> PublishStatus:
        message = world.message(b"x", key=queue)
        return world.host.publishing.publish(message, producer, token).status

    tokens = range(2 * PAGE)
    waiting = [token for token in tokens if publish(token, "q") == PublishStatus.PENDING]
    assert PAGE <= len(waiting) < 2 * PAGE
    assert publish(5000, "other") == PublishStatus.DONE
    world.turn()
    assert producer.published == []
    consumer, subscription = world.subscribe(credit=MANY // 5)
    world.turn()
    settle_all(world, consumer)
    world.turn()
    assert producer.published == []
    subscription.grant(MANY // 4, -1)
    world.turn()
    settle_all(world, consumer)
    world.turn()
    assert sorted(token for token, _ in producer.published) == waiting
    world.check()


def test_queues_that_are_gone_are_forgotten() -> None:
    world = paged_world()
    paging = world.bridge.paging
    for number in range(500):
        world.queue(f"q{number}")
        for _ in range(PAGE + 1 if number % 2 else 1):
            world.send(b"x", key=f"q{number}")
        world.host.declaring.delete_queue(f"q{number}")
        world.turn()
    assert len(paging._queues) < 100
    assert paging.went == 0


def test_any_consumers_take_everything_once() -> None:
    world = paged_world(8 * PAGE * COPY_OCTETS)
    world.bridge.paging.near = 2
    world.queue(durable=True)
    filled(world, 20 * PAGE, durable=True)
    chance = random.Random(7)
    consumers = [world.subscribe(credit=0) for _ in range(5)]
    seen: dict[bytes, int] = {}
    while world.depth():
        for _, subscription in consumers:
            subscription.grant(chance.randrange(700), -1)
        world.turn()
        for consumer, _ in consumers:
            for delivery in consumer.take():
                outcome = chance.choice([ACCEPTED, ACCEPTED, RELEASED, MODIFIED_FAILED, REJECTED])
                if outcome.kind in (OutcomeKind.ACCEPTED, OutcomeKind.REJECTED):
                    body = delivery.message.payload
                    seen[body] = seen.get(body, 0) + 1
                world.host.settlement.settle(delivery, outcome)
    assert seen == {b"%d" % number: 1 for number in range(20 * PAGE)}
    world.turn()
    assert world.disk.pages == {}
    world.check()


def test_a_crash_brings_back_what_is_durable_and_was_on_disk() -> None:
    world = paged_world()
    world.queue(durable=True)
    filled(world, durable=True)
    world.crash()
    consumer, _ = world.subscribe()
    world.turn()
    assert sorted(consumer.bodies(), key=int) == [b"%d" % number for number in range(MANY)]
    world.check()


class Waiting:
    """Who waits for a purge."""

    def on_looked_up(self, token: int, answer: object) -> None:
        return
