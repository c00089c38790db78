"""One link endpoint: attach and detach, credit, and putting deliveries together (2.6, 2.7.3 -
2.7.7).

Its session maps the handles and owns delivery-ids and windows. What a terminus means is the
driver's business; it keeps its own object in `context`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_1_0 import _spec, states
from gateway.amqp_1_0._spec import (
    AnyTarget,
    Attach,
    DeliveryState,
    Detach,
    Error,
    Flow,
    Source,
    Transfer,
    Unsettled,
)
from gateway.amqp_1_0.errors import (
    LinkFieldError,
    LinkLimitError,
    LinkScopeError,
    LinkStateError,
    MessageSizeExceededError,
    TransferLimitExceededError,
    describe,
)
from gateway.amqp_1_0.events import DeliveryAborted, DeliveryReceived
from gateway.amqp_1_0.incoming import Partial
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.states import LinkInput, LinkState
from gateway.errors import LocalProtocolError
from gateway.wire import serial
from gateway.wire.machine import Machine

if TYPE_CHECKING:
    from gateway.amqp_1_0.session import Session

_ATTACHED: Final = int(LinkState.ATTACHED)  # a plain number: it compares at no cost

NO_HANDLE: Final = -1
TXN_ID: Final = "txn-id"
UNFINISHED_MESSAGES: Final = 2  # of the largest size, in all links of a connection together


@final
class Link:
    """A sender or receiver of ours.

    Attributes:
        role: ours: `_spec.SENDER` or `_spec.RECEIVER`.
        attach: the peer's attach, once it has come.
        credit: link-credit: what we may still send, or what the peer may still send.
        drain: the receiver wants the credit used up or given back.
        available: what the sender says it could send.
        asks_to_acquire: sender: the receiver wants to acquire in a transaction (4.4.3).
        counts_anew: receiver: the sender takes each credit as new, not as counted from the
            delivery-count beside it: what is under way comes on top.
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
        self.dead = False  # what comes is dropped: we have detached, or are about to
        self.failed = False
        self.initial_delivery_count = 0
        self.delivery_count = 0
        self.credit = 0
        self.drain = False
        self.echo = False
        self.available = 0
        self.queued = 0
        self.flow_due = False
        self.max_message_size = session.limits.message_size_max
        self.snd_settle_mode = _spec.SND_MIXED
        self.rcv_settle_mode = _spec.RCV_FIRST
        self.context: object = None
        self.asks_to_acquire = False
        self.counts_anew = False
        self._allowed = 0  # like `credit`, but what is on its way when we lower it stays allowed
        self._partial: Partial | None = None
        self._resumable: set[bytes] = set()  # receiver: of the unsettled map that we sent
        self._incomplete = False
        self._answered = False

    @property
    def state(self) -> int:
        """The `LinkState`."""
        return self.machine.state

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
        return self._incomplete or (attach is not None and attach.incomplete_unsettled is True)

    @property
    def may_bring(self) -> bool:
        """Receiver: deliveries may be under way, of credit that was given, even if taken back."""
        return self._allowed > 0

    @property
    def unfinished_state(self) -> DeliveryState | None:
        """Receiver: the state of the delivery of which not all transfers have come."""
        partial = self._partial
        return None if partial is None else partial.state

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

        One of ours that the peer's frames are too small for is `dead`; the peer hears nothing.

        Args:
            unsettled: not `None`, though perhaps empty: resume a link that was suspended or lost;
                see `resumption`. The map with the attach around it must fit one frame.

        Raises:
            LocalProtocolError: the peer takes no more links; see `Session.can_attach`.
        """
        session = self.session
        if not session.can_send or not self.machine.allows(LinkInput.SEND_ATTACH):
            return
        handle = session.take_handle(self)
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
        if self.handle_in == NO_HANDLE and not session.takes(performative):
            session.give_handle(handle)
            self.dead = True
            return
        self.machine.send(LinkInput.SEND_ATTACH)
        self.handle_out = handle
        self.snd_settle_mode = snd_settle_mode
        self.rcv_settle_mode = rcv_settle_mode
        self._incomplete = incomplete_unsettled
        if self.role and unsettled is not None:
            self._resumable = set(unsettled)
        session.write(performative)
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

    def send_detach(self, *, closed: bool = True, error: Error | None = None) -> None:
        """Detach our half; its deliveries are forgotten here, those half sent are aborted."""
        if not self.session.can_send or not self.machine.allows(LinkInput.SEND_DETACH):
            return
        self.session.forget(self)
        self.session.write_dispositions()
        self.session.write(Detach(handle=self.handle_out, closed=closed, error=error))
        self.machine.send(LinkInput.SEND_DETACH)
        self.session.give_handle(self.handle_out)
        self.dead = True

    def send_flow(self, *, credit: int, drain: bool = False, echo: bool = False) -> None:
        """Receiver: set the link-credit and drain mode, written at the end of the turn."""
        if not self.role:
            raise LocalProtocolError("credit is given by the receiver")
        self.credit = credit
        self.drain = drain
        if echo:
            self.echo = True
        if self.counts_anew:
            self._allowed += credit
        elif credit > self._allowed:
            self._allowed = credit
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
    ) -> Outgoing:
        """Sender: send one message, `head` + `rest`; there must be credit.

        What the session window does not let through waits; see `Session.blocked`. A delivery that
        is resumed (`resumption.resolve` says which) takes credit like any.
        """
        if self.role or self.credit <= 0 or not self.attached:
            raise LocalProtocolError("a delivery without a link that has credit")
        session = self.session
        delivery = Outgoing(
            self, session.next_delivery_id, tag, settled, message_format, head, rest, state, context
        )
        delivery.resume = resume
        self._send(delivery)
        return delivery

    def send_abort(self, tag: bytes) -> None:
        """Sender: give up a delivery of the peer's unsettled map; there must be credit (2.6.13)."""
        if self.role or self.credit <= 0 or not self.attached:
            raise LocalProtocolError("an abort without a link that has credit")
        number = self.session.next_delivery_id
        delivery = Outgoing(self, number, tag, True, 0, b"", b"", None, None)
        delivery.resume = True
        delivery.aborted = True
        self._send(delivery)

    def _send(self, delivery: Outgoing) -> None:
        if self.resume_only and not delivery.resume:
            raise LocalProtocolError("a new delivery while an unsettled map is incomplete")
        self.credit -= 1
        self.delivery_count = (self.delivery_count + 1) & serial.MASK
        self.session.send_delivery(delivery)

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

    def receive_flow(self, flow: Flow) -> None:
        """The peer's flow state (2.6.7)."""
        if self.role:
            self._receive_sender_flow(flow)
        elif flow.properties is not None and TXN_ID in flow.properties:
            self.asks_to_acquire = True
        elif flow.link_credit is not None:
            count = flow.delivery_count
            if count is None:
                count = self.initial_delivery_count
            self.credit = max(0, flow.link_credit - serial.distance(count, self.delivery_count))
            self.drain = flow.drain is True
        if flow.echo is True:
            self.owe_flow()

    def _receive_sender_flow(self, flow: Flow) -> None:
        if flow.available is not None:
            self.available = flow.available
        if flow.delivery_count is None:
            return
        used = serial.distance(self.delivery_count, flow.delivery_count)
        if used < 0:
            raise LinkFieldError("a delivery-count that goes back")
        self.delivery_count = flow.delivery_count
        self.credit = max(0, self.credit - used)
        self._allowed = max(0, self._allowed - used)

    def receive_transfer(
        self, transfer: Transfer, payload: bytes
    ) -> DeliveryReceived | DeliveryAborted | None:
        """Take one transfer; the delivery, once it is whole."""
        partial = self._partial
        if partial is None:
            if self._allowed <= 0:
                raise TransferLimitExceededError("a transfer without credit")
            if transfer.delivery_id is None or transfer.delivery_tag is None:
                raise LinkFieldError("a delivery without delivery-id or delivery-tag")
            if self._incomplete and transfer.resume is not True:
                raise LinkStateError("a new delivery while the unsettled map is incomplete")
            if len(payload) > self.max_message_size:
                raise MessageSizeExceededError(f"more than {self.max_message_size} octets")
            if transfer.more is not True or transfer.aborted is True:
                return self._whole(transfer, payload)
            second = self._rcv_second(transfer.rcv_settle_mode)
            self._partial = Partial(transfer, payload, second)
            self._keep(len(payload))
            return None
        partial.add(transfer, payload)
        self._keep(len(payload))
        if transfer.more is True and transfer.aborted is not True:
            return None
        self.drop_partial()
        self._count()
        if partial.resume and not self._takes_up(partial.tag):
            return None
        if transfer.aborted is True:
            return DeliveryAborted(self, partial.tag)
        return DeliveryReceived(
            self,
            partial.delivery_id,
            partial.tag,
            partial.settled,
            partial.message_format,
            b"".join(partial.parts),
            partial.state,
            partial.rcv_second,
            partial.resume,
        )

    def _keep(self, octets: int) -> None:
        """Count what an unfinished delivery holds; all of a connection together are bounded."""
        connection = self.session.connection
        connection.partial_octets += octets
        partial = self._partial
        if partial is not None and partial.size > self.max_message_size:
            raise MessageSizeExceededError(f"more than {self.max_message_size} octets")
        if connection.partial_octets > UNFINISHED_MESSAGES * self.max_message_size:
            raise LinkLimitError("too much of unfinished deliveries")

    def drop_partial(self) -> None:
        """The delivery that was under way is whole, or will never be."""
        partial = self._partial
        if partial is not None:
            self._partial = None
            self.session.connection.partial_octets -= partial.size

    def _takes_up(self, tag: bytes) -> bool:
        """Whether it is in our unsettled map; what is not must be ignored (2.6.13)."""
        if tag not in self._resumable:
            return False
        self._resumable.remove(tag)
        return True

    def _whole(
        self, transfer: Transfer, payload: bytes
    ) -> DeliveryReceived | DeliveryAborted | None:
        self._count()
        delivery_id = transfer.delivery_id
        tag = transfer.delivery_tag
        assert delivery_id is not None
        assert tag is not None
        resume = transfer.resume is True
        if resume and not self._takes_up(tag):
            return None
        if transfer.aborted is True:
            return DeliveryAborted(self, tag)
        message_format = transfer.message_format
        return DeliveryReceived(
            self,
            delivery_id,
            tag,
            transfer.settled is True,
            0 if message_format is None else message_format,
            payload,
            transfer.state,
            self._rcv_second(transfer.rcv_settle_mode),
            resume,
        )

    def _rcv_second(self, mode: int | None) -> bool:
        if mode is None:
            return self.rcv_settle_mode == _spec.RCV_SECOND
        if mode == _spec.RCV_SECOND and self.rcv_settle_mode == _spec.RCV_FIRST:
            raise LinkFieldError("rcv-settle-mode second on a link of mode first")
        return mode == _spec.RCV_SECOND

    def _count(self) -> None:
        self.delivery_count = (self.delivery_count + 1) & serial.MASK
        self._allowed -= 1
        if self.credit > 0:
            self.credit -= 1
        if self.available > 0:
            self.available -= 1

    def fail(self, error: LinkScopeError) -> None:
        """Detach for an error of the peer's; as soon as we are attached, if we are not yet."""
        self.dead = True
        self.failed = True
        self.session.forget(self)
        if self.machine.allows(LinkInput.SEND_DETACH):
            self.send_detach(error=Error(condition=error.condition, description=describe(error)))
        else:
            self.failure = error


_PEER_GONE: Final = (LinkState.DETACH_RCVD, LinkState.BOTH_RCVD, LinkState.GONE)
