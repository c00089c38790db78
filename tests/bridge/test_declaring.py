"""Queues: the rules of 0-10's class queue."""

import pytest
from support.bridge_world import World, condition

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition, Kind
from gateway.wire.tagged import Tagged


def test_queue_declare_keeps_what_is_there_and_refuses_what_does_not_fit() -> None:
    world = World()
    owner = world.owner()
    host = world.host
    first = host.declaring.declare_queue(
        "q", QueueSettings(max_count=5, alternate_exchange=""), owner
    )
    assert isinstance(first, Queue)
    assert host.declaring.declare_queue("q", QueueSettings(durable=True), owner) is first
    assert not first.settings.durable
    assert host.declaring.declare_queue("q", QueueSettings(), owner, passive=True) is first
    other = QueueSettings(alternate_exchange="amq.fanout")
    assert condition(host.declaring.declare_queue("q", other, owner)) == Condition.NOT_ALLOWED
    nowhere = QueueSettings(alternate_exchange="none")
    assert condition(host.declaring.declare_queue("p", nowhere, owner)) == Condition.NOT_FOUND
    missing = host.declaring.declare_queue("p", QueueSettings(), owner, passive=True)
    assert condition(missing) == Condition.NOT_FOUND
    assert (
        condition(host.declaring.declare_queue("", QueueSettings(), owner))
        == Condition.INVALID_ARGUMENT
    )
    negative = host.declaring.declare_queue("p", QueueSettings(max_count=-1), owner)
    assert condition(negative) == Condition.INVALID_ARGUMENT
    assert isinstance(host.declaring.declare_queue("amq.topic_1", QueueSettings(), owner), Queue)


def test_a_shared_queue_cannot_be_made_exclusive() -> None:
    world = World()
    world.queue("q")
    answer = world.host.declaring.declare_queue("q", QueueSettings(exclusive=True), world.owner())
    assert condition(answer) == Condition.RESOURCE_LOCKED


@pytest.mark.parametrize("given", [{}, {"exclusive": True}, {"auto_delete": True}])
def test_what_upstreams_reject_goes_to_no_passing_queue(given: dict[str, bool]) -> None:
    world = World()
    declaring = world.host.declaring
    name = "gateway.rejected"
    passing = QueueSettings(durable=bool(given), **given)
    assert condition(declaring.declare_queue(name, passing, world.owner())) == Condition.NOT_ALLOWED
    kept = declaring.declare_queue(name, QueueSettings(durable=True), world.owner())
    assert isinstance(kept, Queue)
    assert declaring.declare_queue(name, QueueSettings(), world.owner()) is kept


def test_delete_if_unused_and_if_empty_are_respected() -> None:
    world = World()
    world.queue()
    host = world.host
    _, subscription = world.subscribe(credit=0)
    assert (
        condition(host.declaring.delete_queue("q", if_unused=True)) == Condition.PRECONDITION_FAILED
    )
    subscription.cancel()
    world.send(b"1")
    assert (
        condition(host.declaring.delete_queue("q", if_empty=True)) == Condition.PRECONDITION_FAILED
    )
    assert host.declaring.purge_queue("q") == 1
    assert host.declaring.delete_queue("q", if_empty=True, if_unused=True) is None
    assert condition(host.declaring.delete_queue("q")) == Condition.NOT_FOUND
    assert condition(host.declaring.delete_queue("")) == Condition.INVALID_ARGUMENT
    world.check()


def test_a_queues_name_has_a_longest_length_in_octets() -> None:
    world = World()
    answer = world.host.declaring.declare_queue("\u00e9" * 128, QueueSettings(), world.owner())
    assert condition(answer) == Condition.INVALID_ARGUMENT
    world.queue("\u00e9" * 127)


def test_what_nodes_and_bindings_take_together_is_bounded_in_octets() -> None:
    world = World(limits=BridgeLimits(topology_octets_max=40_000))
    host, owner = world.host, world.owner()
    kept = host.bindings.kept
    before = kept.held
    world.queue("q")
    large = QueueSettings(arguments=bytes(50_000))
    limit = Condition.RESOURCE_LIMIT_EXCEEDED
    assert condition(host.declaring.declare_queue("large", large, owner)) == limit
    exchange = host.declaring.declare_exchange("e", "direct", arguments=bytes(50_000))
    assert condition(exchange) == limit
    arguments = {"x": Tagged(Kind.OTHER, [Tagged(Kind.NULL, None)] * 1000)}
    assert condition(host.bindings.bind("q", "amq.topic", "k", arguments, b"")) == limit
    assert host.bindings.bind("q", "amq.topic", "k" * 1000, {}, b"") is None
    assert kept.held >= before + 4096 + 8 * 1000
    assert kept.refused == 3
    host.declaring.declare_exchange("e", "direct")
    host.declaring.delete_exchange("e")
    host.declaring.delete_queue("q")
    assert kept.held == before
    world.check()


def test_what_a_restart_brings_back_takes_what_it_took() -> None:
    world = World()
    world.queue("q", durable=True)
    world.host.declaring.declare_exchange("e", "topic", durable=True, arguments=bytes(100))
    world.host.bindings.bind("q", "e", "a.*.b", {}, b"")
    world.turn()
    held = world.host.bindings.kept.held
    assert held > 0
    world.restart()
    assert world.host.bindings.kept.held == held
