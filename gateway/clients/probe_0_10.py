"""Asks one 0-10 broker what it is and which nodes it has, without taking or leaving anything.

Each is asked about by queue.query or exchange.query, in a session of its own, one after the other:
an exception ends the session.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import final

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    Attached,
    ConnectionClosed,
    ControlReceived,
    Event,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Control
from gateway.clients.probed import ANSWERS_WITHIN_S, NAME, Probed, Question, tls_of
from gateway.faces.upstream_0_10.errors import text_of
from gateway.faces.upstream_0_10.known import is_there
from gateway.net.alarm import Later
from gateway.wire.sasl import ClientMechanism, choose
from gateway.wire.tagged import Tagged


@final
class Probe010(Probed):
    """One conversation."""

    def __init__(
        self,
        connection: Connection,
        virtual_host: str,
        able: list[ClientMechanism],
        questions: Callable[[str], list[Question]],
        later: Later,
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__()
        self._connection = connection
        self._virtual_host = virtual_host
        self._able = able
        self._chosen: ClientMechanism | None = None
        self._questions = questions
        self._asked: Question | None = None
        self._session: Session | None = None
        self._left: list[Question] = []
        self._later = later
        self._now_ms = now_ms
        self._timer: IDelayedCall | None = None
        self._channel = 0

    # As a protocol.

    def connectionMade(self) -> None:
        """Say hello."""
        self._flush()

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer."""
        for event in self._connection.receive_data(data, self._now_ms()):
            self._take(event)
        self._flush()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The transport is gone."""
        self.end(self.problem or f"the connection ended: {reason.getErrorMessage()}")

    def end(self, problem: str) -> None:
        """Nothing more comes; `problem` is why, where something was still to come."""
        if self.done.called:
            return
        if not self.opened or self._left or self._asked is not None:
            self.problem = self.problem or problem
        self._asked = None
        self._stop_timer()
        if self._connection.open:
            self._connection.send_close(spec.CloseCode.NORMAL, "", self._now_ms())
        self._flush()
        if self.transport is not None:
            self.transport.loseConnection()
        self.done.callback(None)

    def _flush(self) -> None:
        data = self._connection.data_to_send()
        if data and self.transport is not None:
            self.transport.write(data)

    # Events.

    def _take(self, event: Event) -> None:
        if isinstance(event, ControlReceived):
            self._on_control(event.control)
        elif isinstance(event, Tuned):
            self._on_tuned(event)
        elif isinstance(event, Attached):
            self._ask(event.session)
        elif isinstance(event, ResultReceived):
            there = is_there(event)
            self._answer(event.session, there, "" if there else "it is not there")
        elif isinstance(event, ExceptionReceived):
            self._answer(event.session, None, text_of(event.exception))
        elif isinstance(event, SessionEnded):
            self._answer(event.session, None, f"the session ended, code {event.code}")
        elif isinstance(event, ConnectionClosed):
            self.end(f"{event.text} ({event.code})" if event.code else event.text)
        elif isinstance(event, Violation):
            self.end(str(event.error))

    def _on_control(self, control: Control) -> None:
        if isinstance(control, spec.ConnectionStart):
            self._on_start(control)
        elif isinstance(control, spec.ConnectionSecure):
            self._on_secure(control.challenge or b"")
        elif isinstance(control, spec.ConnectionOpenOk):
            self.opened = True
            self.tls = tls_of(self.transport)
            self._left = list(self._questions(self.says))
            self._ask_next()
        elif isinstance(control, spec.ConnectionRedirect):
            self.end(f"it sends us to {control.host!r}, which is not followed")

    def _on_start(self, start: spec.ConnectionStart) -> None:
        self.properties = {
            name: str(value.value)
            for name, value in start.server_properties or []
            if isinstance(value.value, str)
        }
        self.mechanisms = [str(each) for each in start.mechanisms or []]
        self._chosen = chosen = choose(self.mechanisms, self._able)
        if chosen is None:
            able = ", ".join(each.name() for each in self._able)
            self.end(f"it offers {', '.join(self.mechanisms)} for the login, not {able}")
            return
        self.mechanism = chosen.name()
        told = [("product", Tagged(STR16, NAME))]
        self._connection.send_start_ok(told, chosen.name(), chosen.initial() or b"", "en_US")

    def _on_secure(self, challenge: bytes) -> None:
        chosen = self._chosen
        answer = None if chosen is None else chosen.respond(challenge)
        derivation = None if chosen is None else chosen.derivation()
        if chosen is not None and derivation is not None:
            derivation.run()  # here: nobody else waits
            answer = chosen.derived()
        if answer is None:
            self.end("the login failed" if chosen is None else chosen.problem())
        else:
            self._connection.send_secure_ok(answer)

    def _on_tuned(self, tuned: Tuned) -> None:
        self.frame_size = tuned.max_frame_size
        self.channels = tuned.channel_max + 1
        self.idle_timeout_ms = 2_000 * tuned.heartbeat_s or None
        if self._chosen is None or not self._chosen.complete(None):
            self.end("it did not prove that it knows the user")
            return
        self._connection.send_open(self._virtual_host)

    def _ask_next(self) -> None:
        if not self._left:
            self.end("")
            return
        self._asked = self._left.pop(0)
        self._channel = 1 - self._channel  # the last session may not have ended yet
        self._session = self._connection.attach(uuid.uuid4().hex.encode(), self._channel)
        self._timer = self._later.callLater(ANSWERS_WITHIN_S, self._on_late)

    def _ask(self, session: Session) -> None:
        asked = self._asked
        if asked is None or session is not self._session:
            return
        name = asked.address or ""
        query = spec.ExchangeQuery(name=name) if asked.sends else spec.QueueQuery(queue=name)
        session.send_command(query, sync=True)

    def _on_late(self) -> None:
        self._timer = None
        self.end("it does not answer")

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _answer(self, session: Session, exists: bool | None, problem: str) -> None:
        asked = self._asked
        if asked is None or session is not self._session:
            return
        self._asked = None
        self._stop_timer()
        asked.exists = exists
        asked.problem = problem
        if exists is not None:
            session.detach()
        self._ask_next()
