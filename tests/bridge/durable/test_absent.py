"""What the store holds for queues not configured: kept, said, accounted for at each start."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.bridge_world import Consumer, World

from gateway.audit.digests import entry_mix
from gateway.audit.schema import Kind
from gateway.bridge.durable.absent import AbsentQueue
from gateway.bridge.durable.topology_rows import QueueRow, RowKind, read_identity
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import QueueSettings, SubscribeOptions
from gateway.message import Refusal
from gateway.store.writes import TurnWriter


def of_a_later_version(value: bytes) -> bytes:
    return b"\x02" + value[1:] + b"more"


def cut(value: bytes) -> bytes:
    return value[:-1]


def garbage(_value: bytes) -> bytes:
    return b"\x01garbage"


def rewrite(world: World, change: Callable[[bytes], bytes]) -> None:
    """Every row of a queue that the store has is another."""
    writes = TurnWriter()
    for row in world.store.topology():
        if row.kind == RowKind.QUEUE:
            writes.topology(row.kind, row.key, change(row.value))
    world.store.submit(0, writes.take(), b"")


def with_two_copies() -> World:
    world = World()
    world.queue(durable=True)
    world.send(b"1", b"2", durable=True)
    world.turn()
    return world


def with_a_copy_at(host: str) -> World:
    world = World(hosts=["/", host])
    other = world.bridge.hosts[host]
    answer = other.declaring.declare_queue("q", QueueSettings(durable=True), world.owner())
    assert not isinstance(answer, Refusal)
    other.publishing.publish(world.message(key="q", durable=True), None, 0)
    world.turn()
    world.host_names = ["/"]
    return world


def reads(world: World, host: str, consumer: Consumer) -> None:
    """It gets a message of ``q``."""
    subscription = world.bridge.hosts[host].subscribing.subscribe(
        "q", consumer, world.owner(), SubscribeOptions()
    )
    assert isinstance(subscription, Subscription)
    subscription.grant(1, UNLIMITED)
    world.turn()


def nodes_recovered(world: World) -> list[str]:
    """Of the copies that the latest start has brought back."""
    records = world.blocks.records()
    last = max(i for i, one in enumerate(records) if one.kind == Kind.INCARNATION_STARTED)
    return [one.node for one in records[last:] if one.kind == Kind.RECOVERED]


def test_an_absent_queue_sums_up_what_it_holds() -> None:
    queue = AbsentQueue(7)
    queue.hold(1, 10, 100)
    queue.hold(2, 11, 50)
    assert (queue.node, queue.depth, queue.octets) == (7, 2, 150)
    assert queue.checksum == entry_mix(1, 10) ^ entry_mix(2, 11)


def test_copies_of_a_host_that_is_not_configured_are_recovered_at_each_start() -> None:
    world = with_a_copy_at("other")
    for again in (world.crash, world.restart, world.crash):
        again()
        assert nodes_recovered(world) == ["other/q"]
        assert (world.bridge.counts.orphaned, world.bridge.counts.recovered) == (1, 0)
        assert world.bridge.pressure.messages == 0
        world.check()
    world.host_names = ["/", "other"]
    world.restart()
    assert nodes_recovered(world) == ["other/q"]
    queue = world.bridge.hosts["other"].topology.find_queue("q")
    assert queue is not None and queue.depth == 1
    world.check()


def test_what_may_have_been_seen_is_marked_when_its_host_is_back() -> None:
    world = with_a_copy_at("other")
    reads_at_first, reads_again = Consumer(), Consumer()
    reads(world, "other", reads_at_first)
    world.crash()
    world.restart()
    world.host_names = ["/", "other"]
    world.restart()
    reads(world, "other", reads_again)
    counts = [each.delivery_count for each in reads_at_first.deliveries + reads_again.deliveries]
    assert counts == [0, 1]


def test_a_deleted_queue_of_a_host_that_is_not_configured_ends_when_the_host_is_back() -> None:
    world = with_a_copy_at("other")
    other = world.bridge.hosts["other"]
    reads(world, "other", Consumer())
    assert other.declaring.delete_queue("q") is None
    world.turn()
    for _ in range(2):
        world.crash()
        assert nodes_recovered(world) == ["other/q"]
        assert world.check().kinds[Kind.PURGED] == 0
    world.host_names = ["/", "other"]
    world.crash()
    assert nodes_recovered(world) == ["other/q"]
    assert world.check().kinds[Kind.PURGED] == 1
    assert [row.kind for row in world.store.topology()] == [RowKind.PLAIN_HOST]


def test_a_queue_whose_row_is_of_another_version_is_kept_until_that_version_is_back() -> None:
    world = with_two_copies()
    before = {row.key: row.value for row in world.store.topology() if row.kind == RowKind.QUEUE}
    rewrite(world, of_a_later_version)
    for again in (world.crash, world.restart):
        again()
        [problem] = world.bridge.problems
        assert "is unreadable" in problem and "what the queue holds is kept" in problem
        assert nodes_recovered(world) == ["q", "q"]
        assert world.host.topology.find_queue("q") is None
        world.check()
    rewrite(world, lambda value: next(iter(before.values())))
    world.crash()
    assert world.bridge.problems == []
    assert world.depth() == 2
    kinds = {row.kind for row in world.store.topology()}
    assert kinds == {RowKind.QUEUE, RowKind.PLAIN_HOST}
    world.check()


@pytest.mark.parametrize("damage", [of_a_later_version, cut])
def test_a_queue_whose_row_is_unreadable_may_be_declared_again_beside_what_is_kept(
    damage: Callable[[bytes], bytes],
) -> None:
    world = with_two_copies()
    rewrite(world, damage)
    world.crash()
    world.queue(durable=True)
    world.send(b"3", durable=True)
    world.check()
    for again in (world.crash, world.restart):
        again()
        assert world.bridge.problems == ["queue 'q' has no row; what it held is kept"]
        assert nodes_recovered(world) == ["q", "q", "q"]
        assert world.depth() == 1
        world.check()


def test_copies_whose_queue_nothing_names_are_kept_and_said_to_be_lost_to_the_accounting() -> None:
    world = with_two_copies()
    rewrite(world, garbage)
    for again in (world.crash, world.restart):
        again()
        unreadable, nameless = world.bridge.problems
        assert "is unreadable" in unreadable and "is kept" not in unreadable
        assert "its 2 messages are kept, but the accounting will call them lost" in nameless
        assert nodes_recovered(world) == []
        assert world.bridge.counts.orphaned == 2


def test_the_identity_of_a_row_is_believed_only_if_its_key_says_the_same() -> None:
    row = QueueRow("/", "q", 7, QueueSettings(durable=True))
    found = read_identity("1:/1:q", cut(row.encoded()))
    assert found is not None and (found.host, found.name, found.number) == ("/", "q", 7)
    assert read_identity("5:other1:q", row.encoded()) is None
    assert read_identity("1:/1:q", b"\x01\x00") is None
