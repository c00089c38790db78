"""One session endpoint: windows, delivery-ids, handles, unsettled deliveries (2.5, 2.7.2 - 2.7.8).

What arrives is taken apart here and passed to links; what is owed to the peer at the end of the
turn (flow state, coalesced dispositions) is written by `flush`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.amqp_1_0 import _spec, frames, states
from gateway.amqp_1_0._spec import (
    Attach,
    Begin,
    DeliveryState,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Performative,
    Transfer,
)
from gateway.amqp_1_0.dispositions import Dispositions, fit
from gateway.amqp_1_0.errors import (
    ErrantLinkError,
    FrameSizeTooSmallError,
    FramingError,
    HandleInUseError,
    LinkScopeError,
    SessionFieldError,
    SessionLimitError,
    SessionScopeError,
    StolenError,
    UnattachedHandleError,
    WindowViolationError,
    describe,
)
from gateway.amqp_1_0.events import (
    AttachReceived,
    DeliveryReceived,
    DetachReceived,
    DispositionReceived,
    Event,
    FlowReceived,
    LinkViolation,
    SenderDispositionReceived,
    WindowOpened,
)
from gateway.amqp_1_0.link import NO_HANDLE, Link
from gateway.amqp_1_0.numbers import Numbers
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.send_window import SendWindow
from gateway.amqp_1_0.states import LinkInput, LinkState, SessionInput, SessionState
from gateway.amqp_1_0.unsettled import range_of, received_in, sent_in
from gateway.errors import LocalProtocolError
from gateway.wire import serial
from gateway.wire.buffers import Reader
from gateway.wire.machine import Machine

if TYPE_CHECKING:
    from gateway.amqp_1_0.connection import Connection

OUTGOING_WINDOW: Final = 0x7FFFFFFF
NO_CHANNEL: Final = -1


@final
class Session:
    """A session of ours.

    Attributes:
        begin: the peer's begin, once it has come.
        unsettled_out: deliveries that we sent, by delivery-id.
        unsettled_in: the link of each whole delivery that we received and have not settled.
        context: the driver's own.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.limits = connection.limits
        self.machine = Machine(states.SESSION, SessionState.UNMAPPED)
        self.begin: Begin | None = None
        self.channel_out = NO_CHANNEL
        self.channel_in = NO_CHANNEL
        self.failure: SessionScopeError | None = None
        self.handle_max = min(self.limits.links_max, 0x100000000) - 1
        self.next_incoming_id = 0
        self.incoming_window = self.limits.session_window
        self.sending = SendWindow(connection.writer)
        self.next_delivery_id = 0
        self.unsettled_out: dict[int, Outgoing] = {}
        self.unsettled_in: dict[int, Link] = {}
        self.links: dict[int, Link] = {}  # by the peer's handle
        self.context: object = None
        self._named: dict[tuple[str, bool], Link] = {}
        self._abandoned: list[Link] = []  # detached before the peer's attach came
        self._handles = Numbers()
        self._dispositions = Dispositions()
        self._owing: list[Link] = []
        self._flow_due = False
        self._dirty = False

    @property
    def state(self) -> int:
        """The `SessionState`."""
        return self.machine.state

    @property
    def can_send(self) -> bool:
        """Our half has begun and not ended."""
        state = self.machine.state
        begun = state == _MAPPED or state in _BEGUN
        return begun and self.connection.can_send

    @property
    def blocked(self) -> bool:
        """Deliveries of ours wait for the peer's incoming-window; `WindowOpened` will come."""
        return self.sending.blocked

    # What the driver does.

    def send_begin(
        self,
        *,
        offered_capabilities: list[str] | None = None,
        desired_capabilities: list[str] | None = None,
        properties: Fields | None = None,
    ) -> None:
        """Begin our half: to open a session, or to answer the peer's begin."""
        if not self.connection.can_send or self.channel_out != NO_CHANNEL:
            return
        if self.machine.state == SessionState.ENDED:
            return  # its connection was closed right behind its begin
        channel = self.connection.channels.take(self)
        if channel == NO_CHANNEL:
            return
        self.machine.send(SessionInput.SEND_BEGIN)
        self.channel_out = channel
        self.sending.channel = self.channel_out
        self.write(
            Begin(
                remote_channel=None if self.channel_in == NO_CHANNEL else self.channel_in,
                next_outgoing_id=self.sending.next_outgoing_id,
                incoming_window=self.incoming_window,
                outgoing_window=OUTGOING_WINDOW,
                handle_max=self.handle_max,
                offered_capabilities=offered_capabilities,
                desired_capabilities=desired_capabilities,
                properties=properties,
            )
        )
        failure = self.failure
        if failure is not None:
            self.failure = None
            if self.machine.allows(SessionInput.FAIL):
                self.fail(failure)

    def send_end(self, *, error: Error | None = None) -> None:
        """End our half; unsettled deliveries and links are forgotten here."""
        if not self.can_send or not self.machine.allows(SessionInput.SEND_END):
            return
        self.write_dispositions()
        self.write(End(error=error))
        self.machine.send(SessionInput.SEND_END)
        self._release()

    def refuse(self, error: Error) -> None:
        """Answer a begin with "no": begin, then end with the error."""
        self.send_begin()
        self.send_end(error=error)

    @property
    def can_attach(self) -> bool:
        """The peer takes one more link, as far as we know."""
        return self.can_send and self._handles.lowest() <= self._handle_limit()

    def attach(self, name: str, role: bool) -> Link:
        """A new link of ours, to be opened by its `send_attach`.

        An earlier one of that name and role must have been detached; the peer may still have to
        answer that.
        """
        link = Link(self, name, role)
        self._named[(name, role)] = link
        return link

    def settle_incoming(
        self, delivery_id: int, state: DeliveryState | None, *, settled: bool = True
    ) -> None:
        """Tell the sender what became of a delivery; nothing if it is settled already."""
        if delivery_id not in self.unsettled_in:
            return
        if settled:
            del self.unsettled_in[delivery_id]
        self._dispositions.add(_spec.RECEIVER, delivery_id, settled, state)
        self._touch()

    def settle_outgoing(self, delivery: Outgoing, state: DeliveryState | None) -> None:
        """Settle a delivery that we sent; nothing if it is settled already."""
        if self.unsettled_out.pop(delivery.delivery_id, None) is None:
            return
        self._dispositions.add(_spec.SENDER, delivery.delivery_id, True, state)
        self._touch()

    # What links do.

    def take_handle(self, link: Link) -> int:
        """The lowest free output handle; beyond the peer's limit `NO_HANDLE`, and we end.

        Raises:
            LocalProtocolError: the link is ours, and the peer takes no more.
        """
        handle = self._handles.take()
        if handle > self._handle_limit():
            self._handles.give(handle)
            if link.handle_in == NO_HANDLE:
                raise LocalProtocolError("the peer takes no more links")
            self.fail(SessionLimitError("more links than your handle-max lets us answer"))
            return NO_HANDLE
        return handle

    def _handle_limit(self) -> int:
        remote = self.begin
        if remote is None or remote.handle_max is None:
            return 0xFFFFFFFF
        return remote.handle_max

    def give_handle(self, handle: int) -> None:
        """The handle is free again."""
        self._handles.give(handle)

    def takes(self, performative: Performative) -> bool:
        """Whether the peer's frames are large enough for it."""
        return frames.fits(performative, self.connection.peer_max_frame_size)

    def write(self, performative: Performative) -> None:
        """Write a frame on our channel."""
        self.connection.write(self.channel_out, performative)

    def send_delivery(self, delivery: Outgoing) -> None:
        """Write a delivery's transfers, as far as the peer's incoming-window goes."""
        self.next_delivery_id = (self.next_delivery_id + 1) & serial.MASK
        if not delivery.settled:
            self.unsettled_out[delivery.delivery_id] = delivery
        self.sending.peer_max_frame_size = self.connection.peer_max_frame_size
        try:
            self.sending.send(delivery)
        except FrameSizeTooSmallError as error:
            self.connection.fail(error)

    def owe_link_flow(self, link: Link) -> None:
        """Write the link's flow state at the end of the turn."""
        self._owing.append(link)
        self._touch()

    def stop(self, link: Link) -> None:
        """Nothing more is sent on the link; a delivery that is half sent is aborted."""
        link.drop_partial()
        self.sending.stop(link, may_abort=self.can_send)

    def forget(self, link: Link) -> None:
        """We detach the link: nothing of it is unsettled here any more, nothing waits."""
        self.stop(link)
        if link.state == LinkState.ATTACH_SENT:
            self._abandoned.append(link)
        for number in [n for n, delivery in self.unsettled_out.items() if delivery.link is link]:
            del self.unsettled_out[number]
        for number in [n for n, owner in self.unsettled_in.items() if owner is link]:
            del self.unsettled_in[number]

    # What the connection passes on.

    @property
    def dropping(self) -> bool:
        """What comes is not looked at: we have ended, or are about to."""
        if self.failure is not None:
            return True
        state = self.machine.state
        return state != _MAPPED and state in _DROPPING

    def receive_begin(self, begin: Begin) -> None:
        """The peer's half has begun."""
        self.begin = begin
        self.next_incoming_id = begin.next_outgoing_id
        self.sending.begin(begin.incoming_window)

    def receive(self, code: int, reader: Reader, events: list[Event]) -> None:
        """Take an attach, flow, disposition or detach."""
        if code == _spec.FLOW:
            self._receive_flow(Flow.decode(reader), events)
        elif code == _spec.DISPOSITION:
            self._receive_disposition(Disposition.decode(reader), events)
        elif code == _spec.ATTACH:
            self._receive_attach(Attach.decode(reader), events)
        else:
            self._receive_detach(Detach.decode(reader), events)

    def _receive_attach(self, attach: Attach, events: list[Event]) -> None:
        if attach.handle > self.handle_max:
            raise FramingError(f"handle {attach.handle} where {self.handle_max} is the highest")
        if attach.handle in self.links:
            raise HandleInUseError(f"handle {attach.handle} is in use")
        role = not attach.role
        link = self._awaiting(attach.name, role)
        if link is None or link.handle_in != NO_HANDLE:
            if link is not None and link.attached:
                events.append(self._fail_link(link, StolenError("attached again")))
            if self.connection.link_count >= self.limits.links_max:
                raise SessionLimitError(f"more than {self.limits.links_max} links")
            link = self.attach(attach.name, role)
        self.connection.link_count += 1
        self.links[attach.handle] = link
        link.machine.receive(LinkInput.RECV_ATTACH)
        if link.dead:
            link.handle_in = attach.handle
            return
        events.append(AttachReceived(link, attach, link.handle_out != NO_HANDLE))
        try:
            link.receive_attach(attach)
        except LinkScopeError as error:
            events.append(self._fail_link(link, error))

    def _awaiting(self, name: str, role: bool) -> Link | None:
        """The link that an attach may be for; answers come in the order of what they answer."""
        for link in self._abandoned:
            if link.name == name and link.role == role:
                self._abandoned.remove(link)
                return link
        return self._named.get((name, role))

    def _fail_link(self, link: Link, error: LinkScopeError) -> LinkViolation:
        link.fail(error)
        return LinkViolation(link, error)

    def _receive_detach(self, detach: Detach, events: list[Event]) -> None:
        link = self.links.pop(detach.handle, None)
        if link is None:
            raise UnattachedHandleError(f"handle {detach.handle} is not attached")
        self.connection.link_count -= 1
        link.machine.receive(LinkInput.RECV_DETACH)
        key = (link.name, link.role)
        if self._named.get(key) is link:
            del self._named[key]
        self.stop(link)
        events.append(DetachReceived(link, detach))

    def _link(self, handle: int) -> Link | None:
        """The link of an input handle; `None` when what comes for it is to be dropped."""
        link = self.links.get(handle)
        if link is None:
            raise UnattachedHandleError(f"handle {handle} is not attached")
        if link.dead:
            # In flight when we detached: the specification (2.6.5) would have us end the session,
            # which deployed peers do not survive and their brokers do not do.
            if self.connection.strict and link.failed:
                raise ErrantLinkError(f"handle {handle} was detached with an error")
            return None
        return link

    def _receive_flow(self, flow: Flow, events: list[Event]) -> None:
        self.next_incoming_id = flow.next_outgoing_id
        blocked = self.blocked
        self.sending.peer_max_frame_size = self.connection.peer_max_frame_size
        self.sending.update(flow)
        if self._owing:
            self._touch()
        if blocked and not self.blocked:
            events.append(WindowOpened(self))
        if flow.handle is None:
            if flow.echo is True:
                self._flow_due = True
                self._touch()
            return
        link = self._link(flow.handle)
        if link is None:
            return
        try:
            link.receive_flow(flow)
        except LinkScopeError as error:
            events.append(self._fail_link(link, error))
            return
        events.append(FlowReceived(link))

    def receive_transfer(self, transfer: Transfer, reader: Reader, events: list[Event]) -> None:
        """Take a transfer, its payload still in `reader`."""
        if self.incoming_window <= 0:
            raise WindowViolationError("a transfer beyond the incoming-window")
        self.incoming_window -= 1
        self.next_incoming_id = (self.next_incoming_id + 1) & serial.MASK
        if self.incoming_window * 2 <= self.limits.session_window and not self._flow_due:
            self._flow_due = True
            self._touch()
        link = self._link(transfer.handle)
        if link is None:
            return
        if not link.role:
            raise SessionFieldError("a transfer to a sender")
        try:
            delivery = link.receive_transfer(transfer, reader.rest())
        except LinkScopeError as error:
            events.append(self._fail_link(link, error))
            return
        if delivery is None:
            return
        if isinstance(delivery, DeliveryReceived) and not delivery.settled:
            number = delivery.delivery_id
            if number in self.unsettled_in:
                raise SessionFieldError(f"delivery-id {number} is in use")
            if len(self.unsettled_in) >= self.limits.unsettled_max:
                raise SessionLimitError(f"more than {self.limits.unsettled_max} unsettled")
            self.unsettled_in[number] = link
        events.append(delivery)

    def _receive_disposition(self, disposition: Disposition, events: list[Event]) -> None:
        first = disposition.first
        count = range_of(disposition)
        settled = disposition.settled is True
        if disposition.role:
            deliveries = sent_in(self.unsettled_out, first, count)
            if settled:
                for delivery in deliveries:
                    del self.unsettled_out[delivery.delivery_id]
            if deliveries:
                events.append(DispositionReceived(self, deliveries, settled, disposition.state))
            return
        numbers = received_in(self.unsettled_in, first, count)
        links = [self.unsettled_in[number] for number in numbers]
        if settled:
            for number in numbers:
                del self.unsettled_in[number]
        if numbers:
            state = disposition.state
            events.append(SenderDispositionReceived(self, numbers, links, settled, state))

    def fail(self, error: SessionScopeError) -> None:
        """End for an error of the peer's; as soon as we have begun, if we have not yet."""
        if self.can_send and self.machine.allows(SessionInput.FAIL):
            self.write_dispositions()
            self.write(End(error=Error(condition=error.condition, description=describe(error))))
            self.machine.send(SessionInput.FAIL)
            self._release()
        elif self.machine.state != SessionState.ENDED:
            self.failure = error

    def receive_end(self) -> None:
        """The peer's half has ended."""
        self.machine.receive(SessionInput.RECV_END)
        self._release_links()

    def lose(self) -> None:
        """The connection has ended."""
        self.machine.receive(SessionInput.LOST)
        self._release_links()

    def _release(self) -> None:
        self.connection.channels.give(self)
        self._release_links()

    def _release_links(self) -> None:
        self.connection.link_count -= len(self.links)
        for link in self.links.values():
            link.dead = True
            link.drop_partial()
            link.machine.receive(LinkInput.LOST)
        self.links = {}
        self._named = {}
        self._abandoned = []
        self._owing = []
        self.sending.clear()
        self.unsettled_in = {}
        self.unsettled_out = {}

    # The end of the turn.

    def _touch(self) -> None:
        if not self._dirty:
            self._dirty = True
            self.connection.channels.touch(self)

    def write_dispositions(self) -> None:
        """Write the dispositions that wait."""
        for disposition in self._dispositions.take():
            if fit(disposition, self.connection.peer_max_frame_size):
                self.connection.shortened.append(disposition)
            self.write(disposition)

    def flush(self) -> None:
        """Write what is owed: dispositions, then flow states.

        Credit is taken back first: what goes back must not come again by it.
        """
        self._dirty = False
        if not self.can_send:
            return
        owing = self._owing
        if owing:
            self._owing = []
            for link in owing:
                if _takes_back(link):
                    self._flush_flow(link)
        self.write_dispositions()
        for link in owing:
            if not _takes_back(link):
                self._flush_flow(link)
        if self._flow_due:
            self._write_flow(None)

    def _flush_flow(self, link: Link) -> None:
        if link.dead or link.detached:
            return
        if link.queued or link.handle_out == NO_HANDLE:
            # Its delivery-count is ahead of what has been written: after the transfers, then.
            self._owing.append(link)
            return
        link.flow_due = False
        self._write_flow(link)

    def _write_flow(self, link: Link | None) -> None:
        self._flow_due = False
        self.incoming_window = self.limits.session_window
        flow = Flow(
            next_incoming_id=None if self.begin is None else self.next_incoming_id,
            incoming_window=self.incoming_window,
            next_outgoing_id=self.sending.next_outgoing_id,
            outgoing_window=OUTGOING_WINDOW,
        )
        if link is not None:
            flow.handle = link.handle_out
            if not link.role or link.attach is not None:
                flow.delivery_count = link.delivery_count
            flow.link_credit = link.credit
            flow.available = link.available
            flow.drain = link.drain
            flow.echo = True if link.echo else None
            link.echo = False
        self.write(flow)


_MAPPED: Final = int(SessionState.MAPPED)
_BEGUN: Final = (SessionState.BEGIN_SENT, SessionState.END_RCVD)
_DROPPING: Final = (
    SessionState.END_SENT,
    SessionState.DISCARDING,
    SessionState.BOTH_SENT,
    SessionState.ENDED,
)


def _takes_back(link: Link) -> bool:
    """Whether nothing more is to come on a link."""
    return link.role and link.credit == 0
