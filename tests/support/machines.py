"""Tables of states, walked: what each of them must hold."""

from collections.abc import Collection, Iterable
from enum import IntEnum

from gateway.wire.machine import Machine, Table


def reachable(table: Table, starts: Iterable[int]) -> set[int]:
    """Where one can come to from there, the beginnings among it."""
    todo = list(starts)
    found = set(todo)
    while todo:
        state = todo.pop()
        for (at, _), after in table.items():
            if at == state and after not in found:
                found.add(after)
                todo.append(after)
    return found


def assert_walked(
    table: Table,
    states: type[IntEnum],
    inputs: type[IntEnum],
    starts: Iterable[int],
    ends: Collection[int],
) -> None:
    """Every state is reached and can end, an end is final, and every input is answered anywhere."""
    assert reachable(table, starts) == set(states)
    for state in states:
        assert reachable(table, [state]) & set(ends), f"{state.name} cannot end"
    assert not [key for key in table if key[0] in ends]
    assert {what for _, what in table} == set(inputs)
    for state in states:
        for what in inputs:
            machine = Machine(table, state)
            taken = machine.receive(what)
            assert machine.state in set(states)
            assert taken or machine.state == state
