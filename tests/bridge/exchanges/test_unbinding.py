"""Very many bindings go over several turns, and nobody sees any of them meanwhile."""

import pytest
from support.bridge_world import World, bind
from support.long_work import Waiter, turns
from support.work import units_of

from gateway.audit.schema import Reason
from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.exchanges.exchange import TYPES
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import Bound, PublishStatus
from gateway.message import Kind
from gateway.wire.tagged import Tagged
from gateway.wire.work import BINDING, NODE, SHARE, VERB

MANY = 3 * SHARE // BINDING
A_TURN = SHARE + VERB // 10


def bound(world: World, exchange: str = "x", type: str = "direct", *, durable: bool = True) -> None:
    """A queue with very many bindings to one exchange, and one to another."""
    world.queue(durable=durable)
    world.host.declaring.declare_exchange(exchange, type, durable=durable)
    for number in range(MANY):
        bind(world, "q", exchange, f"k.{number}")
    bind(world, "q", "amq.topic", "a")
    world.turn()


def rows(world: World) -> int:
    return len([row for row in world.store.topology() if row.kind == RowKind.BINDING])


def published(world: World, key: str, exchange: str = "x") -> PublishStatus:
    message = world.message(b"x", exchange=exchange, key=key)
    return world.host.publishing.publish(message, None, 0).status


@pytest.mark.parametrize("type", TYPES)
def test_a_queue_with_very_many_bindings_is_gone_at_once_and_they_go_later(type: str) -> None:
    world = World()
    empty = world.host.bindings.kept.held
    bound(world, type=type)
    assert rows(world) == MANY + 1
    assert units_of(lambda: world.host.declaring.delete_queue("q")) <= SHARE + NODE + 10 * BINDING
    exchange = world.host.topology.find_exchange("x")
    assert exchange is not None
    assert exchange.bound == 0
    assert exchange.every() == []
    assert published(world, "k.1") == PublishStatus.UNROUTABLE
    assert world.host.bindings.bound("x", key="k.1").key_not_matched
    assert world.host.bindings.kept.held > empty
    assert turns(world, A_TURN) in (2, 3)
    assert world.host.topology.keeping_out == 0
    assert world.host.declaring.delete_exchange("x", if_unused=True) is None
    assert world.host.bindings.kept.held == empty
    world.check()


def test_an_exchange_with_very_many_bindings_is_gone_at_once_and_they_go_later() -> None:
    world = World()
    bound(world)
    assert (
        units_of(lambda: world.host.declaring.delete_exchange("x")) <= SHARE + NODE + 10 * BINDING
    )
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert queue.bound_to() == [("amq.topic", "a")]
    assert "x" not in world.host.topology.exchanges
    world.host.declaring.declare_exchange("x", "direct")  # another of that name
    bind(world, "q", "x", "k.1")
    assert published(world, "k.1") == PublishStatus.DONE
    assert turns(world, A_TURN) in (2, 3)
    assert queue.bound_to() == [("amq.topic", "a"), ("x", "k.1")]
    assert published(world, "k.1") == PublishStatus.DONE
    world.check()


def test_a_queue_of_the_same_name_has_its_own_bindings_while_the_old_ones_go() -> None:
    world = World()
    bound(world)
    world.host.declaring.delete_queue("q")
    world.queue(durable=True)
    bind(world, "q", "x", "k.7")
    assert published(world, "k.7") == PublishStatus.DONE
    assert published(world, "k.8") == PublishStatus.UNROUTABLE
    turns(world, A_TURN)
    assert published(world, "k.7") == PublishStatus.DONE
    assert world.depth() == 2
    world.crash()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    assert queue.bound_to() == [("x", "k.7")]
    assert world.bridge.problems == []
    world.check()


@pytest.mark.parametrize("deletes", ["queue", "exchange"])
def test_a_kill_in_the_middle_leaves_nothing_of_it(deletes: str) -> None:
    world = World()
    bound(world)
    if deletes == "queue":
        world.host.declaring.delete_queue("q")
    else:
        world.host.declaring.delete_exchange("x")
    assert world.bridge.end_turn(world.now_ms)
    world.crash()
    assert world.bridge.problems == []
    assert rows(world) == (0 if deletes == "queue" else 1)
    assert (world.host.topology.find_queue("q") is None) == (deletes == "queue")
    world.check()


