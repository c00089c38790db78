"""The tables: every input answered in every state, every state reached, every path can end."""

import pytest

from gateway.amqp_0_10.states import (
    CLIENT_TABLE,
    SERVER_TABLE,
    SESSION_TABLE,
    ConnectionInput,
    ConnectionState,
    SessionInput,
    SessionState,
)
from gateway.errors import LocalProtocolError
from gateway.wire.machine import Machine

TABLES = [
    pytest.param(SERVER_TABLE, ConnectionState, ConnectionInput, "CLOSED", id="server"),
    pytest.param(CLIENT_TABLE, ConnectionState, ConnectionInput, "CLOSED", id="client"),
    pytest.param(SESSION_TABLE, SessionState, SessionInput, "ENDED", id="session"),
]
NOT_OF_THE_SERVER = {ConnectionState.HEADER_SENT}


@pytest.mark.parametrize(("table", "states", "inputs", "last"), TABLES)
def test_every_state_answers_every_input(table, states, inputs, last) -> None:
    for state in states:
        for what in inputs:
            machine = Machine(table, state)
            expected = table.get((state, what))
            assert machine.receive(what) == (expected is not None)
            assert machine.state == (state if expected is None else expected)
            machine = Machine(table, state)
            if expected is None:
                with pytest.raises(LocalProtocolError):
                    machine.send(what)
            else:
                machine.send(what)
                assert machine.state == expected


@pytest.mark.parametrize(("table", "states", "inputs", "last"), TABLES)
def test_every_state_is_reached(table, states, inputs, last) -> None:
    reached = {states(0)}
    for _ in states:
        reached |= {after for (state, _), after in table.items() if state in reached}
    missing = set(states) - reached
    assert missing == (NOT_OF_THE_SERVER if table is SERVER_TABLE else set())


@pytest.mark.parametrize(("table", "states", "inputs", "last"), TABLES)
def test_every_state_can_end_and_the_last_one_is_left_by_nothing(
    table, states, inputs, last
) -> None:
    ends = {states[last]}
    for _ in states:
        ends |= {state for (state, _), after in table.items() if after in ends}
    assert ends == set(states)
    assert not [what for (state, what) in table if state == states[last]]


def test_the_roles_mirror_each_other() -> None:
    def mirrored(name: str) -> str:
        verb, _, rest = name.partition("_")
        return {"RECV": "SEND_", "SEND": "RECV_", "DROP": "DROP"}[verb] + rest

    negotiation = {
        (ConnectionState(state), mirrored(ConnectionInput(what).name), ConnectionState(after))
        for (state, what), after in SERVER_TABLE.items()
        if 2 <= state < ConnectionState.CLOSE_SENT and what < ConnectionInput.RECV_CLOSE
    }
    assert negotiation == {
        (ConnectionState(state), ConnectionInput(what).name, ConnectionState(after))
        for (state, what), after in CLIENT_TABLE.items()
        if 2 <= state < ConnectionState.CLOSE_SENT and what < ConnectionInput.RECV_CLOSE
    }
