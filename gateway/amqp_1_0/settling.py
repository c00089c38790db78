"""What a disposition says, of which unsettled deliveries of its session."""

from __future__ import annotations

from gateway.amqp_1_0._spec import Disposition, TransactionalState
from gateway.amqp_1_0.errors import SessionLimitError
from gateway.amqp_1_0.events import DispositionReceived, Event, SenderDispositionReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.dispositions import range_of
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.wire import serial
from gateway.wire.work import LOOK, STATE, WORK


def receive_disposition(session: Session, disposition: Disposition, events: list[Event]) -> None:
    """Raises SessionLimitError when it is too much work for one turn."""
    first = disposition.first
    count = range_of(disposition)
    settled = disposition.settled is True
    known = session.sending.unsettled if disposition.role else session.unsettled_in
    WORK.units += STATE + LOOK * min(count, len(known))
    if WORK.units > session.carrier.end:
        raise SessionLimitError("dispositions of very many deliveries, again and again")
    if disposition.role:
        unsettled = session.sending.unsettled
        deliveries = _sent_in(unsettled, first, count)
        if settled:
            for delivery in deliveries:
                del unsettled[delivery.delivery_id]
        state = disposition.state
        ended = isinstance(state, TransactionalState) and _is_late(session, first, count)
        if deliveries or ended:
            events.append(DispositionReceived(session, deliveries, settled, state, ended))
        return
    numbers = _received_in(session.unsettled_in, first, count)
    links = [session.unsettled_in[number] for number in numbers]
    if settled:
        for number in numbers:
            del session.unsettled_in[number]
    if numbers:
        events.append(
            SenderDispositionReceived(session, numbers, links, settled, disposition.state)
        )


def _is_late(session: Session, first: int, count: int) -> bool:
    """Whether deliveries in a range ended unsettled, with their links."""
    forgotten = session.sending.forgotten
    return bool(forgotten) and bool(forgotten.within(first, serial.add(first, count - 1)))


# A disposition's range may be far larger than what is unsettled: the smaller of the two is walked.


def _sent_in(unsettled: dict[int, Outgoing], first: int, count: int) -> list[Outgoing]:
    """Our unsettled deliveries in a range."""
    if count <= len(unsettled):
        found: list[Outgoing] = []
        for number in range(first, first + count):
            delivery = unsettled.get(number & serial.MASK)
            if delivery is not None:
                found.append(delivery)
        return found
    return [
        delivery
        for number, delivery in unsettled.items()
        if 0 <= serial.distance(first, number) < count
    ]


def _received_in(unsettled: dict[int, Link], first: int, count: int) -> list[int]:
    """The ids of the peer's unsettled deliveries in a range."""
    if count <= len(unsettled):
        numbers = [number & serial.MASK for number in range(first, first + count)]
        return [number for number in numbers if number in unsettled]
    return [number for number in unsettled if 0 <= serial.distance(first, number) < count]