def test_who_deletes_waits_until_the_last_is_gone_and_others_do_not() -> None:
    world = World()
    bound(world)
    world.queue("small")
    bind(world, "small", "x", "k")
    unbinding = world.host.bindings.unbinding
    world.host.declaring.delete_queue("q")
    waiter = Waiter()
    assert unbinding.tell(waiter, 7)
    world.bridge.end_turn(world.now_ms)
    world.host.declaring.delete_queue("small")
    assert not unbinding.tell(Waiter(), 8)  # there was room for it
    assert waiter.told == []
    turns(world, A_TURN)
    assert waiter.told == [(7, None)]


def test_an_auto_delete_exchange_goes_with_the_queue_that_was_bound_to_it() -> None:
    world = World()
    world.queue()
    world.host.declaring.declare_exchange("x", "topic", auto_delete=True)
    for number in range(MANY):
        bind(world, "q", "x", f"k.{number}")
    world.host.declaring.delete_queue("q")
    assert "x" not in world.host.topology.exchanges
    turns(world, A_TURN)
    world.check()


def test_there_is_room_for_other_bindings_as_the_old_ones_go() -> None:
    world = World(limits=BridgeLimits(bindings_max=MANY + 1))
    bound(world)
    world.host.declaring.delete_queue("q")
    world.queue()
    refusal = world.host.bindings.bind("q", "x", "k", {}, b"")
    assert refusal is None  # some are gone
    turns(world, A_TURN)
    for number in range(MANY):
        assert world.host.bindings.bind("q", "x", str(number), {}, b"") is None


def test_the_audit_log_says_once_how_many_bindings_a_queue_lost() -> None:
    world = World()
    bound(world, durable=False)
    world.host.declaring.delete_queue("q")
    turns(world, A_TURN)
    unbound = [
        record.copies for record in world.blocks.records() if record.reason == Reason.UNBOUND
    ]
    assert sorted(unbound) == [1, MANY]


def test_the_bindings_of_a_session_go_over_several_turns_unless_others_want_them() -> None:
    world = World()
    owner, other = world.owner(), world.owner()
    world.queue()
    for number in range(MANY):
        world.host.bindings.bind("q", "amq.direct", str(number), {}, b"", owner, scoped=True)
    exchange = world.host.topology.find_exchange("amq.direct")
    assert exchange is not None
    assert units_of(lambda: world.host.owners.release(owner)) <= SHARE + NODE + 10 * BINDING
    assert 0 < exchange.bound < MANY
    # The first were made first and go last: some of them are wanted by somebody else meanwhile.
    world.host.bindings.bind("q", "amq.direct", "0", {}, b"", other, scoped=True)
    world.host.bindings.bind("q", "amq.direct", "1", {}, b"")
    assert turns(world, A_TURN) >= 2
    assert [each.key for each in exchange.every()] == ["0", "1"]
    world.host.owners.release(other)
    assert [each.key for each in exchange.every()] == ["1"]
    world.host.declaring.delete_queue("q")
    world.check()


def test_a_queue_is_deleted_while_its_bindings_of_a_session_go() -> None:
    world = World()
    owner = world.owner()
    world.queue()
    for number in range(MANY):
        world.host.bindings.bind("q", "amq.direct", str(number), {}, b"", owner, scoped=True)
    world.host.owners.release(owner)
    world.host.declaring.delete_queue("q")
    turns(world, A_TURN)
    assert world.host.bindings.kept.held == World().host.bindings.kept.held
    assert published(world, "1", "amq.direct") == PublishStatus.UNROUTABLE
    world.check()


def test_very_many_bindings_by_one_key_go_over_several_turns_for_one_that_is_exclusive() -> None:
    world = World()
    for number in range(MANY):
        world.queue(f"q{number}")
        bind(world, f"q{number}", "amq.direct", "k")
    world.queue()
    world.turn()
    arguments = {"qpid.exclusive-binding": Tagged(Kind.INTEGER, 1)}
    refused = world.host.bindings.bind("q", "amq.direct", "k", arguments, b"")
    assert refused is None
    waiter = Waiter()
    assert world.host.bindings.unbinding.tell(waiter, 7)
    world.host.declaring.delete_queue("q1")
    assert turns(world, A_TURN) in (2, 3)
    assert waiter.told == [(7, None)]
    assert world.host.bindings.bound("amq.direct", "q", "k") == Bound()
    exchange = world.host.topology.find_exchange("amq.direct")
    assert exchange is not None and exchange.bound == 1
    world.check()
