"""What comes for one session, taken apart: attaches, flows, transfers, dispositions, detaches.

Changes the endpoints as the frames say, and tells the driver by events, which name the endpoints.
What is wrong with a link ends that link only; what is wrong with the session is raised.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import (
    Attach,
    Detach,
    Disposition,
    Flow,
    Transfer,
)
from gateway.amqp_1_0.errors import (
    ErrantLinkError,
    FramingError,
    HandleInUseError,
    LinkFieldError,
    LinkLimitError,
    LinkScopeError,
    LinkStateError,
    MessageSizeExceededError,
    SessionFieldError,
    SessionLimitError,
    SessionScopeError,
    StolenError,
    TransferLimitExceededError,
    UnattachedHandleError,
    WindowViolationError,
)
from gateway.amqp_1_0.events import (
    AttachReceived,
    DeliveryAborted,
    DeliveryDropped,
    DeliveryReceived,
    DetachReceived,
    Event,
    FlowReceived,
    LinkViolation,
    SessionViolation,
    WindowOpened,
)
from gateway.amqp_1_0.link import LINK_OCTETS, NO_HANDLE, Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.settling import receive_disposition
from gateway.amqp_1_0.states import LinkInput
from gateway.amqp_1_0.transfers.incoming import Partial
from gateway.amqp_1_0.transfers.late import give_up_all, pass_over, receive_late
from gateway.wire import serial
from gateway.wire.buffers import Reader
from gateway.wire.work import FRAME, STATE, UNSETTLED, WORK

TXN_ID: Final = "txn-id"


def receive_frame(session: Session, code: int, reader: Reader, events: list[Event]) -> None:
    """Take an attach, flow, disposition or detach.

    Raises:
        SessionScopeError: the session has to end.
        ConnectionScopeError: the connection has to end.
    """
    if code == _spec.FLOW:
        _receive_flow(session, Flow.decode(reader), events)
    elif code == _spec.DISPOSITION:
        receive_disposition(session, Disposition.decode(reader), events)
    elif code == _spec.ATTACH:
        octets = reader.remaining()
        _receive_attach(session, Attach.decode(reader), octets, events)
    else:
        _receive_detach(session, Detach.decode(reader), events)


def _receive_attach(session: Session, attach: Attach, octets: int, events: list[Event]) -> None:
    known = attach.unsettled
    session.carrier.take_apart(FRAME if known is None else FRAME + UNSETTLED * len(known))
    handles = session.handles
    if attach.handle > handles.handle_max:
        raise FramingError(f"handle {attach.handle} where {handles.handle_max} is the highest")
    if attach.handle in handles.links:
        raise HandleInUseError(f"handle {attach.handle} is in use")
    role = not attach.role
    link = handles.awaiting(attach.name, role)
    if link is None or link.handle_in != NO_HANDLE:
        if link is not None and link.attached:
            events.append(_fail_link(link, StolenError("attached again")))
        link = session.attach(attach.name, role)
    handles.links[attach.handle] = link
    room = _keep(link, octets)
    link.machine.receive(LinkInput.RECV_ATTACH)
    if link.dead:
        link.handle_in = attach.handle
        return
    events.append(AttachReceived(link, attach, link.handle_out != NO_HANDLE))
    try:
        link.receive_attach(attach)
        if not room:
            raise LinkLimitError("the connection has too much that is kept for it")
    except LinkScopeError as error:
        events.append(_fail_link(link, error))


def _keep(link: Link, octets: int) -> bool:
    """Count what is kept of a link: what it consists of, and of its attach at most all of it."""
    kept = LINK_OCTETS + octets
    if not link.session.carrier.account.take(kept):
        return False
    link.kept = kept
    return True


def _fail_link(link: Link, error: LinkScopeError) -> LinkViolation:
    link.fail(error)
    return LinkViolation(link, error)


def _too_large(
    link: Link, transfer: Transfer, payload: bytes, error: LinkScopeError
) -> LinkViolation:
    """A delivery is given up for its size: the peer is told which, and what has come of it kept."""
    partial = link.incoming.partial
    refused: DeliveryReceived | None = None
    tag = transfer.delivery_tag
    if partial is not None:
        refused = _received(link, partial)
        tag = partial.tag
    elif transfer.delivery_id is not None and tag is not None:
        link.incoming.partial = Partial(transfer, payload, rcv_second=False)
        refused = _received(link, link.incoming.partial)
    if refused is not None:
        pass_over(link.incoming, transfer, refused.delivery_id)
        link.incoming.drop_partial()
    link.fail(error, tag or b"")
    return LinkViolation(link, error, refused)


def _receive_detach(session: Session, detach: Detach, events: list[Event]) -> None:
    session.carrier.take_apart(FRAME)
    link = session.handles.links.pop(detach.handle, None)
    if link is None:
        raise UnattachedHandleError(f"handle {detach.handle} is not attached")
    link.machine.receive(LinkInput.RECV_DETACH)
    session.part(link)
    session.handles.unname(link)
    link.incoming.drop_partial()
    session.stop(link)
    events.append(DetachReceived(link, detach))


def _link(session: Session, handle: int) -> Link | None:
    """The link of an input handle; `None` when what comes for it is to be dropped."""
    link = session.handles.links.get(handle)
    if link is None:
        raise UnattachedHandleError(f"handle {handle} is not attached")
    if link.dead:
        # In flight when we detached: the specification (2.6.5) would have us end the session,
        # which deployed peers do not survive and their brokers do not do.
        if session.carrier.strict and link.failed:
            raise ErrantLinkError(f"handle {handle} was detached with an error")
        return None
    return link


# Flow state.


def _receive_flow(session: Session, flow: Flow, events: list[Event]) -> None:
    WORK.units += STATE
    session.next_incoming_id = flow.next_outgoing_id
    blocked = session.blocked
    session.sending.update(flow)
    session.retry_flows()
    if blocked and not session.blocked:
        events.append(WindowOpened(session))
    if flow.handle is None:
        if flow.echo is True:
            session.owe_flow()
        return
    link = _link(session, flow.handle)
    if link is None:
        return
    try:
        _receive_link_flow(link, flow)
    except LinkScopeError as error:
        events.append(_fail_link(link, error))
        return
    events.append(FlowReceived(link))


def _receive_link_flow(link: Link, flow: Flow) -> None:
    """The peer's flow state of a link (2.6.7)."""
    if link.role:
        _receive_sender_flow(link, flow)
    elif flow.properties is not None and TXN_ID in flow.properties:
        link.asks_to_acquire = True
    elif flow.link_credit is not None:
        count = flow.delivery_count
        if count is None:
            count = link.initial_delivery_count
        credit = flow.link_credit - serial.distance(count, link.delivery_count)
        # A count ahead of ours would make of it more than a flow can tell.
        link.credit = min(max(0, credit), serial.MASK)
        link.drain = flow.drain is True
    if flow.echo is True:
        link.owe_flow()


