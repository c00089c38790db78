"""Branches of a virtual host, without any protocol: limits, time, and what is left of them."""

from support.branches import SESSION, X, begun, ended
from support.bridge_world import Producer, World

from gateway.bridge.branches.branch import Branch, State, Xid
from gateway.bridge.branches.branches import Verdict
from gateway.bridge.limits import BridgeLimits
from gateway.message import Refusal


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


def test_what_can_only_be_rolled_back_makes_room_before_its_time_is_over() -> None:
    world = World(limits=BridgeLimits(branches_max=4))
    branches = world.host.branches
    made = [branches.start(Xid(1, b"%d" % number, b""), SESSION, 1, "ann") for number in range(2)]
    for branch in made:
        assert isinstance(branch, Branch)
        branches.set_timeout(branch, 3600)
        assert isinstance(branches.start(Xid(1, b"more", b""), SESSION, 1, "ann"), Refusal)
    for branch in made:
        assert isinstance(branch, Branch)
        branches.leave(branch, SESSION)
    assert isinstance(branches.start(Xid(1, b"more", b""), SESSION, 1, "ann"), Branch)
    assert sorted(xid.global_id for xid in branches.by_xid) == [b"1", b"more"]


def test_xids_are_of_their_host() -> None:
    world = World(hosts=["/", "b"])
    for host in world.bridge.hosts.values():
        assert not isinstance(host.branches.start(X, SESSION, 1, ""), Refusal)
