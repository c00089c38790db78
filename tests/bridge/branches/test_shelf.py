"""What a prepared branch is to publish, as store and audit log have it."""

import pytest
from support.branches import begun, ended, prepared
from support.bridge_world import Producer, World

from gateway.audit.schema import Kind


@pytest.mark.parametrize("commit", [True, False])
def test_of_a_branch_that_an_operator_has_ended_the_audit_log_knows_no_shelf(commit: bool) -> None:
    world = World()
    world.queue(durable=True)
    branch = prepared(world, ended(world, begun(world, b"1")))
    world.host.branches.decide(branch, commit=commit)
    world.turn()
    assert world.host.branches.shelves() == []
    before = len(world.blocks.raw())
    world.bridge.checkpoint(world.now_ms)
    world.turn()
    told = world.blocks.raw()[before:]
    assert {each["node"] for each in told if each["kind"] == Kind.QUEUE_CHECKPOINT} == {"q"}


def test_a_copy_on_it_is_no_copy_of_its_queue_and_counts_once() -> None:
    world = World()
    world.queue(durable=True)
    branch = ended(world, begun(world, b"one", b"two"))
    held = int(world.bridge.pressure.messages), int(world.bridge.pressure.octets)
    prepared(world, branch)
    assert (int(world.bridge.pressure.messages), int(world.bridge.pressure.octets)) == held
    assert (world.depth(), branch.shelf.queue.depth) == (0, 2)
    assert world.host.branches.shelves() == [branch.shelf.queue]
    world.bridge.checkpoint(world.now_ms)
    world.turn()
    depths = [
        (each["node"], each["position"])
        for each in world.blocks.raw()
        if each["kind"] == Kind.QUEUE_CHECKPOINT and each["position"]
    ]
    assert depths == [("branch 1.78.62", 2)]
    world.host.branches.rollback(branch, Producer(), 0)
    world.turn()
    assert world.host.branches.shelves() == []
    assert world.bridge.pressure.messages == 0
    world.check()


@pytest.mark.parametrize("commit", [True, False])
def test_what_leaves_it_and_its_end_say_of_which_transaction_and_branch(commit: bool) -> None:
    world = World()
    world.queue(durable=True)
    branch = prepared(world, ended(world, begun(world, b"1")))
    number = branch.transaction.number
    if commit:
        world.host.branches.commit(branch, Producer(), 0)
    else:
        world.host.branches.rollback(branch, Producer(), 0)
    world.turn()
    left = Kind.MOVED if commit else Kind.PURGED
    told = [each for each in world.blocks.raw() if each["kind"] in (left, Kind.TRANSACTION)]
    assert [each["kind"] for each in told] == [Kind.TRANSACTION, left, Kind.TRANSACTION]
    assert {(each["node"], each["transaction"]) for each in told} == {("branch 1.78.62", number)}


def test_the_end_of_one_that_was_not_prepared_does_not_name_it() -> None:
    world = World()
    world.queue(durable=True)
    branch = ended(world, begun(world, b"1"))
    world.host.branches.commit(branch, Producer(), 0)
    world.turn()
    (told,) = [each for each in world.blocks.raw() if each["kind"] == Kind.TRANSACTION]
    assert told["node"] == ""
