"""What a manager hears of branches that an operator has decided about, over 0-10."""

import pytest
from support.branches_0_10 import (
    COMMITTED_BEFORE,
    OK,
    ROLLED_BACK_BEFORE,
    asks,
    branch_of,
    commit,
    forget,
    prepare,
    recovers,
    rollback,
    selected,
    start,
    steps,
    works,
)
from support.rules import rule
from support.talk_0_10 import Gateway
from support.transactions_0_10 import check, gateway_with

from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Kind, Outcome, Reason


@pytest.mark.parametrize("restart", ["", "stop", "crash"])
@pytest.mark.parametrize("decision", [True, False])
def test_a_decision_is_answered_until_the_branch_is_forgotten(decision: bool, restart: str) -> None:
    gateway = gateway_with(durable=True)
    works(selected(gateway), b"1", durable=True)
    client = selected(gateway)
    assert asks(client, prepare()) == OK
    branch = branch_of(gateway)
    assert branch is not None
    world = gateway.world
    world.bridge.act_for_operator(world.now_ms, "ctl", "192.0.2.9:1")
    world.host.branches.decide(branch, commit=decision)
    world.turn()
    assert world.depth() == (1 if decision else 0)
    check(gateway)
    if restart:
        world.crash() if restart == "crash" else world.restart()
        gateway = Gateway(world=world)
        check(gateway)
    told = COMMITTED_BEFORE if decision else ROLLED_BACK_BEFORE
    manager = selected(gateway)
    assert recovers(gateway) == ["x"]
    assert asks(manager, commit()) == told
    assert asks(manager, rollback()) == told
    assert asks(manager, forget()) == "done"
    assert recovers(gateway) == []
    assert asks(manager, forget()) == 404
    world.crash()
    assert recovers(Gateway(world=world)) == []
    assert world.depth() == (1 if decision else 0)
    check(gateway)
    decided = [
        each for each in steps(gateway, Kind.TRANSACTION) if each["reason"] == Reason.OPERATOR
    ]
    outcome = Outcome.COMMITTED if decision else Outcome.ROLLED_BACK
    assert [each["outcome"] for each in decided] == [outcome]
    assert decided[0]["actor"] and decided[0]["address"]


@rule("0-10", "dtx.prepare", "illegal-state")
@pytest.mark.parametrize(("command", "code"), [(prepare(), 409), (start(), 530)])
def test_nothing_else_can_be_done_with_it(command: Command, code: int) -> None:
    gateway = gateway_with()
    client = selected(gateway)
    works(client, b"1")
    assert asks(client, prepare()) == OK
    branch = branch_of(gateway)
    assert branch is not None
    gateway.world.host.branches.decide(branch, commit=True)
    gateway.world.turn()
    assert asks(client, command) == code
