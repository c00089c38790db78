"""Which messages are looked at: one in 64, by number, and the first of each kind.

One in 64 finds what befalls many; what befalls few is mostly of a kind that few are of: which
fields there are, of which types its headers and its body. `kinds` says which.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

ONE_IN: Final = 64
OF_EACH: Final = 8  # so many of a kind
KINDS_MAX: Final = 1024  # of those that come first; a peer can make as many as it likes
OCTETS_MAX: Final = 64 * 1024  # a larger message is not looked at
_LOW: Final = 0x7FFF_FFFF
_MIX: Final = 0x4C95_7F2D


def is_sampled(message: int64) -> bool:
    """Whether the message of that number is looked at whenever it is translated."""
    mixed: int64 = (message & _LOW) * _MIX
    return (mixed >> 16) & (ONE_IN - 1) == 0


@final
class Kinds:
    """How many of each kind were looked at since the start."""

    __slots__ = ("_looked", "_usual")

    def __init__(self) -> None:
        self._looked: dict[int, int] = {}
        self._usual: int64 = -1

    def is_rare(self, kind: int64) -> bool:
        """Whether one more of that kind is looked at, which is then counted."""
        if kind == self._usual:  # as that of the message before
            return False
        looked = self._looked.get(kind, 0)
        if looked >= OF_EACH:
            self._usual = kind
            return False
        if not looked and len(self._looked) >= KINDS_MAX:
            return False
        self._looked[kind] = looked + 1
        return True