def _receive_sender_flow(link: Link, flow: Flow) -> None:
    if flow.available is not None:
        link.available = flow.available
    if flow.delivery_count is None:
        return
    used = serial.distance(link.delivery_count, flow.delivery_count)
    if used < 0:
        raise LinkFieldError("a delivery-count that goes back")
    link.delivery_count = flow.delivery_count
    link.credit = max(0, link.credit - used)
    link.incoming.allowed = max(0, link.incoming.allowed - used)


# Deliveries.


def receive_transfer(
    session: Session, transfer: Transfer, reader: Reader, events: list[Event]
) -> None:
    """Take a transfer, its payload still in `reader`; raises as `receive_frame` does."""
    if session.incoming_window <= 0:
        raise WindowViolationError("a transfer beyond the incoming-window")
    session.incoming_window -= 1
    session.next_incoming_id = (session.next_incoming_id + 1) & serial.MASK
    if session.incoming_window * 2 <= session.limits.session_window and not session.flow_due:
        session.owe_flow()
    link = _link(session, transfer.handle)
    if link is None:
        receive_late(session.handles.links[transfer.handle], transfer, reader.rest(), events)
        return
    if not link.role:
        raise SessionFieldError("a transfer to a sender")
    payload = reader.rest()
    try:
        delivery = _take_transfer(link, transfer, payload)
    except (MessageSizeExceededError, LinkLimitError) as limit:  # compiled, a name has one type
        events.append(_too_large(link, transfer, payload, limit))
        return
    except LinkScopeError as error:
        events.append(_fail_link(link, error))
        receive_late(link, transfer, payload, events)
        return
    if delivery is None:
        return
    if isinstance(delivery, DeliveryReceived) and not delivery.settled:
        number = delivery.delivery_id
        if number in session.unsettled_in:
            fail_session(session, SessionFieldError(f"delivery-id {number} is in use"), events)
            events.append(_dropped(delivery))
            return
        if len(session.unsettled_in) >= session.limits.unsettled_max:
            many = f"more than {session.limits.unsettled_max} unsettled"
            fail_session(session, SessionLimitError(many), events)
            events.append(_dropped(delivery))
            return
        session.unsettled_in[number] = link
    events.append(delivery)


