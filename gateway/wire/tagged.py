"""A value together with the type that it has on the wire.

Neither protocol's values can be told from their Python type alone (an AMQP 1.0 `ubyte` 5 and a
`long` 5 are different values, and both must survive a crossing), so generic values - header table
entries, application properties, map and list bodies - travel as `Tagged`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(init=False, slots=True)
class Tagged:
    """One typed value.

    Attributes:
        code: the type's code, in the code space of the package that made it.
        value: the Python value; that package's `types` says which Python type a code has.
    """

    code: int
    value: object | None  # an `object`: mypyc cannot name that in a dataclass

    def __init__(self, code: int, value: object) -> None:
        self.code = code
        self.value = value
