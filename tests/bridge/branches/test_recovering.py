"""Branches that come back after a restart, with what was durable of them."""

from support.branches import SESSION, X, again, begun, ended, prepared
from support.bridge_world import Producer, World

from gateway.audit.schema import Kind
from gateway.bridge.branches.branch import Branch
from gateway.bridge.branches.branches import Verdict
from gateway.bridge.seams import QueueSettings


def test_a_copy_goes_to_each_queue_that_it_was_routed_to_and_only_durable_ones_come_back() -> None:
    world = World()
    world.queue("a", durable=True)
    world.queue("b", durable=True)
    world.queue("c")
    for name in "abc":
        world.host.bindings.bind(name, "amq.fanout", "", {}, b"")
    branch = begun(world)
    message = world.message(b"1", exchange="amq.fanout", durable=True)
    world.host.transacting.publish(branch.transaction, message, None, 0)
    prepared(world, ended(world, branch))
    world.crash()
    world.check()
    world.queue("c")
    world.host.branches.commit(again(world), Producer(), 0)
    world.turn()
    assert [world.depth(name) for name in "abc"] == [1, 1, 0]
    world.check()


def test_a_queue_that_is_not_there_after_a_restart_gets_nothing() -> None:
    world = World()
    world.queue("a", durable=True)
    world.queue("b", durable=True)
    branch = begun(world, b"1", key="a")
    message = world.message(b"2", key="b", durable=True)
    world.host.transacting.publish(branch.transaction, message, None, 0)
    prepared(world, ended(world, branch))
    world.host.owners.delete(world.host.topology.queues["a"])
    world.turn()
    for _ in range(2):
        world.crash()
        world.check()
    world.host.branches.commit(again(world), Producer(), 0)
    world.turn()
    assert world.depth("b") == 1
    assert world.check().kinds[Kind.PURGED] == 1
    assert world.bridge.pressure.messages == 1


def test_what_was_accepted_of_a_queue_that_was_deleted_stays_accepted_over_restarts() -> None:
    world = World()
    world.queue("q", durable=True)
    world.send(b"1", durable=True)
    consumer, _ = world.subscribe()
    world.turn()
    branch = ended(world, begun(world), consumer)
    prepared(world, branch)
    world.host.owners.delete(world.host.topology.queues["q"], spared=1)
    world.turn()
    world.crash()
    world.check()
    assert len(again(world).transaction.retirements) == 1
    world.host.branches.commit(again(world), Producer(), 0)
    world.turn()
    world.check()
    world.crash()
    assert world.check().kinds[Kind.PURGED] == 0


def test_a_branch_of_a_host_that_is_not_configured_waits_for_it() -> None:
    world = World(hosts=["/", "b"])
    world.queue(durable=True)
    host = world.bridge.hosts["b"]
    owner = world.owner()
    host.declaring.declare_queue("q", QueueSettings(durable=True), owner)
    branch = host.branches.start(X, SESSION, 1, "")
    assert isinstance(branch, Branch)
    message = world.message(b"1", key="q", durable=True)
    host.transacting.publish(branch.transaction, message, None, 0)
    host.branches.end(branch, SESSION, [], fail=False)
    host.branches.prepare(branch, Producer(), 0)
    world.turn()
    world.host_names = ["/"]
    world.crash()
    assert any("'b' is not configured" in problem for problem in world.bridge.problems)
    world.check()
    world.host_names = ["/", "b"]
    world.crash()
    host = world.bridge.hosts["b"]
    assert host.branches.commit(host.branches.by_xid[X], Producer(), 0) == Verdict.OK
    world.turn()
    assert host.topology.queues["q"].depth == 1
    world.check()


def test_what_a_transient_queue_had_is_gone_with_it() -> None:
    world = World()
    world.queue()
    world.send(b"1")
    consumer, _ = world.subscribe()
    world.turn()
    prepared(world, ended(world, begun(world, b"2"), consumer))
    world.crash()
    world.check()
    assert again(world).transaction.held == []
    assert world.host.branches.commit(again(world), Producer(), 0) == Verdict.OK
    world.turn()
    world.crash()
    assert world.host.branches.by_xid == {}
