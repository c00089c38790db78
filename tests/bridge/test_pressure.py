"""Who waits while the disk refuses, and for how long."""

import tracemalloc

from support.bridge_world import Producer, World

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import PublishStatus
from gateway.errors import StoreError
from gateway.message import ACCEPTED
from gateway.store.log_rows import scan
from gateway.store.occupancy import Occupancy
from gateway.store.writes import TurnWriter


def blocked() -> tuple[World, Producer]:
    world = World()
    world.queue()
    world.turn()
    world.bridge.on_store_failed(StoreError("broken"))
    world.auto_commit = False
    return world, Producer()


def publish(world: World, producer: Producer, token: int = 1, *, durable: bool = False):
    message = world.message(b"x", key="q", durable=durable)
    return world.host.publishing.publish(message, producer, token).status


def test_a_transient_publish_waits_until_its_audit_records_are_written() -> None:
    world, producer = blocked()
    assert publish(world, producer) == PublishStatus.PENDING
    world.turn()
    world.bridge.on_store_eased()
    world.turn()
    assert producer.published == []
    world.commit()
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    world.check()


def test_a_commit_alone_does_not_let_publishers_go_on() -> None:
    world, producer = blocked()
    publish(world, producer, durable=True)
    world.turn()
    world.commit()
    world.turn()
    assert producer.published == []
    world.bridge.on_store_eased()
    assert producer.published == [(1, ACCEPTED)]
    assert publish(world, producer) == PublishStatus.DONE


def test_a_turn_without_records_is_safe_with_those_before_it() -> None:
    world, producer = blocked()
    world.bridge.wait(producer)
    world.turn()
    assert len(producer.committed) == 1


def test_what_is_over_the_high_mark_stays_so_when_the_disk_writes_again() -> None:
    world = World(limits=BridgeLimits(messages_high=2, messages_low=1))
    world.queue()
    world.bridge.on_store_failed(StoreError("broken"))
    world.send(b"1", b"2", b"3")
    world.bridge.on_store_eased()
    assert world.bridge.pressure.high
    consumer, _ = world.subscribe()
    world.turn()
    for delivery in consumer.take():
        world.host.settlement.settle(delivery, ACCEPTED)
    assert not world.bridge.pressure.high
    world.bridge.on_store_failed(StoreError("broken"))
    world.send(b"4")
    world.turn()
    for delivery in consumer.take():
        world.host.settlement.settle(delivery, ACCEPTED)
    assert world.bridge.pressure.high
    world.bridge.on_store_eased()
    assert not world.bridge.pressure.high


def test_a_copy_takes_no_more_than_is_counted_for_it() -> None:
    """In the bridge and in the store's books; of what expires, which takes most."""
    world = World()
    world.queue(durable=True)
    queue = world.host.topology.queues["q"]
    occupancy = Occupancy()
    count = 5000
    keys = [f"orders.{number}" for number in range(count)]
    tracemalloc.start()
    writes = TurnWriter()
    for number in range(count):
        message = world.message(b"%d" % number, key="q", ttl_ms=1_000_000 + number)
        message.routing_key = keys[number]  # it is kept beside the octets
        position = queue.next_position
        world.host.publishing.put(queue, message, world.host.topology.exchanges[""], None)
        writes.message(message)
        writes.enqueue(queue.number, position, message.id)
        if number % 10 == 9:  # a turn
            octets = writes.take()
            occupancy.add(number, len(octets), scan(octets))
            world.bridge.audit.take_block(world.now_ms, True)
    taken, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert world.depth() == count
    assert 0.4 * world.bridge.pressure.octets < taken < world.bridge.pressure.octets
