"""Octets that have come but do not make a whole frame yet.

Parts are joined once, when the frame is whole, however small they come.
"""

from __future__ import annotations

from typing import final


@final
class Inbox:
    """The unread tail of what came."""

    __slots__ = ("_held", "_needed", "_parts")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._held = 0
        self._needed = 1

    def take(self, data: bytes) -> bytes:
        """Add `data`; everything unread, or nothing while it is too little to go on."""
        if not self._parts:
            return data
        if data:
            self._parts.append(data)
            self._held += len(data)
        if self._held < self._needed:
            return b""
        octets = b"".join(self._parts)
        self._parts = []
        self._held = 0
        return octets

    def keep(self, octets: bytes, pos: int, needed: int) -> None:
        """Hold `octets[pos:]` back until there are `needed` of them."""
        rest = octets[pos:]
        if rest:
            self._parts = [rest]
            self._held = len(rest)
            self._needed = needed

    def held(self) -> int:
        """Octets held back."""
        return self._held
