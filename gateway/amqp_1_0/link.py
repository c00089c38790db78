"""One link endpoint: attach and detach, credit, and sending deliveries (2.6, 2.7.3 - 2.7.7).

Its session maps the handles and owns delivery-ids and windows; what comes is taken apart by
`receiving`. What a terminus means is the driver's business; it keeps its own object in `context`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, final

from gateway.amqp_1_0 import _spec, states, types
from gateway.amqp_1_0._spec import (
    AnyTarget,
    Attach,
    DeliveryState,
    Detach,
    Error,
    Source,
    Unsettled,
)
from gateway.amqp_1_0.errors import (
    DELIVERY_TAG,
    FrameSizeTooSmallError,
    LinkFieldError,
    LinkScopeError,
    SessionLimitError,
    describe,
)
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.states import LinkInput, LinkState
from gateway.amqp_1_0.transfers.incoming import Incoming
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.amqp_1_0.weighing import weigh_source, weigh_target
from gateway.errors import LocalProtocolError
from gateway.wire import serial
from gateway.wire.accounts import weigh
from gateway.wire.machine import Machine
from gateway.wire.tagged import Tagged

if TYPE_CHECKING:
    from gateway.amqp_1_0.session import Session

_ATTACHED: Final = int(LinkState.ATTACHED)  # a plain number: it compares at no cost

NO_HANDLE: Final = -1
LINK_OCTETS: Final = 4096  # what a link takes, apart from its name and what its attach brings


class Waiting(Protocol):
    """Who knows what waits for a link that sends."""

    def available(self) -> int | None:
        """How many messages wait for its credit; `None`: that is not counted."""


@final
class Link:
    """The local half of a link: a sender or a receiver.

    Attributes:
        role: the local one: `_spec.SENDER` or `_spec.RECEIVER`.
        attach: the peer's attach, once it has come.
        credit: link-credit: what we may still send, or what the peer may still send.
        drain: the receiver wants the credit used up or given back.
        available: what the peer says it could send; `None`: it has not said.
        waiting: sender: who knows what waits for credit; `None`: nobody does.
        asks_to_acquire: sender: the receiver wants to acquire in a transaction (4.4.3).
        incoming: receiver: what may come, and what has come in part.
        dead: what comes is dropped: we have detached, or are about to.
        failed: we have detached for an error of the peer's, or are about to.
        failure: the error, where our attach has yet to be sent.
        kept: octets of it on the connection's account; of the peer's attach, as it came, until
            that is forgotten.
        context: the driver's own.
    """

    def __init__(self, session: Session, name: str, role: bool) -> None:
        self.session = session
        self.name = name
        self.role = role
        self.machine = Machine(states.LINK, LinkState.DETACHED)
        self.attach: Attach | None = None
        self.handle_out = NO_HANDLE
        self.handle_in = NO_HANDLE
        self.failure: LinkScopeError | None = None
        self.dead = False
        self.failed = False
        self.initial_delivery_count = 0
        self.delivery_count = 0
        self.credit = 0
        self.drain = False
        self.echo = False
        self.available: int | None = None
        self.waiting: Waiting | None = None
        self.queued = 0
        self.kept = 0
        self._lasting = 0
        self._decoded = False
        self.flow_due = False
        self.incoming = Incoming(session.carrier)
        self.max_message_size = session.limits.message_size_max
        self.snd_settle_mode = _spec.SND_MIXED
        self.rcv_settle_mode = _spec.RCV_FIRST
        self.context: object = None
        self.asks_to_acquire = False
        self.incomplete = False  # the unsettled map that we sent
        self._answered = False

    @property
    def attached(self) -> bool:
        """Both halves are attached, and no error is about to detach them."""
        return self.machine.state == _ATTACHED and not self.dead

    @property
    def detached(self) -> bool:
        """The peer's half has come and gone."""
        return self.machine.state in _PEER_GONE

    @property
    def refused(self) -> bool:
        """The peer answered without a terminus of its own (2.6.3); its detach follows."""
        attach = self.attach
        if attach is None or not self._answered:
            return False
        return attach.source is None if self.role else attach.target is None

    @property
    def resume_only(self) -> bool:
        """An unsettled map was incomplete: no new deliveries before the next attach (2.7.3)."""
        attach = self.attach
        return self.incomplete or (attach is not None and attach.incomplete_unsettled is True)

    @property
    def peer_max_message_size(self) -> int:
        """The largest message that the peer takes; 0: it sets no limit."""
        attach = self.attach
        return 0 if attach is None else attach.max_message_size or 0

    # What the driver does.

    def send_attach(
        self,
        *,
        source: Source | None,
        target: AnyTarget | None,
        snd_settle_mode: int = _spec.SND_MIXED,
        rcv_settle_mode: int = _spec.RCV_FIRST,
        unsettled: Unsettled | None = None,
        incomplete_unsettled: bool = False,
        offered_capabilities: list[str] | None = None,
        desired_capabilities: list[str] | None = None,
        properties: Fields | None = None,
    ) -> None:
        """Attach our half: to open a link, to resume one, or to answer the peer's attach.

        A local link whose attach no frame of the peer can hold is `dead`; the peer hears nothing.

        Args:
            unsettled: not `None`, though perhaps empty: resume a link that was suspended or lost;
                see `resumption`. Of a map that does not fit a frame with the attach around it
                as much is sent as does, from its beginning: it is incomplete.

        Raises:
            LocalProtocolError: the peer takes no more links; see `Session.can_attach`.
        """
        session = self.session
        if not session.can_send or not self.machine.allows(LinkInput.SEND_ATTACH):
            return
        handle = self._take_handle()
        if handle == NO_HANDLE:
            return
        performative = Attach(
            name=self.name,
            handle=handle,
            role=self.role,
            snd_settle_mode=snd_settle_mode,
            rcv_settle_mode=rcv_settle_mode,
            source=source,
            target=target,
            unsettled=unsettled,
            incomplete_unsettled=True if incomplete_unsettled else None,
            initial_delivery_count=None if self.role else self.initial_delivery_count,
            max_message_size=self.max_message_size if self.role else None,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
            properties=properties,
        )
        unsettled = self._shorten(performative)
        if self.handle_in == NO_HANDLE and not session.carrier.takes(performative):
            session.handles.give(handle)
            self.dead = True
            return
        self.machine.send(LinkInput.SEND_ATTACH)
        self.handle_out = handle
        self.snd_settle_mode = snd_settle_mode
        self.rcv_settle_mode = rcv_settle_mode
        self.incomplete = performative.incomplete_unsettled is True
        if self.role and unsettled is not None:
            self.incoming.resumable = set(unsettled)
        session.write(performative)
        self._fail_attached()

    def _shorten(self, attach: Attach) -> Unsettled | None:
        """As much of its unsettled map as fits a frame; its map then."""
        takes = self.session.carrier.takes
        while attach.unsettled and not takes(attach):
            tags = list(attach.unsettled)[: len(attach.unsettled) // 2]
            attach.unsettled = {tag: attach.unsettled[tag] for tag in tags}
            attach.incomplete_unsettled = True
        return attach.unsettled

    def _take_handle(self) -> int:
        """Ours, for an attach; `NO_HANDLE`: there is none left for an answer, so it has failed."""
        session = self.session
        handle = session.handles.take()
        if handle == NO_HANDLE:
            if self.handle_in == NO_HANDLE:
                raise LocalProtocolError("the peer takes no more links")
            session.fail(SessionLimitError("more links than your handle-max lets us answer"))
        return handle

    def _fail_attached(self) -> None:
        """What was wrong with the peer's attach is told behind ours."""
        failure = self.failure
        if failure is not None:
            self.failure = None
            self.send_detach(
                error=Error(condition=failure.condition, description=describe(failure))
            )

    def refuse(self, error: Error) -> None:
        """Answer an attach with "no" (2.6.3): our terminus null, then detach with the error."""
        attach = self.attach
        assert attach is not None
        if self.role:
            self.send_attach(source=attach.source, target=None)
        else:
            self.send_attach(source=None, target=attach.target)
        self.send_detach(error=error)
        self._lasting = 0
        self.forget_attach()

    def send_detach(self, *, closed: bool = True, error: Error | None = None) -> None:
        """Detach our half; its deliveries are forgotten, those half sent are aborted."""
        if not self.session.can_send or not self.machine.allows(LinkInput.SEND_DETACH):
            return
        self.session.forget(self)
        self.session.write_dispositions()
        self.session.write(Detach(handle=self.handle_out, closed=closed, error=error))
        self.machine.send(LinkInput.SEND_DETACH)
        self.session.handles.give(self.handle_out)
        self.session.part(self)
        self.dead = True

    def send_flow(self, *, credit: int, drain: bool = False, echo: bool = False) -> None:
        """Receiver: set the link-credit and drain mode, written at the end of the turn."""
        if not self.role:
            raise LocalProtocolError("credit is given by the receiver")
        self.credit = credit
        self.drain = drain
        if echo:
            self.echo = True
        self.incoming.allow(credit)
        self.owe_flow()

    def send_drained(self) -> None:
        """Sender: give the rest of the credit back (2.6.7), after what has been sent."""
        self.delivery_count = serial.add(self.delivery_count, self.credit)
        self.credit = 0
        self.owe_flow()

    def send_delivery(
        self,
        tag: bytes,
        head: bytes,
        rest: bytes,
        *,
        settled: bool,
        message_format: int = 0,
        state: DeliveryState | None = None,
        context: object = None,
        resume: bool = False,
        rest_at: int = 0,
    ) -> Outgoing:
        """Sender: send one message, `head` + `rest` from `rest_at` on; there must be credit.

        What the session window does not let through waits; see `Session.blocked`. A delivery that
        is resumed (`resumption.resolve` says which) takes credit like any.
        """
        if self.role or self.credit <= 0 or not self.attached:
            raise LocalProtocolError("a delivery without a link that has credit")
        number = self.session.sending.next_delivery_id
        delivery = Outgoing(
            self, number, tag, settled, message_format, head, rest, state, context, rest_at
        )
        delivery.resume = resume
        self._send(delivery)
        return delivery

    def send_abort(self, tag: bytes) -> None:
        """Sender: give up a delivery of the peer's unsettled map; there must be credit (2.6.13)."""
        if self.role or self.credit <= 0 or not self.attached:
            raise LocalProtocolError("an abort without a link that has credit")
        number = self.session.sending.next_delivery_id
        delivery = Outgoing(self, number, tag, True, 0, b"", b"", None, None)
        delivery.resume = True
        delivery.aborted = True
        self._send(delivery)

    def _send(self, delivery: Outgoing) -> None:
        if self.resume_only and not delivery.resume:
            raise LocalProtocolError("a new delivery while an unsettled map is incomplete")
        self.credit -= 1
        self.delivery_count = (self.delivery_count + 1) & serial.MASK
        try:
            self.session.sending.send(delivery)
        except FrameSizeTooSmallError as error:
            self.session.carrier.fail(error)

    def available_to_tell(self) -> int | None:
        """What our flow says of it (2.7.4); `None`: nothing, which is not the same as 0."""
        waiting = self.waiting
        if waiting is None:
            return self.available
        number = waiting.available()
        return None if number is None else min(number, serial.MASK)

    def owe_flow(self) -> None:
        """Have our flow state written at the end of the turn."""
        if not self.flow_due:
            self.flow_due = True
            self.session.owe_link_flow(self)

    # What the session passes on.

    def receive_attach(self, attach: Attach) -> None:
        """The peer's half is attached."""
        self.attach = attach
        self.handle_in = attach.handle
        self._answered = self.handle_out != NO_HANDLE
        if self.role:
            count = attach.initial_delivery_count
            if count is None and not self.refused:
                raise LinkFieldError("an attach of a sender without initial-delivery-count")
            self.delivery_count = count or 0

    def keep(self, octets: int) -> bool:
        """The driver keeps so much as long as the link lives; `False`: that would be too much."""
        if not self._take(octets):
            return False
        self._lasting += octets
        return True

    def keep_decoded(self) -> bool:
        """The driver answers the attach later, by its termini; `False`: that would be too much."""
        attach = self.attach
        if attach is not None and not self._decoded:
            _forget_beside(attach)
            if not self._take(weigh_source(attach.source) + weigh_target(attach.target)):
                return False
            self._decoded = True
        return True

    def _take(self, octets: int) -> bool:
        taken = self.session.carrier.account.take(octets)
        if taken:
            self.kept += octets
        return taken

    def forget_attach(self) -> None:
        """The driver has done with the peer's attach: let go what takes memory of it."""
        attach = self.attach
        if attach is not None:
            attach.source = None
            attach.target = None
            _forget_beside(attach)
        lasting = LINK_OCTETS + weigh(self.name) + self._lasting
        if self.kept > lasting:
            self.session.carrier.account.give(self.kept - lasting)
            self.kept = lasting

    def fail(self, error: LinkScopeError, tag: bytes = b"") -> None:
        """Detach for an error of the peer's; as soon as we are attached, if we are not yet.

        `tag`: of the delivery that it is of.
        """
        self.dead = True
        self.failed = True
        self.session.forget(self)
        if self.machine.allows(LinkInput.SEND_DETACH):
            info = {DELIVERY_TAG: Tagged(types.BINARY, tag)} if tag else None
            self.send_detach(
                error=Error(condition=error.condition, description=describe(error), info=info)
            )
        else:
            self.failure = error


def _forget_beside(attach: Attach) -> None:
    """Let go what nothing is asked of beside the termini once the driver knows of the attach."""
    attach.unsettled = None
    attach.offered_capabilities = None
    attach.desired_capabilities = None
    attach.properties = None


_PEER_GONE: Final = (LinkState.DETACH_RCVD, LinkState.BOTH_RCVD, LinkState.GONE)
