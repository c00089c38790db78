"""The numbers that a queue gives its copies, of a queue that is declared so.

They are those of a qpidd: from 1 in the order in which copies come, and anew after a restart, for
what is recovered as for what comes then. Whoever is sent a copy sees its number as a header; the
copy itself stays as it came, so that selectors, keys and groups know nothing of it.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.queues.places import Entry
from gateway.message import Message


@final
class Numbering:
    """Those of one queue."""

    __slots__ = ("_header", "_last", "_numbers")

    def __init__(self, header: str) -> None:
        self._header = header
        self._last = 0
        self._numbers: dict[int, int] = {}  # by position

    def put(self, entry: Entry) -> None:
        """A copy behind all others."""
        self._last += 1
        self._numbers[entry.position] = self._last

    def remove(self, position: int) -> None:
        """A copy leaves."""
        del self._numbers[position]

    def shown(self, entry: Entry) -> Message:
        """The copy's message, as it is sent: with its number."""
        message = entry.message
        reader = message.reader
        if reader is None:
            return message
        return reader.numbered(message, self._header, self._numbers[entry.position], wide=False)
