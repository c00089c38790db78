import pytest
from support.machines import assert_walked

from gateway.faces.upstream_1_0 import states
from gateway.faces.upstream_1_0.states import SlotInput, SlotState
from gateway.wire.machine import Machine


def test_every_state_is_reached_and_can_end_and_every_input_is_answered():
    assert_walked(states.SLOT, SlotState, SlotInput, [SlotState.IDLE], {SlotState.DROPPED})


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
