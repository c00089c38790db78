import pytest
from support.machines import assert_walked, reachable

from gateway.faces.dialled.receiver_states import RECEIVER, ReceiverInput, ReceiverState
from gateway.wire.machine import Machine

STARTS = (ReceiverState.ASKING, ReceiverState.MOVING_IN)


def test_every_state_is_reached_and_can_end_and_every_input_is_answered():
    assert_walked(RECEIVER, ReceiverState, ReceiverInput, STARTS, {ReceiverState.OVER})


LEFT = {ReceiverState.LEAVING, ReceiverState.QUIET, ReceiverState.OVER}


@pytest.mark.parametrize("start", [ReceiverState.ASKING, ReceiverState.MOVING_IN])
def test_a_receiver_can_leave_from_wherever_it_has_a_client_and_does_not_come_back(start):
    with_a_client = reachable(RECEIVER, [start]) - LEFT
    for state in with_a_client:
        assert Machine(RECEIVER, state).allows(ReceiverInput.LEAVE)
    assert reachable(RECEIVER, [ReceiverState.LEAVING]) == LEFT


def test_a_receiver_that_has_left_is_not_refused_and_drains_nothing():
    for state in LEFT:
        for what in (ReceiverInput.REFUSE, ReceiverInput.SEND_DRAIN, ReceiverInput.RECV_ATTACH):
            assert not Machine(RECEIVER, state).allows(what)


def test_a_drain_ends_with_its_answer_with_the_link_or_with_the_client():
    ends = {what for (at, what) in RECEIVER if at == ReceiverState.DRAINING}
    assert ends == {ReceiverInput.DRAINED, ReceiverInput.LOSE, ReceiverInput.LEAVE}
