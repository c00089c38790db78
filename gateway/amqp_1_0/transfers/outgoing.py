"""Deliveries that we send: their record while they are unsettled, and their transfer frames.

A delivery is written in one frame where it fits, else in as many as needed and as the session
window lets through (2.6.14) and one flush takes; what is left waits in its session's queue. No
object is made for a frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import mypyc_attr

from gateway.amqp_1_0 import _spec, frames, types
from gateway.amqp_1_0._spec import DeliveryState, TransactionalState, Transfer
from gateway.amqp_1_0.errors import FrameSizeTooSmallError
from gateway.wire.buffers import Writer

if TYPE_CHECKING:
    from gateway.amqp_1_0.link import Link

OVERHEAD: Final = 64
"""More than a transfer frame without state takes beside its payload: 8 octets of frame header, 3 of
descriptor, 3 of list header, and of fields at most 5 + 5 + 34 + 5 + 1 = 50 with a tag of 32
octets, or 5 + 4 + 1 in a continuation: 64 at most."""


@final
@mypyc_attr(free_list_len=1)
class Outgoing:
    """One local delivery, from `Link.send_delivery` until it is settled.

    Attributes:
        context: the driver's own, untouched.
        resume: it takes up a delivery of an earlier attachment of the link (2.6.13).
        aborted: it is only named to be given up.
        sent: octets of the payload (`head`, then `rest`) that have been written.
        started: its first frame has been written.
    """

    __slots__ = (
        "aborted",
        "context",
        "delivery_id",
        "head",
        "link",
        "message_format",
        "rest",
        "resume",
        "sent",
        "settled",
        "started",
        "state",
        "tag",
    )

    def __init__(
        self,
        link: Link,
        delivery_id: int,
        tag: bytes,
        settled: bool,
        message_format: int,
        head: bytes,
        rest: bytes,
        state: DeliveryState | None,
        context: object,
    ) -> None:
        self.link = link
        self.delivery_id = delivery_id
        self.tag = tag
        self.settled = settled
        self.message_format = message_format
        self.head = head
        self.rest = rest
        self.state = state
        self.context = context
        self.sent = 0
        self.started = False
        self.resume = False
        self.aborted = False

    def size(self) -> int:
        """Octets of it that are kept until all of it has been written."""
        return len(self.head) + len(self.rest)


def write_transfer(
    writer: Writer, delivery: Outgoing, channel: int, handle: int, maximum: int
) -> bool:
    """Write the next transfer frame of a delivery; whether that was its last.

    Raises:
        FrameSizeTooSmallError: its state does not fit a frame; nothing was written.
    """
    left = len(delivery.head) + len(delivery.rest) - delivery.sent
    performative = b""
    if (delivery.state is not None or delivery.resume) and _is_told(delivery):
        performative = _with_state(delivery, handle, maximum, left)
        room = maximum - frames.HEADER_SIZE - len(performative)
    else:
        room = maximum - OVERHEAD
    more = left > room
    start = frames.begin_frame(writer, frames.AMQP_FRAME, channel)
    if performative:
        writer.raw(performative)
    elif delivery.started:
        _write_continuation(writer, handle, more)
    else:
        _write_first(writer, delivery, handle, more)
    delivery.started = True
    _write_payload(writer, delivery, room if more else left)
    frames.end_frame(writer, start)
    if more:
        return False
    delivery.head = b""
    delivery.rest = b""
    delivery.sent = 0
    return True


def _begin_list(writer: Writer, count: int) -> int:
    writer.u8(0x00)
    writer.u8(0x53)
    writer.u8(_spec.TRANSFER)
    writer.u8(0xC0)
    writer.u8(0)
    writer.u8(count)
    return int(writer.size())


def _write_uint(writer: Writer, value: int) -> None:
    if 0 < value <= 255:
        writer.u8(0x52)
        writer.u8(value)
    elif value == 0:
        writer.u8(0x43)
    else:
        writer.u8(types.UINT)
        writer.u32(value)


def _write_first(writer: Writer, delivery: Outgoing, handle: int, more: bool) -> None:
    fields_at = _begin_list(writer, 6 if more else 5)
    _write_uint(writer, handle)
    _write_uint(writer, delivery.delivery_id)
    writer.u8(0xA0)
    writer.u8(len(delivery.tag))
    writer.raw(delivery.tag)
    _write_uint(writer, delivery.message_format)
    writer.u8(0x41 if delivery.settled else 0x42)
    if more:
        writer.u8(0x41)
    writer.patch_u8(fields_at - 2, int(writer.size()) - fields_at + 1)


def _write_continuation(writer: Writer, handle: int, more: bool) -> None:
    fields_at = _begin_list(writer, 6 if more else 1)
    _write_uint(writer, handle)
    if more:
        writer.raw(b"\x40\x40\x40\x40\x41")
    writer.patch_u8(fields_at - 2, int(writer.size()) - fields_at + 1)


def _is_told(delivery: Outgoing) -> bool:
    """Whether the next frame has the state: the first, and in a transaction each (4.4.1)."""
    return not delivery.started or isinstance(delivery.state, TransactionalState)


def _with_state(delivery: Outgoing, handle: int, maximum: int, left: int) -> bytes:
    """The performative of a frame that carries a state, or resumes."""
    transfer = Transfer(handle=handle, state=delivery.state, more=True)
    if not delivery.started:
        transfer.delivery_id = delivery.delivery_id
        transfer.delivery_tag = delivery.tag
        transfer.message_format = delivery.message_format
        transfer.settled = delivery.settled
        transfer.resume = True if delivery.resume else None
        transfer.aborted = True if delivery.aborted else None
    longest = _encoded(transfer)
    room = maximum - frames.HEADER_SIZE - len(longest)
    if room <= 0:
        raise FrameSizeTooSmallError(f"a transfer with a state in frames of {maximum}")
    if left > room:
        return longest
    transfer.more = False
    return _encoded(transfer)


def _encoded(transfer: Transfer) -> bytes:
    body = Writer()
    transfer.encode(body)
    return body.getvalue()


def write_abort(writer: Writer, delivery: Outgoing, channel: int, handle: int) -> None:
    """Tell the receiver to forget a delivery that has been sent in part (2.6.14)."""
    start = frames.begin_frame(writer, frames.AMQP_FRAME, channel)
    Transfer(handle=handle, delivery_id=delivery.delivery_id, aborted=True).encode(writer)
    frames.end_frame(writer, start)


def _write_payload(writer: Writer, delivery: Outgoing, count: int) -> None:
    sent = delivery.sent
    head = len(delivery.head)
    delivery.sent = sent + count
    if sent == 0 and count == head + len(delivery.rest):
        writer.raw(delivery.head)
        writer.raw(delivery.rest)
        return
    if sent < head:
        part = delivery.head[sent : sent + count]
        writer.raw(part)
        count -= len(part)
        sent += len(part)
    if count:
        writer.raw(delivery.rest[sent - head : sent - head + count])
