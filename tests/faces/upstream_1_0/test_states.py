import pytest

from gateway.faces.upstream_1_0 import states
from gateway.faces.upstream_1_0.states import SlotInput, SlotState
from gateway.wire.machine import Machine

TABLES = {
    "slot": (states.SLOT, SlotState, SlotInput, [SlotState.IDLE], {SlotState.DROPPED}),
}  # fmt: skip


def reachable(table, starts):
    found, todo = set(starts), list(starts)
    while todo:
        state = todo.pop()
        for (at, _), after in table.items():
            if at == state and after not in found:
                found.add(after)
                todo.append(after)
    return found


@pytest.mark.parametrize("name", TABLES)
def test_every_state_is_reached(name):
    table, all_states, _, starts, _ = TABLES[name]
    assert reachable(table, starts) == set(all_states)


@pytest.mark.parametrize("name", TABLES)
def test_every_state_can_end_and_an_end_is_final(name):
    table, all_states, _, _, ends = TABLES[name]
    for state in all_states:
        assert reachable(table, [state]) & ends
    assert not [key for key in table if key[0] in ends]


@pytest.mark.parametrize("name", TABLES)
def test_every_input_is_answered_in_every_state_with_a_state_of_the_table(name):
    table, all_states, inputs, _, _ = TABLES[name]
    assert {what for _, what in table} == set(inputs)
    for state in all_states:
        for what in inputs:
            machine = Machine(table, state)
            taken = machine.receive(what)
            assert machine.state in set(all_states)
            assert taken or machine.state == state


@pytest.mark.parametrize(
    "state", [SlotState.QUEUED, SlotState.ATTACHING, SlotState.ATTACHED], ids=lambda each: each.name
)
def test_a_link_in_a_session_leaves_it_before_its_user_can_give_it_up(state):
    machine = Machine(states.SLOT, state)
    assert not machine.allows(SlotInput.DROP)
    assert machine.receive(SlotInput.LEAVE)
    assert machine.receive(SlotInput.DROP)


def test_only_a_link_that_is_idle_backs_off_or_is_placed():
    for what in (SlotInput.BACK_OFF, SlotInput.PLACE):
        allowed = {state for state in SlotState if (state, what) in states.SLOT}
        assert allowed == {SlotState.IDLE}
