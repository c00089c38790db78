"""One session endpoint: windows, handles, unsettled deliveries, what is owed (2.5, 2.7.2 - 2.7.8).

What comes is taken apart by `receiving`; what is owed to the peer at the end of the turn (flow
state, coalesced dispositions) is written by `flush`.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec, states
from gateway.amqp_1_0._spec import Begin, DeliveryState, End, Error, Flow, Performative
from gateway.amqp_1_0.carrier import Carrier
from gateway.amqp_1_0.errors import SessionScopeError, describe
from gateway.amqp_1_0.handles import Handles
from gateway.amqp_1_0.link import NO_HANDLE, Link
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.states import LinkInput, LinkState, SessionInput, SessionState
from gateway.amqp_1_0.transfers.dispositions import Dispositions, fit
from gateway.amqp_1_0.transfers.incoming import NO_DELIVERY
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.amqp_1_0.transfers.send_window import SendWindow
from gateway.wire.machine import Machine

OUTGOING_WINDOW: Final = 0x7FFFFFFF
NO_CHANNEL: Final = -1


class SessionTable(Protocol):
    """The sessions of the connection, as one of them needs it; see `channels`."""

    def take(self, session: Session) -> int:
        """A free outgoing channel; `NO_CHANNEL` where the connection had to end for it."""

    def give(self, session: Session) -> None:
        """The session has ended, at least our half of it."""

    def touch(self, session: Session) -> None:
        """The session owes frames at the end of the turn."""

    def flush(self) -> None:
        """Have all sessions write what they owe now."""


@final
class Session:
    """The local half of a session.

    Attributes:
        carrier, channels: the connection.
        begin: the peer's begin, once it has come; what only a driver could mean to know left out.
        handles: its links.
        sending: the window that the peer gives, and the deliveries that we sent.
        next_incoming_id, incoming_window: the window that we give.
        unsettled_in: the link of each whole delivery that we received and have not settled.
        flow_due: the session's flow state is to be written at the end of the turn.
        failure: an error of the peer's, where our begin has yet to be sent.
        latest_lost: the delivery-id of the last delivery that came when we had ended.
        crossed: the peer has detached a link for an error, and we had ended already.
        context: the driver's own.
    """

    def __init__(self, carrier: Carrier, channels: SessionTable) -> None:
        self.carrier = carrier
        self.channels = channels
        self.limits = carrier.limits
        self.machine = Machine(states.SESSION, SessionState.UNMAPPED)
        self.begin: Begin | None = None
        self.channel_out = NO_CHANNEL
        self.channel_in = NO_CHANNEL
        self.failure: SessionScopeError | None = None
        self.handles = Handles(min(self.limits.links_max, 0x100000000) - 1)
        self.next_incoming_id = 0
        self.incoming_window = self.limits.session_window
        self.sending = SendWindow(carrier)
        self.unsettled_in: dict[int, Link] = {}
        self.context: object = None
        self.flow_due = False
        self.crossed = False
        self.latest_lost = NO_DELIVERY
        self._dispositions = Dispositions()
        self._owing: list[Link] = []
        self._parting: dict[Link, None] = {}
        self._dirty = False

    @property
    def can_send(self) -> bool:
        """Our half has begun and not ended."""
        state = self.machine.state
        begun = state == _MAPPED or state in _BEGUN
        return begun and self.carrier.can_send

    @property
    def blocked(self) -> bool:
        """Local deliveries wait, for the peer's incoming-window or for the next flush.

        `WindowOpened` will come, or `Connection.unfinished` is less.
        """
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
        if not self.carrier.can_send or self.channel_out != NO_CHANNEL:
            return
        if self.machine.state == SessionState.ENDED:
            return  # its connection was closed right behind its begin
        channel = self.channels.take(self)
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
                handle_max=self.handles.handle_max,
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
        """End our half; unsettled deliveries and links are forgotten."""
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
        return self.can_send and self.handles.can_take

    def attach(self, name: str, role: bool) -> Link:
        """A new local link, to be opened by its `send_attach`.

        An earlier one of that name and role must have been detached; the peer may still have to
        answer that.
        """
        link = Link(self, name, role)
        self.handles.name(link)
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
        if self.sending.unsettled.pop(delivery.delivery_id, None) is None:
            return
        self._dispositions.add(_spec.SENDER, delivery.delivery_id, True, state)
        self._touch()

    # What links do.

    def write(self, performative: Performative) -> None:
        """Write a frame on our channel."""
        self.carrier.write(self.channel_out, performative)

    def owe_flow(self) -> None:
        """Write the session's flow state at the end of the turn."""
        self.flow_due = True
        self._touch()

    def retry_flows(self) -> None:
        """The window has changed: flow states that wait for transfers may be due."""
        if self._owing:
            self._touch()

    def owe_link_flow(self, link: Link) -> None:
        """Write the link's flow state at the end of the turn."""
        self._owing.append(link)
        self._touch()

    def stop(self, link: Link) -> None:
        """Nothing more is sent on the link; a delivery that is half sent is aborted."""
        if link.queued:
            self.sending.stop(link.handle_out, may_abort=self.can_send)

    def part(self, link: Link) -> None:
        """One half of the link is detached: once both are, nothing is kept of it any more."""
        if link.machine.state == LinkState.GONE:
            self._parting.pop(link, None)
            self._let_go(link)
        elif link.detached:
            self._parting[link] = None  # until the driver has come to its answer

    def _let_go(self, link: Link) -> None:
        self.carrier.account.give(link.kept)
        link.kept = 0

    def forget(self, link: Link) -> None:
        """We detach the link: nothing of it is unsettled any more, nothing waits.

        What the peer has sent in part may still come whole (`transfers.late`).
        """
        self.stop(link)
        if link.machine.state == LinkState.ATTACH_SENT:
            self.handles.abandon(link)
        self.sending.forget(link.handle_out)
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
        self.begin = Begin(
            next_outgoing_id=begin.next_outgoing_id,
            incoming_window=begin.incoming_window,
            outgoing_window=begin.outgoing_window,
            handle_max=begin.handle_max,
        )
        self.next_incoming_id = begin.next_outgoing_id
        if begin.handle_max is not None:
            self.handles.peer_handle_max = begin.handle_max
        self.sending.begin(begin.incoming_window, self.carrier.peer_max_frame_size)

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
        self.channels.give(self)
        self._release_links()

    def _release_links(self) -> None:
        links = self.handles.links
        for link in self._parting:
            self._let_go(link)
        self._parting = {}
        for link in links.values():
            self._let_go(link)
            link.dead = True
            link.incoming.drop_partial()
            link.machine.receive(LinkInput.LOST)
        self.handles.clear()
        self.sending.clear()
        self.unsettled_in = {}
        self._owing = []

    # The end of the turn.

    def _touch(self) -> None:
        if not self._dirty:
            self._dirty = True
            self.channels.touch(self)

    def write_dispositions(self) -> None:
        """Write the dispositions that wait."""
        for disposition in self._dispositions.take():
            if fit(disposition, self.carrier.peer_max_frame_size):
                self.carrier.shortened.append(disposition)
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
        if self.flow_due:
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
        self.flow_due = False
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
            flow.available = link.available_to_tell()
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
