import pytest

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


def reachable(table, start):
    found, todo = {start}, [start]
    while todo:
        state = todo.pop()
        for (at, _), after in table.items():
            if at == state and after not in found:
                found.add(after)
                todo.append(after)
    return found


@pytest.mark.parametrize("name", TABLES)
def test_every_state_is_reached(name):
    table, all_states, _, start, _ = TABLES[name]
    assert reachable(table, start) == set(all_states)


@pytest.mark.parametrize("name", TABLES)
def test_every_state_can_end_and_an_end_is_final(name):
    table, all_states, _, _, ends = TABLES[name]
    for state in all_states:
        assert reachable(table, state) & ends
    assert not [key for key in table if key[0] in ends]


@pytest.mark.parametrize("name", TABLES)
def test_every_input_is_used(name):
    table, _, inputs, _, _ = TABLES[name]
    assert {what for _, what in table} == set(inputs)


@pytest.mark.parametrize(
    "start", [sasl_layer.SaslState.WAIT_INIT, sasl_layer.SaslState.WAIT_MECHANISMS]
)
def test_a_sasl_exchange_ends_granted_or_denied(start):
    ends = {sasl_layer.SaslState.GRANTED, sasl_layer.SaslState.DENIED}
    for state in reachable(sasl_layer.SASL, start):
        assert reachable(sasl_layer.SASL, state) & ends == ends or state in ends
