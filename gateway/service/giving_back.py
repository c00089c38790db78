"""Memory goes back to the system when much less is held: a process that was full once stays small.

What is freed stays with the C library, which gives back of itself only what is free at the top of
its heap; one message that is left there keeps all below it. glibc can be told to look everywhere;
another C library is left alone. That takes about 10 ms for each hundred megabytes, and pages that
are given back have to be fetched again: so it is done only for much, and before it is very much.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final, final

LOOK_S: Final = 2.0  # not seldom: each time takes as long as there is to give back
MUCH: Final = 64 * 1024 * 1024  # octets by which what is held has fallen


def trim_of(library: object) -> Callable[[int], int] | None:
    """What gives back all that is free; `None`: that C library has no such thing."""
    trim: Callable[[int], int] | None = getattr(library, "malloc_trim", None)
    return trim


def c_library() -> ctypes.CDLL:
    """The one that this process runs on."""
    return ctypes.CDLL(None)


@final
class GivingBack:
    """Looks now and then at what is held.

    Args:
        held: octets on the accounts: of queues, connections, and what waits for the disk.
    """

    def __init__(self, held: Callable[[], int], trim: Callable[[int], int] | None) -> None:
        self._held = held
        self._trim = trim
        self._most = 0

    def look(self) -> None:
        """Give back what is free, if much has become so since the last time."""
        held = self._held()
        if self._most - held > MUCH and self._trim is not None:
            self._trim(0)
            self._most = held
        else:
            self._most = max(self._most, held)
