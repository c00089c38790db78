import pytest
from support.machines import assert_walked, reachable

from gateway.amqp_1_0 import sasl_layer, states

TABLES = {
    "connection": (
        states.CONNECTION, states.ConnectionState, states.ConnectionInput,
        states.ConnectionState.START, {states.ConnectionState.END},
    ),
    "session": (
        states.SESSION, states.SessionState, states.SessionInput,
        states.SessionState.UNMAPPED, {states.SessionState.ENDED},
    ),
    "link": (
        states.LINK, states.LinkState, states.LinkInput,
        states.LinkState.DETACHED, {states.LinkState.GONE},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_state_is_reached_and_can_end_and_every_input_is_answered(name):
    table, all_states, inputs, start, ends = TABLES[name]
    assert_walked(table, all_states, inputs, [start], ends)


@pytest.mark.parametrize(
    "start", [sasl_layer.SaslState.WAIT_INIT, sasl_layer.SaslState.WAIT_MECHANISMS]
)
def test_a_sasl_exchange_ends_granted_or_denied(start):
    ends = {sasl_layer.SaslState.GRANTED, sasl_layer.SaslState.DENIED}
    for state in reachable(sasl_layer.SASL, [start]):
        assert reachable(sasl_layer.SASL, [state]) & ends == ends or state in ends
