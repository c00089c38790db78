"""The table of a branch's states, and what it is called."""

import pytest

from gateway.bridge.branches.branch import TRANSITIONS, Input, State, Xid, xid_of
from gateway.wire.machine import Machine


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("what", Input)
def test_every_input_is_answered_in_every_state(state: State, what: Input) -> None:
    machine = Machine(TRANSITIONS, state)
    assert machine.receive(what) == ((state, what) in TRANSITIONS)
    assert machine.state == TRANSITIONS.get((state, what), state)


def test_every_state_is_reached_and_can_end() -> None:
    reached, ends = {int(State.OPEN)}, {int(State.OVER)}
    for _ in State:
        reached |= {after for (state, _), after in TRANSITIONS.items() if state in reached}
        ends |= {state for (state, _), after in TRANSITIONS.items() if after in ends}
    assert reached == ends == {int(state) for state in State}


def test_what_is_prepared_ends_by_a_decision_alone() -> None:
    assert [what for state, what in TRANSITIONS if state == State.PREPARED] == [Input.END]


@pytest.mark.parametrize("xid", [Xid(0, b"", b""), Xid(2**32 - 1, b"\0\xff", b"b" * 64)])
def test_its_text_says_all_of_it(xid: Xid) -> None:
    assert xid_of(xid.text()) == xid


@pytest.mark.parametrize("text", ["", "1", "1.aa", "x.aa.bb", "1.a.b", "1.aa.bb.cc", "01.aa.bb"])
def test_another_text_is_no_branch(text: str) -> None:
    assert xid_of(text) is None
