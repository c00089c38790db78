"""The sending half of a session's flow control (2.5.6).

Delivery-ids and transfer-ids, the peer's incoming-window, the deliveries that wait for it, and
those that are unsettled. A large delivery waits for the next flush, too, once `FLUSH_OCTETS` are to
be written: what it takes to write it, in time and memory, is never that of the whole of it. What
waits is on the connection's account.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_1_0._spec import Flow
from gateway.amqp_1_0.carrier import Carrier
from gateway.amqp_1_0.errors import SessionFieldError
from gateway.amqp_1_0.transfers.outgoing import Outgoing, write_abort, write_transfer
from gateway.wire import serial
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.serial import RangeSet

# Of deliveries that ended with their links. Beyond that many ranges the oldest two become one, with
# what is between them; those that are that far behind the next delivery-id are forgotten.
FORGOTTEN_RANGES_MAX: Final = 1_000
FORGOTTEN_FAR: Final = 1 << 30


@final
class SendWindow:
    """What may be sent, and what waits.

    Attributes:
        next_delivery_id: of our next delivery.
        unsettled: deliveries that we sent, by delivery-id.
        forgotten: ids of those that were unsettled when their link was detached.
        next_outgoing_id: transfer-id of our next transfer; the first is 0.
        remote_incoming_window: transfers that the peer still takes.
        channel: our outgoing channel, once we have begun.
        frame_size: of our largest frames: none is larger than a flush, whatever the peer takes.
    """

    __slots__ = (
        "_carrier",
        "_waiting",
        "channel",
        "forgotten",
        "frame_size",
        "next_delivery_id",
        "next_outgoing_id",
        "remote_incoming_window",
        "unsettled",
        "writer",
    )

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self.writer = carrier.writer
        self.channel = -1
        self.frame_size = 0
        self.next_delivery_id = 0
        self.unsettled: dict[int, Outgoing] = {}
        self.forgotten = RangeSet()
        self.next_outgoing_id = 0
        self.remote_incoming_window = 0
        self._waiting: deque[Outgoing] = deque()

    @property
    def blocked(self) -> bool:
        """Deliveries wait for the peer's window or the next flush, or the next one would."""
        return len(self._waiting) > 0 or self.remote_incoming_window <= 0

    def begin(self, incoming_window: int, peer_max_frame_size: int) -> None:
        """The peer's begin: its window counts from our first transfer."""
        self.frame_size = min(peer_max_frame_size, FLUSH_OCTETS)
        self.remote_incoming_window = max(0, incoming_window - self.next_outgoing_id)

    def update(self, flow: Flow) -> None:
        """The peer's flow; what was in flight when it was written is not in its window any more."""
        seen = flow.next_incoming_id
        in_flight = serial.distance(0 if seen is None else seen, self.next_outgoing_id)
        if in_flight < 0:
            raise SessionFieldError("a next-incoming-id that was not sent yet")
        self.remote_incoming_window = max(0, flow.incoming_window - in_flight)
        if self._waiting:
            self.go_on()

    def go_on(self) -> None:
        """Write what waits, as far as the window, the transport and one flush go."""
        waiting = self._waiting
        while waiting and self.remote_incoming_window > 0:
            if self._carrier.full or self.writer.size() >= FLUSH_OCTETS:
                self._carrier.unfinished[self.channel] = None
                return
            octets = waiting[0].size()
            if not self._write(waiting[0]):
                return
            waiting.popleft().link.queued -= 1
            self._carrier.account.give(octets)

    def send(self, delivery: Outgoing) -> None:
        """Write a delivery's transfers as far as the window and one flush go; the rest waits.

        Raises:
            FrameSizeTooSmallError: its state does not fit a frame.
        """
        self.next_delivery_id = (self.next_delivery_id + 1) & serial.MASK
        if not delivery.settled:
            self.unsettled[delivery.delivery_id] = delivery
        if self._waiting or not self._write(delivery):
            self._waiting.append(delivery)
            delivery.link.queued += 1
            self._carrier.account.note(delivery.size())

    def _write(self, delivery: Outgoing) -> bool:
        """Write transfers of one delivery; whether it was its last."""
        handle = delivery.link.handle_out
        while self.remote_incoming_window > 0:
            self._count()
            if write_transfer(self.writer, delivery, self.channel, handle, self.frame_size):
                return True
            if self.writer.size() >= FLUSH_OCTETS:
                self._carrier.unfinished[self.channel] = None
                return False
        return False

    def _count(self) -> None:
        self.remote_incoming_window -= 1
        self.next_outgoing_id = (self.next_outgoing_id + 1) & serial.MASK

    def stop(self, handle: int, *, may_abort: bool) -> None:
        """Nothing more is sent by that handle; a delivery half sent is aborted, if it can be."""
        kept: deque[Outgoing] = deque()
        for delivery in self._waiting:
            if delivery.link.handle_out != handle:
                kept.append(delivery)
                continue
            delivery.link.queued -= 1
            self._carrier.account.give(delivery.size())
            if delivery.started and may_abort and self.remote_incoming_window > 0:
                self._count()
                write_abort(self.writer, delivery, self.channel, handle)
        self._waiting = kept

    def forget(self, handle: int) -> None:
        """The link of that handle is detached, and what is unsettled on it ends with it."""
        sent = self.unsettled
        forgotten = self.forgotten
        for number in [n for n, delivery in sent.items() if delivery.link.handle_out == handle]:
            del sent[number]
            forgotten.add(number)
        ranges = forgotten.ranges
        while ranges and serial.distance(ranges[0][1], self.next_delivery_id) > FORGOTTEN_FAR:
            del ranges[0]
        while len(ranges) > FORGOTTEN_RANGES_MAX:
            forgotten.add_range(ranges[0][0], ranges[1][1])

    def clear(self) -> None:
        """The session has ended."""
        for delivery in self._waiting:
            self._carrier.account.give(delivery.size())
        self._waiting.clear()
        self._carrier.unfinished.pop(self.channel, None)
        self.unsettled = {}
        self.forgotten = RangeSet()
