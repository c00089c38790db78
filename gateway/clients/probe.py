"""Asks one 1.0 peer what it is and which addresses it has, without taking or leaving anything.

Each address is asked about by a link without credit, in a session of its own, one after the other:
some peers end the session over a link that they refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import Protocol as TwistedProtocol
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Coordinator, Error, Source, Target
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.events import (
    AttachReceived,
    BeginReceived,
    CloseReceived,
    ConnectionLost,
    DetachReceived,
    EndReceived,
    Event,
    LinkViolation,
    OpenReceived,
    SessionViolation,
    Violation,
)
from gateway.amqp_1_0.session import Session
from gateway.net.alarm import Later

NAME: Final = "amqp-gateway-check"


@dataclass(slots=True)
class Question:
    """One address, or the coordinator of transactions (no address), and what was answered.

    Attributes:
        sends: whether the link is one to send by.
        there: the answer; `None`: there was none.
        problem: what the peer said, if it refused.
    """

    address: str | None
    sends: bool = False
    copies: bool = False
    capabilities: list[str] = field(default_factory=list)
    there: bool | None = None
    problem: str = ""


@final
class Probe(TwistedProtocol):
    """One conversation; `done` fires when everything is answered, or nothing more will be.

    Attributes:
        properties: of the peer's open; `offered` are its capabilities.
        problem: why the connection did not open, or ended early; "" if it did neither.
    """

    def __init__(
        self,
        connection: Connection,
        hostname: str | None,
        questions: list[Question],
        later: Later,
        now_ms: Callable[[], int],
    ) -> None:
        self.properties: dict[str, str] = {}
        self.offered: list[str] = []
        self.opened = False
        self.problem = ""
        self.done: Deferred[None] = Deferred()
        self._connection = connection
        self._questions = questions
        self._asked: Question | None = None
        self._session: Session | None = None
        self._left = list(questions)
        self._later = later
        self._now_ms = now_ms
        self._timer: IDelayedCall | None = None
        self._number = 0
        connection.send_open(hostname=hostname)

    # As a protocol.

    def connectionMade(self) -> None:
        """Say hello."""
        self._flush()

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer."""
        for event in self._connection.receive_data(data, self._now_ms()):
            self._take(event)
        self._flush()

    def on_doubted(self, problem: str) -> None:
        """The peer's certificate is not believed: the handshake fails."""
        self.problem = problem

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The transport is gone."""
        self.end(self.problem or f"the connection ended: {reason.getErrorMessage()}")

    def end(self, problem: str) -> None:
        """Nothing more comes; `problem` is why, where something was still to come."""
        if self.done.called:
            return
        if not self.opened or self._left or self._asked is not None:
            self.problem = problem
        self._connection.send_close()
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
        if isinstance(event, OpenReceived):
            self.opened = True
            told = event.open.properties or {}
            self.properties = {
                str(name): str(value.value)
                for name, value in told.items()
                if isinstance(value.value, str)
            }
            self.offered = [str(each) for each in event.open.offered_capabilities or []]
            self._ask_next()
        elif isinstance(event, BeginReceived):
            self._attach(event.session)
        elif isinstance(event, AttachReceived):
            if event.answer and not event.link.refused:
                event.link.send_detach(closed=True)
                self._answer(True, "")
        elif isinstance(event, DetachReceived):
            if self._asked is not None:  # else it answers ours
                event.link.send_detach(closed=True)
            self._answer(False, _text(event.detach.error))
        elif isinstance(event, EndReceived):
            if event.session is self._session:
                self._session = None
                if self._asked is not None:
                    event.session.send_end()
                    self._answer(False, _text(event.error))
                self._ask_next()
        elif isinstance(event, LinkViolation):
            self._answer(None, str(event.error))
        elif isinstance(event, SessionViolation):
            self._session = None  # it has been ended
            self._answer(None, str(event.error))
            self._ask_next()
        elif isinstance(event, CloseReceived):
            self.end(_text(event.error))
        elif isinstance(event, Violation):
            self.end(str(event.error))
        elif isinstance(event, ConnectionLost):
            self.end("the connection ended")

    def _ask_next(self) -> None:
        if not self._left:
            self.end("")
            return
        self._asked = self._left.pop(0)
        self._session = self._connection.session()
        self._session.send_begin()

    def _attach(self, session: Session) -> None:
        asked = self._asked
        if asked is None or session is not self._session:
            return
        self._number += 1
        name = f"{NAME}-{self._number}"
        link = session.attach(name, _spec.SENDER if asked.sends else _spec.RECEIVER)
        capabilities = asked.capabilities or None
        target: Target | Coordinator = Target(address=name)
        source = Source(address=name)
        if asked.address is None:
            target = Coordinator(capabilities=[_spec.TXN_LOCAL])
        elif asked.sends:
            target = Target(address=asked.address, capabilities=capabilities)
        else:
            mode = "copy" if asked.copies else None
            source = Source(
                address=asked.address, distribution_mode=mode, capabilities=capabilities
            )
        link.send_attach(source=source, target=target)

    def _answer(self, there: bool | None, problem: str) -> None:
        asked, self._asked = self._asked, None
        if asked is None:
            return  # of a link that was answered before
        asked.there = there
        asked.problem = problem
        if self._session is not None:
            self._session.send_end()  # and the next question comes when the peer has ended it, too


def _text(error: Error | None) -> str:
    if error is None:
        return "it gives no reason"
    return f"{error.condition}: {error.description}" if error.description else str(error.condition)
