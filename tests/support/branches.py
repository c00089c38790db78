"""What the tests of branches have in common that know no protocol."""

from support.bridge_world import Consumer, Producer, World

from gateway.bridge.branches.branch import Branch, Xid
from gateway.bridge.branches.branches import Verdict

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
    """The same, which is prepared."""
    assert world.host.branches.prepare(branch, Producer(), 0) == Verdict.OK
    world.turn()
    return branch


def again(world: World) -> Branch:
    """The branch, after a restart."""
    return world.host.branches.by_xid[X]
