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
