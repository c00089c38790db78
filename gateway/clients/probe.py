"""Asks one 1.0 peer what it is and which addresses it has, without taking or leaving anything.

Each address is asked about by a link without credit, in a session of its own, one after the other:
some peers end the session over a link that they refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Coordinator, Error, Open, Source, Target
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.events import (
    AttachReceived,
    BeginReceived,
    CloseReceived,
    ConnectionLost,
    DerivationRequested,
    DetachReceived,
    EndReceived,
    Event,
    LinkViolation,
    OpenReceived,
    SessionViolation,
    Violation,
)
from gateway.amqp_1_0.session import Session
from gateway.clients.probed import ANSWERS_WITHIN_S, NAME, About, Probed, Question, tls_of
from gateway.faces.upstream_1_0.receiving.sources import selector_filter, selector_in_place
from gateway.net.alarm import Later

COPY: Final = "copy"
SELECTOR: Final = "TRUE"


@final
class Probe(Probed):
    """One conversation."""

    def __init__(
        self,
        connection: Connection,
        hostname: str | None,
        questions: Callable[[str], list[Question]],
        later: Later,
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__()
        self._connection = connection
        self._questions = questions
        self._asked: Question | None = None
        self._session: Session | None = None
        self._ending: Session | None = None  # the next question waits for its end
        self._left: list[Question] = []
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
            if isinstance(event, DerivationRequested):
                event.derivation.run()  # here: nobody else waits
                self._connection.send_derived()
                self.dataReceived(b"")
            else:
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
            self.problem = problem
        self._asked = None
        self._stop_timer()
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
            self._on_open(event.open)
            self._left = list(self._questions(self.says))
            self._ask_next()
        elif isinstance(event, BeginReceived):
            self._attach(event.session)
        elif isinstance(event, AttachReceived):
            self._on_attach(event)
        elif isinstance(event, DetachReceived):
            if event.link.session is self._session:  # else it answers our detach
                event.link.send_detach(closed=True)
                self._answer(False, _text(event.detach.error))
        elif isinstance(event, EndReceived):
            if event.session is self._session:
                self._answer(False, _text(event.error))
            elif event.session is self._ending:
                self._ending = None
                self._ask_next()
        elif isinstance(event, LinkViolation):
            if event.link.session is self._session:
                self._answer(None, str(event.error))
        elif isinstance(event, SessionViolation):
            if event.session is self._session:
                self._answer(None, str(event.error))
        elif isinstance(event, CloseReceived):
            self.end(_text(event.error))
        elif isinstance(event, Violation):
            self.end(str(event.error))
        elif isinstance(event, ConnectionLost):
            self.end("the connection ended")

    def _on_open(self, performative: Open) -> None:
        told = performative.properties or {}
        self.properties = {
            str(name): str(value.value)
            for name, value in told.items()
            if isinstance(value.value, str)
        }
        self.offered = [str(each) for each in performative.offered_capabilities or []]
        self.frame_size = performative.max_frame_size or 0
        self.channels = (performative.channel_max or 0) + 1
        self.idle_timeout_ms = performative.idle_time_out
        self.mechanism = self._connection.sasl_mechanism
        self.mechanisms = self._connection.sasl_offered
        self.tls = tls_of(self.transport)

    def _on_attach(self, event: AttachReceived) -> None:
        asked = self._asked
        if asked is None or not event.answer or event.link.refused:
            return
        source = event.attach.source
        asked.copied = source is not None and source.distribution_mode == COPY
        asked.selected = selector_in_place(source)
        asked.message_size = event.attach.max_message_size or 0
        event.link.send_detach(closed=True)
        self._answer(True, "")

    def _ask_next(self) -> None:
        if not self._left:
            self.end("")
            return
        self._asked = self._left.pop(0)
        self._session = self._connection.session()
        self._session.send_begin()
        self._timer = self._later.callLater(ANSWERS_WITHIN_S, self._on_late)

    def _on_late(self) -> None:
        self._timer = None
        self._answer(None, "it does not answer")
        self._flush()

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

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
        if asked.about == About.COORDINATOR:
            target = Coordinator(capabilities=[_spec.TXN_LOCAL])
        elif asked.sends:
            target = Target(address=asked.address, capabilities=capabilities)
        else:
            source = Source(
                address=asked.address,
                dynamic=asked.about == About.DYNAMIC,
                distribution_mode=COPY if asked.copies else None,
                filter=selector_filter(SELECTOR if asked.selects else ""),
                capabilities=capabilities,
            )
        link.send_attach(source=source, target=target)

    def _answer(self, exists: bool | None, problem: str) -> None:
        """The next session begins before the last one ends, so that it has another channel.

        RabbitMQ may take a begin on a channel that has just ended for part of what has ended.
        """
        asked, self._asked = self._asked, None
        over, self._session = self._session, None
        if asked is None or over is None:
            return
        self._stop_timer()
        asked.exists = exists
        asked.problem = problem
        if not self._left or self._connection.can_begin:
            self._ask_next()
        else:
            self._ending = over
        over.send_end()


def _text(error: Error | None) -> str:
    if error is None:
        return "it gives no reason"
    return f"{error.condition}: {error.description}" if error.description else str(error.condition)
