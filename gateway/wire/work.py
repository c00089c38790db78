"""Work, counted in units as memory is in octets: what a verb costs the one thread that does it all.

A unit is about a tenth of a microsecond in the compiled form, and about one in the pure form;
`tests/bench/work.py` measures each primitive of the table below. Units depend on what is asked for
and on nothing else, so that a limit in units holds at the same place on every machine.

Whoever does work in a loop that a peer can lengthen adds what it cost to `WORK`, once a loop. Who
lets peers ask for more of it compares: a connection's events wait for the next turn once the
connection has had its `SHARE` of this one, dispatching stops at its `SHARE`, and one verb that
would need more than `VERB` is refused.
"""

from __future__ import annotations

from typing import Final, final

# Primitives, in units.
COMMAND: Final = 200  # a command of any kind but a transfer: taken apart, carried out, answered
PUBLISH: Final = 60  # a message, beside its copies
COPY: Final = 40  # a copy comes into a queue, or leaves it
LOOK: Final = 10  # a copy is looked at
BINDING: Final = 60  # a binding comes, or goes
MATCH: Final = 3  # a binding is looked at by exchange.bound, a header or an argument by a router
STEP: Final = 2  # a word of a routing key meets a node of the bindings' tree
PART: Final = 5  # a part of a selector
ELEMENT: Final = 5  # a value is decoded, or encoded
CONVERSION: Final = 20  # a value is decoded, converted and encoded for the other protocol
RANGE: Final = 5  # a range of command or delivery ids

# Octets for one unit.
OCTETS_SEARCHED: Final = 64  # a text that a selector searches or compares
OCTETS_COPIED: Final = 1024

# Limits, in units.
SHARE: Final = 50_000  # of one connection, and of dispatching, in one turn: 5 ms
VERB: Final = 200_000  # what one verb may cost at most: 20 ms


@final
class Work:
    """The work of this process.

    Attributes:
        units: done since start.
        cut: how often somebody's work went on in a later turn.
        refused: verbs refused because they would have cost more than `VERB`.
        given_up: selectors given up on a message because that one cost more than `VERB`.
        end: of the selector that is evaluated now: the units at which it is given up.
    """

    __slots__ = ("cut", "end", "given_up", "refused", "units")

    def __init__(self) -> None:
        self.units = 0
        self.cut = 0
        self.refused = 0
        self.given_up = 0
        self.end = 0


WORK: Final = Work()  # one thread does all of it
