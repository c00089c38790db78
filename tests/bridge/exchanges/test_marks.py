"""Exchanges that count what comes, and that remember what came last."""

import pytest
from support.bridge_world import World, bind

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.seams import PublishStatus
from gateway.bridge.transaction import Transaction
from gateway.message import ACCEPTED


def world_with(type: str = "direct", *, numbers: bool = False, remembers: bool = False) -> World:
    world = World()
    made = world.host.declaring.declare_exchange(
        "x", type, durable=True, numbers=numbers, remembers=remembers
    )
    assert isinstance(made, Exchange)
    world.queue(durable=True)
    return world


def publish(
    world: World,
    body: bytes,
    key: str = "k",
    transaction: Transaction | None = None,
    ttl_ms: int = -1,
) -> PublishStatus:
    message = world.message(body, exchange="x", key=key, ttl_ms=ttl_ms)
    if transaction is not None:
        return world.host.transacting.publish(transaction, message, None, 0).status
    return world.host.publishing.publish(message, None, 0).status


def bodies(world: World, queue: str = "q") -> list[bytes]:
    """What is in a queue, which is empty then."""
    consumer, subscription = world.subscribe(queue)
    world.turn()
    taken = consumer.take()
    for delivery in taken:
        world.host.settlement.settle(delivery, ACCEPTED)
    subscription.cancel()
    world.turn()
    return [delivery.message.payload for delivery in taken]


def test_each_message_has_its_number_also_those_that_no_queue_takes() -> None:
    world = world_with(numbers=True)
    assert publish(world, b"nowhere") == PublishStatus.UNROUTABLE
    bind(world, "q", "x", "k")
    world.queue("p")
    bind(world, "p", "x", "k")
    for body in (b"one", b"two"):
        publish(world, body)
    told = [b"qpid.msg_sequence=2L;one", b"qpid.msg_sequence=3L;two"]
    assert bodies(world) == bodies(world, "p") == told
    world.check()


def test_an_alternate_exchange_that_numbers_does_so_with_what_finds_no_queue() -> None:
    world = world_with(numbers=True)
    bind(world, "q", "x", "k")
    world.host.declaring.declare_exchange("y", "direct", alternate_exchange="x", numbers=True)
    message = world.message(b"one", exchange="y", key="k")
    world.host.publishing.publish(message, None, 0)
    assert bodies(world) == [b"qpid.msg_sequence=1L;qpid.msg_sequence=1L;one"]


def test_numbers_of_an_exchange_begin_anew_after_a_crash_and_messages_keep_theirs() -> None:
    world = world_with(numbers=True)
    bind(world, "q", "x", "k")
    world.host.publishing.publish(
        world.message(b"one", exchange="x", key="k", durable=True), None, 0
    )
    world.turn()
    world.crash()
    publish(world, b"two")
    assert bodies(world) == [b"qpid.msg_sequence=1L;one", b"qpid.msg_sequence=1L;two"]
    world.check()


@pytest.mark.parametrize("type", ["direct", "topic", "fanout", "headers"])
def test_a_queue_that_is_bound_later_gets_what_came_last(type: str) -> None:
    world = world_with(type, remembers=True)
    publish(world, b"one")
    publish(world, b"two")
    bind(world, "q", "x", "k")
    bind(world, "q", "x", "k")
    assert bodies(world) == [b"two"]
    world.queue("p")
    bind(world, "p", "x", "other")
    expected = [] if type in ("direct", "topic") else [b"two"]
    assert bodies(world, "p") == expected
    assert bodies(world) == [b"two"]  # once more: all who are bound get it
    world.check()


def test_a_second_key_of_a_fanout_exchange_brings_nothing_once_more() -> None:
    world = world_with("fanout", remembers=True)
    bind(world, "q", "x", "k")
    publish(world, b"one")
    bind(world, "q", "x", "l")
    assert bodies(world) == [b"one"]


def test_what_is_over_its_time_or_not_committed_is_not_remembered() -> None:
    world = world_with(remembers=True)
    publish(world, b"one", ttl_ms=10)
    world.pass_time(20)
    bind(world, "q", "x", "k")
    assert bodies(world) == []
    publish(world, b"two", transaction=world.host.transacting.begin(1))
    world.queue("p")
    bind(world, "p", "x", "k")
    assert bodies(world, "p") == []


def test_what_is_remembered_counts_among_what_is_held_until_the_exchange_goes() -> None:
    world = world_with(remembers=True)
    empty = world.bridge.pressure.octets
    publish(world, b"x" * 1000)
    held = world.bridge.pressure.octets
    assert held > empty + 1000
    publish(world, b"x" * 1000)
    assert world.bridge.pressure.octets == held
    world.host.declaring.delete_exchange("x")
    assert world.bridge.pressure.octets == empty


def test_nothing_is_remembered_over_a_crash_but_that_it_is_to_be() -> None:
    world = world_with(remembers=True)
    publish(world, b"one")
    world.turn()
    world.crash()
    bind(world, "q", "x", "k")
    assert bodies(world) == []
    publish(world, b"two")
    world.queue("p")
    bind(world, "p", "x", "k")
    assert bodies(world, "p") == [b"two"]
    world.check()
