"""How an upstream is, for operators: whether it is connected, and what went wrong last."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import final

from gateway.bridge.bridge import Bridge


class UpstreamState(IntEnum):
    """How far the upstream's own connection is."""

    DOWN = 0
    CONNECTING = 1  # the transport is up, the peer has not opened
    UP = 2


@final
class UpstreamHealth:
    """Of one upstream.

    Attributes:
        state, state_since_ms: of its own connection; `change` sets them.
        connected: that is up: the peer has opened, and the connection has not ended.
        turned_ms: since when it is connected, or since when it is not.
        last_error: what went wrong last; "" if nothing did, or it is over.
        last_error_ms: when that was.
        solved: while `on_change` tells that a problem is over: which.
        on_change: called when `state` or `last_error` has changed.
    """

    __slots__ = (
        "_bridge",
        "connected",
        "last_error",
        "last_error_ms",
        "on_change",
        "solved",
        "state",
        "state_since_ms",
        "turned_ms",
    )

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.state = UpstreamState.DOWN
        self.connected = False
        self.state_since_ms = bridge.now_ms
        self.turned_ms = bridge.now_ms
        self.last_error = ""
        self.last_error_ms = 0
        self.solved = ""
        self.on_change: Callable[[], None] | None = None

    def fail(self, problem: str) -> None:
        """Why the connection is over, or there is none; `change` follows, which tells it."""
        self.last_error = problem
        self.last_error_ms = self._bridge.now_ms

    def change(self, state: UpstreamState) -> None:
        """The connection is so now, be it as it was before."""
        if state != self.state:
            now_ms = self._bridge.now_ms
            if UpstreamState.UP in (state, self.state):
                self.turned_ms = now_ms
            self.state = state
            self.connected = state == UpstreamState.UP
            self.state_since_ms = now_ms
        self._tell()

    def note_problem(self, problem: str) -> None:
        """Something went wrong that operators may want to know of."""
        self.fail(problem)
        self._tell()

    def note_solved(self, problem: str) -> None:
        """What `note_problem` told is over."""
        if self.last_error == problem:
            self.last_error = ""
        self.solved = problem
        self._tell()
        self.solved = ""

    def _tell(self) -> None:
        if self.on_change is not None:
            self.on_change()
