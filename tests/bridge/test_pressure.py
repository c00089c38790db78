"""Who waits while the disk refuses, and for how long."""

from support.bridge_world import Producer, World

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import PublishStatus
from gateway.errors import StoreError
from gateway.message import ACCEPTED


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
