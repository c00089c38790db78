"""Whether a node exists: queue.query or exchange.query, in a session of its own."""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, ResultReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.dialled import DepthWaiter
from gateway.faces.dialled.reaching import lasting
from gateway.faces.upstream_0_10.errors import refusal_of, text_of
from gateway.faces.upstream_0_10.known import depth_of, is_there, missing
from gateway.faces.upstream_0_10.sessions import Sessions
from gateway.message import Refusal


@final
class LookUp:
    """Implements `SessionUser`, `Sleeper`; ends with one answer to its waiter.

    Attributes:
        messages: how many a queue that is there has.
    """

    def __init__(
        self,
        upstream: DialledContext,
        sessions: Sessions,
        name: str,
        waiter: LookUpWaiter,
        token: int,
        *,
        exchange: bool = False,
    ) -> None:
        self._upstream = upstream
        self._name = name
        self._waiter = waiter
        self._token = token
        self._exchange = exchange
        self.messages = 0
        self._problem = "it does not answer"
        self._slot = sessions.add(self)
        upstream.wake_in(self, upstream.settings.attach_timeout_ms)

    def on_session(self, session: Session) -> None:
        """Ask."""
        if self._exchange:
            session.send_command(spec.ExchangeQuery(name=self._name), sync=True)
        else:
            session.send_command(spec.QueueQuery(queue=self._name), sync=True)
        self._upstream.touch()

    def on_completed(self, ranges: Ranges) -> None:
        """The answer says more."""

    def on_result(self, event: ResultReceived) -> None:
        """The answer."""
        if is_there(event):
            self.messages = depth_of(event)
            self._end(None)
        else:
            self._end(missing(self._name, exchange=self._exchange))

    def on_command(self, event: CommandReceived) -> None:
        """Nothing is subscribed to."""
        event.session.complete(event.command_id, event.command_id)

    def on_exception(self, exception: spec.ExecutionException) -> None:
        """We may not ask, or it cannot answer."""
        refusal = refusal_of(exception)
        self._problem = text_of(exception)
        if refusal is None:
            self._slot.retry()
        else:
            self._end(refusal)

    def on_ended(self, why: str) -> None:
        """Ask again."""
        self._problem = why
        self._slot.retry()

    def on_lost(self) -> None:
        """It is asked again with the next connection."""

    def on_room(self) -> None:
        """Nothing waits for it."""

    def handle_deadline(self, now_ms: int) -> None:
        """There was no answer that means something."""
        self._end(lasting(self._upstream.name, self._problem))

    def _end(self, refusal: Refusal | None) -> None:
        self._upstream.unwake(self)
        self._slot.drop()
        self._waiter.on_looked_up(self._token, refusal)
        self._upstream.touch()


@final
class DepthAsked:
    """Implements `LookUpWaiter`: how many messages a queue has, or that nobody says."""

    def __init__(
        self, upstream: DialledContext, sessions: Sessions, name: str, waiter: DepthWaiter
    ) -> None:
        self._waiter = waiter
        self._look_up = LookUp(upstream, sessions, name, self, 0)

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """See `LookUpWaiter`."""
        self._waiter.on_depth(self._look_up.messages if refusal is None else -1)
