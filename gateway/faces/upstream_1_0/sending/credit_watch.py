"""Tells operators of an address that gives no credit though messages wait for it.

Brokers hold senders so where a node is full: nothing is rejected, and no error says why.
"""

from __future__ import annotations

from typing import Protocol, final

from gateway.faces.upstream_1_0.context import UpstreamContext


class Watched(Protocol):
    """Who waits for credit: a sender."""

    def wanted(self) -> bool:
        """Whether something waits to be sent."""


@final
class CreditWatch:
    """Implements `Sleeper`: of one sender."""

    __slots__ = ("_address", "_problem", "_upstream", "_waits", "_watched")

    def __init__(self, upstream: UpstreamContext, watched: Watched, address: str) -> None:
        self._upstream = upstream
        self._watched = watched
        self._address = address
        self._waits = False
        self._problem = ""

    def begin(self) -> None:
        """A message waits, and there is no credit."""
        if not self._waits:
            self._waits = True
            upstream = self._upstream
            upstream.wake_in(self, upstream.settings.attach_timeout_ms)

    def end(self) -> None:
        """There is credit, or no link."""
        if not self._waits:
            return
        self._waits = False
        self._upstream.unwake(self)
        problem = self._problem
        if problem:
            self._problem = ""
            self._upstream.health.note_solved(problem)

    def handle_deadline(self, now_ms: int) -> None:
        """It has been so for long, if something still waits."""
        if not self._watched.wanted():
            self._waits = False
            return
        seconds = self._upstream.settings.attach_timeout_ms / 1000
        self._problem = f"no credit from {self._address!r} for {seconds:g} s; publishers to it wait"
        self._upstream.health.note_problem(self._problem)