def _dropped(delivery: DeliveryReceived) -> DeliveryDropped:
    """It is whole, but is why its session ends."""
    link = delivery.link
    octets = delivery.payload
    return DeliveryDropped(link.session, link, delivery.message_format, octets, delivery.state)


def fail_session(session: Session, error: SessionScopeError, events: list[Event]) -> None:
    """The peer has broken the rules of the session: it ends."""
    unfinished: list[Event] = []
    give_up_all(session, unfinished)
    session.fail(error)
    events.append(SessionViolation(session, error))
    events += unfinished


def _take_transfer(
    link: Link, transfer: Transfer, payload: bytes
) -> DeliveryReceived | DeliveryAborted | None:
    """One transfer of a link; the delivery, once it is whole."""
    incoming = link.incoming
    if incoming.partial is not None:
        return _continued(link, incoming.partial, transfer, payload)
    if incoming.allowed <= 0:
        raise TransferLimitExceededError("a transfer without credit")
    if transfer.delivery_id is None or transfer.delivery_tag is None:
        raise LinkFieldError("a delivery without delivery-id or delivery-tag")
    if link.incomplete and transfer.resume is not True:
        raise LinkStateError("a new delivery while the unsettled map is incomplete")
    if len(payload) > link.max_message_size:
        raise MessageSizeExceededError(f"more than {link.max_message_size} octets")
    if transfer.more is not True or transfer.aborted is True:
        return _whole(link, transfer, payload)
    partial = Partial(transfer, payload, _rcv_second(link, transfer.rcv_settle_mode))
    incoming.partial = partial
    _hold(link, partial, len(partial.tag) + partial.grown(transfer, payload))
    return None


def _continued(
    link: Link, partial: Partial, transfer: Transfer, payload: bytes
) -> DeliveryReceived | DeliveryAborted | None:
    partial.add(transfer, payload)
    _hold(link, partial, partial.grown(transfer, payload))
    if transfer.more is True and transfer.aborted is not True:
        return None
    link.incoming.drop_partial()
    _count(link)
    unknown = partial.resume and not link.incoming.takes_up(partial.tag)
    if unknown or transfer.aborted is True:
        return DeliveryAborted(link, partial.tag)
    return _received(link, partial)


def _received(link: Link, partial: Partial) -> DeliveryReceived:
    return DeliveryReceived(
        link,
        partial.delivery_id,
        partial.tag,
        partial.settled,
        partial.message_format,
        partial.octets.getvalue(),
        partial.state,
        partial.rcv_second,
        partial.resume,
    )


def _hold(link: Link, partial: Partial, octets: int) -> None:
    """Count what an unfinished delivery holds."""
    if partial.size > link.max_message_size:
        raise MessageSizeExceededError(f"more than {link.max_message_size} octets")
    if not link.session.carrier.account.take(octets):
        raise LinkLimitError("too much of unfinished deliveries")
    partial.kept += octets


def _whole(link: Link, transfer: Transfer, payload: bytes) -> DeliveryReceived | DeliveryAborted:
    _count(link)
    delivery_id = transfer.delivery_id
    tag = transfer.delivery_tag
    assert delivery_id is not None
    assert tag is not None
    resume = transfer.resume is True
    unknown = resume and not link.incoming.takes_up(tag)
    if unknown or transfer.aborted is True:
        return DeliveryAborted(link, tag)
    message_format = transfer.message_format
    return DeliveryReceived(
        link,
        delivery_id,
        tag,
        transfer.settled is True,
        0 if message_format is None else message_format,
        payload,
        transfer.state,
        _rcv_second(link, transfer.rcv_settle_mode),
        resume,
    )


def _rcv_second(link: Link, mode: int | None) -> bool:
    if mode is None:
        return link.rcv_settle_mode == _spec.RCV_SECOND
    if mode == _spec.RCV_SECOND and link.rcv_settle_mode == _spec.RCV_FIRST:
        raise LinkFieldError("rcv-settle-mode second on a link of mode first")
    return mode == _spec.RCV_SECOND


def _count(link: Link) -> None:
    """A delivery has come, or was aborted: it has used up its credit."""
    link.delivery_count = (link.delivery_count + 1) & serial.MASK
    link.incoming.allowed -= 1
    if link.credit > 0:
        link.credit -= 1
    if link.available:
        link.available -= 1
