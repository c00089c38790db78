"""Who waits for a link of the gateway's: publishers that are about to attach, and bindings.

The answer is that of the link by which we send to a node, or subscribe to one. Nobody waits for
long: where the upstream cannot say, a publisher is attached, and its messages wait for the
upstream.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.remote.remote import LookUpWaiter
from gateway.faces.dialled.context import DialledContext
from gateway.message import Condition, Refusal

PATIENCE_MS: Final = 5_000
# What a publisher is told instead of being attached; all else may pass.
TOLD: Final = (
    Condition.NOT_FOUND,
    Condition.RESOURCE_DELETED,
    Condition.UNAUTHORIZED_ACCESS,
)


def lasting(upstream: str, problem: str) -> Refusal:
    """What our client is told of an error that should have passed, and has not."""
    return Refusal(Condition.INTERNAL_ERROR, f"upstream {upstream}: {problem}")


@final
class Reaching:
    """Those who wait for one link. Implements `Sleeper`."""

    __slots__ = ("_upstream", "_waiters")

    def __init__(self, upstream: DialledContext) -> None:
        self._upstream = upstream
        self._waiters: list[tuple[LookUpWaiter, int]] = []

    def wait(self, waiter: LookUpWaiter, token: int) -> None:
        """`waiter.on_looked_up(token, refusal)` follows, soon."""
        upstream = self._upstream
        if not self._waiters:
            patience_ms = min(PATIENCE_MS, upstream.settings.attach_timeout_ms)
            upstream.wake_in(self, patience_ms)
        self._waiters.append((waiter, token))

    def answer(self, refusal: Refusal | None) -> None:
        """Tell them why it cannot be reached, if that lasts; else that they may go ahead."""
        if not self._waiters:
            return
        waiters, self._waiters = self._waiters, []
        self._upstream.unwake(self)
        told = refusal if refusal is not None and refusal.condition in TOLD else None
        for waiter, token in waiters:
            waiter.on_looked_up(token, told)

    def answer_soon(self) -> None:
        """The link is given up; those who wait are not told from inside the bridge."""
        if self._waiters:
            self._upstream.wake_in(self, 0)

    def handle_deadline(self, now_ms: int) -> None:
        """The upstream does not say."""
        self.answer(None)
