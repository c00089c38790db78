"""What a branch has accepted is its own, whatever its queue would do with it."""

import pytest
from support.branches import again, begun, ended, prepared
from support.bridge_world import Producer, World

from gateway.bridge.branches.branch import Branch
from gateway.bridge.branches.branches import Verdict
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.wire.tagged import Tagged

RING = Discipline(policy=Policy.RING)


def ringing(prepare: bool) -> tuple[World, Branch]:
    """A ring of one copy, which a branch has accepted."""
    world = World()
    world.queue(durable=True, max_count=1, discipline=RING)
    world.send(b"1", durable=True)
    consumer, subscription = world.subscribe(credit=1)
    world.turn()
    branch = ended(world, begun(world), consumer)
    subscription.cancel()
    if prepare:
        prepared(world, branch)
    world.send(b"2", durable=True)
    world.turn()
    return world, branch


def test_the_group_of_what_a_branch_has_accepted_is_nobody_elses() -> None:
    world = World()
    world.queue(durable=True, discipline=Discipline(group_key="g"))
    for _ in range(2):
        headers = {"g": Tagged(0x95, "one")}
        message = world.message(b"m", key="q", durable=True, headers=headers)
        world.host.publishing.publish(message, None, 0)
    consumer, subscription = world.subscribe(credit=1)
    world.turn()
    branch = ended(world, begun(world), consumer)
    prepared(world, branch)
    subscription.cancel()
    other, _ = world.subscribe()
    world.turn()
    assert other.bodies() == []
    world.crash()
    other, _ = world.subscribe()
    world.turn()
    assert other.bodies() == []
    world.host.branches.rollback(again(world), Producer(), 0)
    world.turn()
    assert other.bodies() == [b"m", b"m"]
    world.check()


def test_a_ring_takes_back_what_a_branch_has_that_is_not_prepared() -> None:
    world, branch = ringing(False)
    assert [world.depth(), world.host.topology.queues["q"].unsettled] == [1, 0]
    prepared(world, branch)
    world.crash()
    world.check()
    assert list(again(world).transaction.retirements) == []
    assert world.host.branches.commit(again(world), Producer(), 0) == Verdict.OK
    world.turn()
    assert world.depth() == 1
    world.check()


@pytest.mark.parametrize("commits", [True, False])
def test_a_ring_keeps_what_a_prepared_branch_has_beside_what_it_holds(commits: bool) -> None:
    world, branch = ringing(True)
    world.check()
    branches = world.host.branches
    decide = branches.commit if commits else branches.rollback
    assert decide(branch, Producer(), 0) == Verdict.OK
    world.turn()
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == ([b"2"] if commits else [b"1", b"2"])
    world.check()


def test_an_accept_of_what_was_only_browsed_is_no_work() -> None:
    world = World()
    world.queue(durable=True)
    world.send(b"1", durable=True)
    consumer, _ = world.subscribe(acquire=False)
    world.turn()
    branch = ended(world, begun(world), consumer)
    assert world.host.branches.prepare(branch, Producer(), 0) == Verdict.READ_ONLY
    assert world.depth() == 1
    world.check()
