"""Transfers that nobody takes: behind our detach, end or close, or those that are why we do it.

Each delivery is told of once (`DeliveryDropped`), so that its message is in the books. On a link it
is put together as if that lived, as far as its octets and the account allow. Of a session that is
over the first transfer of a delivery is told, and nothing is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.amqp_1_0._spec import Transfer
from gateway.amqp_1_0.errors import LinkFieldError
from gateway.amqp_1_0.events import DeliveryDropped, Event
from gateway.amqp_1_0.transfers.incoming import (
    NO_DELIVERY,
    UNNUMBERED,
    Incoming,
    Partial,
)
from gateway.wire import serial

if TYPE_CHECKING:
    from gateway.amqp_1_0.link import Link
    from gateway.amqp_1_0.session import Session


def receive_late(link: Link, transfer: Transfer, payload: bytes, events: list[Event]) -> None:
    """A transfer of a link that we have detached, or that is why we do."""
    incoming = link.incoming
    if not link.role or _is_rest(incoming, transfer):
        return
    partial = incoming.partial
    number = transfer.delivery_id
    if partial is not None and number is not None and number != partial.delivery_id:
        give_up(link, partial, events)  # two of them are interleaved
        partial = None
    if partial is None:
        _begin(link, transfer, payload, events)
    else:
        _go_on(link, partial, transfer, payload, events)


def pass_over(incoming: Incoming, transfer: Transfer, number: int | None) -> None:
    """A delivery has been told of: the rest of it is of no account, if there is more."""
    if not _is_last(transfer):
        incoming.passed_over = UNNUMBERED if number is None else number


def give_up(link: Link, partial: Partial, events: list[Event]) -> None:
    """Tell of a delivery of which not all has come, with what has."""
    link.incoming.drop_partial()
    payload = partial.octets.getvalue()
    events.append(
        DeliveryDropped(link.session, link, partial.message_format, payload, partial.state)
    )


def give_up_all(session: Session, events: list[Event] | None) -> None:
    """A session is over: what its links have in part will not be whole.

    `events`: to tell of them; `None`: the peer has given them up itself.
    """
    for link in session.handles.links.values():
        partial = link.incoming.partial
        if partial is None:
            continue
        _pass(session, partial.delivery_id)
        if events is not None:
            give_up(link, partial, events)


def receive_lost(session: Session, transfer: Transfer, payload: bytes, events: list[Event]) -> None:
    """A transfer of a session that is over, or that is why it is."""
    number = transfer.delivery_id
    if number is None or transfer.aborted is True or not _pass(session, number):
        return
    message_format = transfer.message_format or 0
    events.append(DeliveryDropped(session, None, message_format, payload, transfer.state))


def _pass(session: Session, number: int) -> bool:
    """Delivery-ids go up: whether this one is that of a delivery not told of before."""
    latest = session.latest_lost
    if latest != NO_DELIVERY and serial.distance(latest, number) <= 0:
        return False
    session.latest_lost = number
    return True


def _is_last(transfer: Transfer) -> bool:
    return transfer.more is not True or transfer.aborted is True


def _is_rest(incoming: Incoming, transfer: Transfer) -> bool:
    """Whether it is of a delivery that has been told of before it was whole."""
    passed_over = incoming.passed_over
    if passed_over == NO_DELIVERY:
        return False
    number = transfer.delivery_id
    rest = number is None or number == passed_over
    if not rest or _is_last(transfer):
        incoming.passed_over = NO_DELIVERY
    return rest


def _begin(link: Link, transfer: Transfer, payload: bytes, events: list[Event]) -> None:
    if transfer.aborted is True:
        return
    number = transfer.delivery_id
    if not _is_last(transfer) and number is not None and transfer.delivery_tag is not None:
        partial = Partial(transfer, payload, rcv_second=False)
        link.incoming.partial = partial
        octets = len(partial.tag) + partial.grown(transfer, payload)
        _keep(link, partial, transfer, octets, events)
        return
    pass_over(link.incoming, transfer, number)
    message_format = transfer.message_format or 0
    events.append(DeliveryDropped(link.session, link, message_format, payload, transfer.state))


def _go_on(
    link: Link, partial: Partial, transfer: Transfer, payload: bytes, events: list[Event]
) -> None:
    try:
        partial.add(transfer, payload)
    except LinkFieldError:
        pass_over(link.incoming, transfer, partial.delivery_id)
        give_up(link, partial, events)
        return
    if transfer.aborted is True:
        link.incoming.drop_partial()
    elif transfer.more is True:
        _keep(link, partial, transfer, partial.grown(transfer, payload), events)
    else:
        give_up(link, partial, events)


def _keep(
    link: Link, partial: Partial, transfer: Transfer, octets: int, events: list[Event]
) -> None:
    """Count what an unfinished delivery holds; beyond what may be, it is told of now."""
    if partial.size <= link.max_message_size and link.session.carrier.account.take(octets):
        partial.kept += octets
    else:
        pass_over(link.incoming, transfer, partial.delivery_id)
        give_up(link, partial, events)
