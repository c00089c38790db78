"""Tells operators of an address that gives no credit though messages wait for it.

Brokers hold senders so where a node is full: nothing is rejected, and no error says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from gateway.faces.upstream_1_0.sending.sender import Sender
    from gateway.faces.upstream_1_0.upstream import Upstream


@final
class CreditWatch:
    """Implements `Sleeper`: of one sender."""

    __slots__ = ("_problem", "_sender", "_upstream", "_waits")

    def __init__(self, upstream: Upstream, sender: Sender) -> None:
        self._upstream = upstream
        self._sender = sender
        self._waits = False
        self._problem = ""

    def begin(self) -> None:
        """A message waits, and there is no credit."""
        if not self._waits:
            self._waits = True
            upstream = self._upstream
            at_ms = upstream.bridge.now_ms + upstream.settings.attach_timeout_ms
            upstream.wake(self, at_ms)

    def end(self) -> None:
        """There is credit, or no link."""
        if not self._waits:
            return
        self._waits = False
        self._upstream.unwake(self)
        problem = self._problem
        if problem:
            self._problem = ""
            self._upstream.note_solved(problem)

    def handle_deadline(self, now_ms: int) -> None:
        """As a `Sleeper`: it has been so for long, if something still waits."""
        if not self._sender.wanted():
            self._waits = False
            return
        seconds = self._upstream.settings.attach_timeout_ms / 1000
        self._problem = (
            f"no credit from {self._sender.address!r} for {seconds:g} s; publishers to it wait"
        )
        self._upstream.note_problem(self._problem)
