"""Branches of a virtual host, without any protocol: limits, time, and what is left of them."""

import pytest
from support.bridge_world import Consumer, Producer, World

from gateway.audit.schema import Kind
from gateway.bridge.branches.branch import Branch, State, Xid
from gateway.bridge.branches.branches import Verdict
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.seams import QueueSettings
from gateway.message import ACCEPTED, Refusal
from gateway.wire.tagged import Tagged

X = Xid(1, b"x", b"b")
SESSION = 77


def begun(world: World, *bodies: bytes, key: str = "q", durable: bool = True) -> Branch:
    """A branch in which these are published, and whose session is in it."""
    branch = world.host.branches.start(X, SESSION, 1, "ann")
    assert isinstance(branch, Branch)
    for body in bodies:
        message = world.message(body, key=key, durable=durable)
        world.host.transacting.publish(branch.transaction, message, None, 0)
    return branch


def ended(world: World, branch: Branch, consumer: Consumer | None = None) -> Branch:
    """Its session has ended its work, and accepted what the consumer has."""
    taken = consumer.take() if consumer is not None else []
    assert world.host.transacting.enlist(branch.transaction, taken) is None
    world.host.branches.end(branch, SESSION, taken, fail=False)
    return branch


def prepared(world: World, branch: Branch) -> Branch:
    assert world.host.branches.prepare(branch, Producer(), 0) == Verdict.OK
    world.turn()
    return branch


def again(world: World) -> Branch:
    """The branch, after a restart."""
    return world.host.branches.by_xid[X]


def test_a_time_that_is_set_when_it_is_over_does_not_shorten_what_is_remembered() -> None:
    world = World()
    branch = begun(world)
    world.pass_time(60_000)
    assert branch.state == State.EXPIRED
    world.host.branches.set_timeout(branch, 1)
    world.host.branches.end(branch, SESSION, [], fail=False)
    world.pass_time(10_000)
    assert world.host.branches.by_xid == {X: branch}


def test_a_time_may_be_set_longer_and_shorter() -> None:
    world = World()
    branch = begun(world)
    world.host.branches.set_timeout(branch, 100)
    world.pass_time(99_999)
    assert branch.state == State.OPEN
    world.host.branches.set_timeout(branch, 5)
    world.pass_time(5_000)
    assert branch.state == State.EXPIRED


def test_nothing_of_branches_that_ended_is_kept_for_their_time() -> None:
    world = World()
    world.queue()
    for _ in range(3):
        branch = ended(world, begun(world, b"1"))
        assert world.host.branches.commit(branch, Producer(), 0) == Verdict.OK
        world.turn()
    world.pass_time(100_000)
    assert world.host.branches.by_xid == {}
    assert world.host.branches.by_shelf == {}
    assert world.depth() == 3
    world.check()


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


def test_one_user_may_have_half_of_the_branches_and_what_is_over_makes_room() -> None:
    world = World(limits=BridgeLimits(branches_max=4))
    branches = world.host.branches

    def starts(name: bytes, user: str) -> bool:
        made = branches.start(Xid(1, name, b""), SESSION, 1, user)
        if isinstance(made, Branch):
            branches.end(made, SESSION, [], fail=False)
        return isinstance(made, Branch)

    assert [starts(b"%d" % number, "ann") for number in range(3)] == [True, True, False]
    assert [starts(b"j%d" % number, "joe") for number in range(3)] == [True, True, False]
    assert not starts(b"t", "tom")
    world.pass_time(60_000)
    assert starts(b"3", "ann")
    assert starts(b"t", "tom")
    assert sorted(xid.global_id for xid in branches.by_xid) == [b"3", b"j0", b"j1", b"t"]


def test_xids_are_of_their_host() -> None:
    world = World(hosts=["/", "b"])
    for host in world.bridge.hosts.values():
        assert not isinstance(host.branches.start(X, SESSION, 1, ""), Refusal)


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
