"""A large transaction at an upstream ends over several turns, and all the same as one."""

import pytest
from support.bridge_world import Producer, World
from support.remotes import FakeBranch, FakeRules
from support.work import units_of

from gateway.bridge.seams import PublishStatus
from gateway.message import ACCEPTED, Condition, OutcomeKind, Refusal
from gateway.wire.work import COPY, SHARE

MANY = 3 * SHARE // COPY
TURN = 3 * SHARE  # at most: a share of entering, one of what is spread, one of dispatching
LOST = Refusal(Condition.INTERNAL_ERROR, "the upstream is gone")


def presumed(number: int) -> tuple[World, FakeBranch, Producer]:
    """A transaction whose publishes the upstream has taken, and whose commit it is asked for."""
    rules = FakeRules()
    remote = rules.add("r")
    world = World(rules=rules)
    producer = Producer()
    transacting = world.host.transacting
    transaction = transacting.begin(1)
    for token in range(number):
        transacting.publish(transaction, world.message(key="r"), producer, token)
    world.turn()
    branch = remote.branches[-1]
    branch.work.on_begun()
    taken = 0
    while taken < number:
        world.turn()
        for delivery in remote.relays["r"].take():
            branch.work.on_presumed(delivery, ACCEPTED)
            taken += 1
    world.turn()
    producer.published.clear()
    assert transacting.commit(transaction, [], producer, -1).status == PublishStatus.PENDING
    assert branch.discharged == [False]
    return world, branch, producer


@pytest.mark.parametrize(
    ("how", "condition"), [("committed", None), ("refused", LOST.condition), ("lost", "doubt")]
)
def test_what_ends_with_a_very_large_one_ends_over_several_turns(
    how: str, condition: Condition | str | None
) -> None:
    world, branch, producer = presumed(MANY)
    if how == "lost":
        condition = Condition.IN_DOUBT
        asked = units_of(lambda: branch.work.on_lost(LOST))
    else:
        refusal = None if how == "committed" else LOST
        asked = units_of(lambda: branch.work.on_discharged(refusal))
    assert asked <= SHARE
    turns = 0
    more = [True]
    while more[-1]:
        assert units_of(lambda: more.append(world.bridge.end_turn(world.now_ms))) <= TURN
        turns += 1
        assert not (more[-1] and producer.published)
        assert world.bridge.turns.open == more[-1]
        world.commit()
    assert turns >= 3
    ((token, outcome),) = producer.published
    assert token == -1
    if condition is None:
        assert outcome == ACCEPTED
    else:
        assert (outcome.kind, outcome.condition) == (OutcomeKind.REJECTED, condition)
    assert world.depth("r") == 0
    assert world.bridge.idle()
    world.check()


def test_a_small_one_ends_at_once() -> None:
    world, branch, producer = presumed(3)
    branch.work.on_discharged(None)
    world.turn()
    assert producer.published == [(-1, ACCEPTED)]
    assert world.depth("r") == 0
    world.check()
