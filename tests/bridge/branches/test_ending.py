"""Prepare and rollback of very much, over several turns that are one."""

from support.branches import again, begun, ended
from support.bridge_world import Producer, World

from gateway.bridge.branches.branch import State
from gateway.bridge.branches.branches import Verdict
from gateway.message import ACCEPTED


def test_a_large_branch_is_prepared_and_ended_over_several_turns_and_told_then() -> None:
    world = World()
    world.queue(durable=True)
    world.send(*[b"m"] * 3_000, durable=True)
    consumer, _ = world.subscribe()
    world.turn()
    branch = ended(world, begun(world, *[b"n"] * 4_000), consumer)
    told = Producer()
    branches = world.host.branches
    assert branches.prepare(branch, told, 5) == Verdict.PENDING
    assert branch.state == State.PREPARING
    world.turn()
    assert told.published == [(5, ACCEPTED)]
    world.crash()
    world.check()
    branch = again(world)
    assert branches is not world.host.branches
    assert len(branch.transaction.retirements) == 3_000
    assert world.host.branches.commit(branch, told, 6) == Verdict.PENDING
    world.turn()
    assert [token for token, _ in told.published] == [5, 6]
    assert world.depth() == 4_000
    world.check()
    world.crash()
    assert world.depth() == 4_000
    assert world.host.branches.by_xid == {}


def test_one_of_very_many_copies_without_room_lets_all_of_it_go() -> None:
    world = World()
    world.queue(max_count=3_999)
    branch = ended(world, begun(world, *[b"n"] * 4_000))
    told = Producer()
    assert world.host.branches.prepare(branch, told, 1) == Verdict.PENDING
    world.turn()
    assert [outcome.kind for _, outcome in told.published] != [ACCEPTED.kind]
    assert branch.state == State.DOOMED
    queue = world.host.topology.queues["q"]
    assert (queue.promised, queue.promised_octets) == (0, 0)
    assert world.bridge.pressure.messages == 0
    world.check()
