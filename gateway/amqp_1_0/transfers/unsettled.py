"""Looking up the deliveries that a disposition's range speaks of (2.7.6).

A range may be far larger than what is unsettled, so the smaller of the two is walked.
"""

from __future__ import annotations

from gateway.amqp_1_0._spec import Disposition
from gateway.amqp_1_0.errors import SessionFieldError
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.wire import serial


def range_of(disposition: Disposition) -> int:
    """How many delivery-ids the range has; `SessionFieldError` for an inverted one."""
    first = disposition.first
    last = first if disposition.last is None else disposition.last
    count = serial.distance(first, last) + 1
    if count <= 0:
        raise SessionFieldError(f"a range from {first} to {last}")
    return count


def sent_in(unsettled: dict[int, Outgoing], first: int, count: int) -> list[Outgoing]:
    """The unsettled deliveries of the sender's in a range."""
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


def received_in(unsettled: dict[int, Link], first: int, count: int) -> list[int]:
    """The ids of the peer's unsettled deliveries in a range."""
    if count <= len(unsettled):
        numbers = [number & serial.MASK for number in range(first, first + count)]
        return [number for number in numbers if number in unsettled]
    return [number for number in unsettled if 0 <= serial.distance(first, number) < count]
