"""The connections that there are to one upstream, as far as having them flushed goes."""

from __future__ import annotations

from typing import final

from gateway.faces.face import Face, Turns


@final
class Transports:
    """The face of each transport: the upstream's own connection first, then its detours."""

    __slots__ = ("_faces", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._faces: list[Face] = []

    def add(self, face: Face, *, own: bool) -> None:
        """A transport is up: of the upstream's `own` connection, or of a detour."""
        self._faces.insert(0 if own else len(self._faces), face)

    def remove(self, face: Face) -> None:
        """Its connection is over."""
        if face in self._faces:
            self._faces.remove(face)

    def touch(self) -> None:
        """There is something to send, or may be, by any of them."""
        for face in self._faces:
            self._turns.touch(face)
