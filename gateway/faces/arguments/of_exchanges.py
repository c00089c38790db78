"""The arguments by which an exchange is declared, as a qpidd knows them.

Each has its effect by being there, whatever its value.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_constants import INT64
from gateway.amqp_0_10.types import FieldTable
from gateway.wire.tagged import Tagged

NUMBERS: Final = "qpid.msg_sequence"
INITIAL_VALUE: Final = "qpid.ive"
COUNTER: Final = "qpid.sequence_counter"  # of an exchange that numbers: told in queries, as 0


@final
class AskedOfExchange:
    """What the arguments of one declare come to.

    Attributes:
        numbers, remembers: see `exchanges.marks`.
    """

    __slots__ = ("_arguments", "numbers", "remembers")

    def __init__(self, arguments: FieldTable) -> None:
        self._arguments = arguments
        names = [name for name, _ in arguments]
        self.numbers = NUMBERS in names
        self.remembers = INITIAL_VALUE in names

    def ignored(self, *, local: bool) -> list[str]:
        """Those without effect; of an exchange at an upstream, which sees to that, all."""
        done = (NUMBERS, INITIAL_VALUE) if local else ()
        return [
            name
            for name, _ in self._arguments
            if name not in done and not (local and self.numbers and name == COUNTER)
        ]

    def told(self) -> FieldTable:
        """The arguments as queries are answered."""
        if not self.numbers:
            return self._arguments
        others = [(name, tagged) for name, tagged in self._arguments if name != COUNTER]
        return [*others, (COUNTER, Tagged(INT64, 0))]
