"""State machines as tables that refuse by default.

A table is ``{(state, input): next state}``; a pair that is not in it is refused. The packages that
own tables (`amqp_0_10.states`, `amqp_1_0.states`) put the theory at the top of that file; tests
walk the tables: every input is answered in every state, every state is reached, every path can end.
"""

from __future__ import annotations

from typing import Final, final

from gateway.errors import LocalProtocolError

REFUSED: Final = -1

Table = dict[tuple[int, int], int]


@final
class Machine:
    """One instance of a table: the current state of one connection, session or link."""

    __slots__ = ("state", "table")

    def __init__(self, table: Table, state: int) -> None:
        self.table = table
        self.state = state

    def allows(self, what: int) -> bool:
        """Whether the input is legal in the current state."""
        return (self.state, what) in self.table

    def receive(self, what: int) -> bool:
        """Take an input that the peer caused; `False`, and no change, when the table refuses it."""
        after = self.table.get((self.state, what), REFUSED)
        if after == REFUSED:
            return False
        self.state = after
        return True

    def send(self, what: int) -> None:
        """Take an input that our own side caused; a refusal is our defect: `LocalProtocolError`."""
        after = self.table.get((self.state, what), REFUSED)
        if after == REFUSED:
            raise LocalProtocolError(f"input {what} is refused in state {self.state}")
        self.state = after
