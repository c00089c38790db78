import pytest

from gateway.faces.dialled.receiver_states import RECEIVER, ReceiverInput, ReceiverState
from gateway.wire.machine import Machine

TABLES = {
    "receiver": (
        RECEIVER, ReceiverState, ReceiverInput,
        [ReceiverState.ASKING, ReceiverState.MOVING_IN], {ReceiverState.OVER},
    ),
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
