"""Writes well-formed audit logs: a scripted gateway that follows the contract of `audit.records`.

Its queues are what it really holds, and its checkpoints tell that; `lose` and `duplicate` make what
it holds differ from what it recorded, which is what the reconciliation must find.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from gateway.audit.digests import digest, entry_mix
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import NO_LIFE, Flag, Outcome, Reason
from gateway.audit.sealing import Sealer, Sign
from gateway.audit.segment import SegmentWriter

START_MS: Final = 1_790_000_000_000
BODY: Final = digest(b"body")
LINK: Final = 7
PUBLISHER: Final = 1
UNREADABLE: Final = ("directory", "pipe", "sparse", "dangling")  # in the place of a segment


def put_unreadable(segment: Path, kind: str) -> None:
    """Where a segment should be, put one of `UNREADABLE`."""
    if kind == "directory":
        segment.mkdir()
    elif kind == "pipe":
        os.mkfifo(segment)
    elif kind == "sparse":
        segment.touch()
        os.truncate(segment, 1 << 40)
    else:
        segment.symlink_to("nowhere")


class ScriptedGateway:
    """One log, written step by step; message ids and positions are handed out in order."""

    def __init__(
        self,
        directory: Path,
        *,
        segment_octets: int = 1 << 26,
        seals: bool = True,
        sign: Sign | None = None,
    ) -> None:
        self.directory = directory
        self.seals = seals
        self.sign = sign
        self.segment_octets = segment_octets
        self.writer = SegmentWriter(directory)
        self.incarnation = 0
        self.now_ms = START_MS
        self.message = 0
        self.position = 0
        self.held: dict[str, dict[int, int]] = {}  # queue -> position -> message
        self.durable: set[int] = set()  # positions
        self.unsettled = 0
        self.sent = 0
        self.start()

    def start(self) -> None:
        """A new incarnation, which recovers the durable copies that are held."""
        self.incarnation += 1
        self.log = AuditLog(
            self.incarnation, self.writer.last_sequence + 1, segment_octets=self.segment_octets
        )
        self.log.incarnation_started(self.now_ms, "0.1", self.writer.incarnation or NO_LIFE)
        if self.seals:
            self.writer.sealer = Sealer(self.incarnation, lambda: self.now_ms, self.sign)
        self.unsettled = self.sent = 0
        for queue, entries in self.held.items():
            for position in [place for place in entries if place not in self.durable]:
                del entries[position]
            for position, message in entries.items():
                self.log.recovered(
                    self.now_ms,
                    message,
                    position,
                    node=self.log.name(queue),
                    id_digest=digest(b"%d" % message),
                    body_digest=BODY,
                    size=100,
                    delivery_count=0,
                )
        self.checkpoint()

    def turn(self) -> None:
        """The end of a turn: its block goes to the segment."""
        self.now_ms += 1
        self.writer.append(self.log.take_block(self.now_ms))

    def publish(
        self, *queues: str, exchange: str = "amq.direct", durable: bool = True, arriving: int = -1
    ) -> int:
        """One message to these queues; `arriving`: how many of its copies really are recorded."""
        self.message += 1
        self.log.received(
            self.now_ms,
            self.message,
            link=PUBLISHER,
            exchange=self.log.name(exchange),
            copies=len(queues) or 1,
            id_digest=digest(b"%d" % self.message),
            body_digest=BODY,
            size=100,
            flags=Flag.DURABLE if durable else 0,
        )
        if not queues:
            self.log.unroutable(
                self.now_ms,
                self.message,
                exchange=self.log.name(exchange),
                reason=Reason.NO_BINDING,
            )
        for queue in queues[: arriving if arriving >= 0 else len(queues)]:
            self.enter(queue, self.message, exchange, durable)
        return self.message

    def enter(self, queue: str, message: int, exchange: str, durable: bool) -> None:
        self.position += 1
        self.held.setdefault(queue, {})[self.position] = message
        if durable:
            self.durable.add(self.position)
        self.log.entered(
            self.now_ms,
            message,
            self.position,
            node=self.log.name(queue),
            exchange=self.log.name(exchange),
            body_digest=BODY,
            size=100,
            flags=Flag.DURABLE if durable else 0,
        )

    def deliver(self, queue: str, message: int, *, body_digest: int = BODY, flags: int = 0) -> None:
        """The message goes to the outlet."""
        self.sent += 1
        self.unsettled += 1
        self.log.sent(
            self.now_ms,
            message,
            self.position_of(queue, message),
            node=self.log.name(queue),
            link=LINK,
            body_digest=body_digest,
            size=100,
            delivery_count=0,
            flags=flags,
        )

    def accept(self, queue: str, message: int, *, position: int = 0) -> int:
        """The consumer accepts it; the copy's position."""
        position = position or self.position_of(queue, message)
        self.unsettled -= 1
        self.held[queue].pop(position, None)
        self.settle(queue, message, position, Outcome.ACCEPTED, Flag.REMOVED)
        return position

    def settle(self, queue: str, message: int, position: int, outcome: Outcome, flags: int) -> None:
        self.log.settled(
            self.now_ms,
            message,
            position,
            node=self.log.name(queue),
            link=LINK,
            outcome=outcome,
            flags=flags,
        )

    def release(self, queue: str, message: int) -> None:
        """The consumer gives it back."""
        self.unsettled -= 1
        position = self.position_of(queue, message)
        self.settle(queue, message, position, Outcome.RELEASED, 0)

    def consume(self, queue: str, message: int) -> int:
        """Deliver and accept."""
        self.deliver(queue, message)
        return self.accept(queue, message)

    def lose(self, queue: str, message: int) -> None:
        """It is gone from the queue, and nothing is recorded."""
        del self.held[queue][self.position_of(queue, message)]

    def position_of(self, queue: str, message: int) -> int:
        return next(place for place, held in self.held[queue].items() if held == message)

    def checkpoint(self) -> None:
        """What the gateway really holds."""
        for queue, entries in self.held.items():
            checksum = 0
            for position, message in entries.items():
                checksum ^= entry_mix(message, position)
            self.log.queue_checkpoint(
                self.now_ms,
                self.log.name(queue),
                depth=len(entries),
                unsettled=0,
                octets=100 * len(entries),
                entered=0,
                checksum=checksum,
            )
        if self.sent:
            self.log.outlet_checkpoint(
                self.now_ms, LINK, node=0, sent=self.sent, unsettled=self.unsettled
            )
        self.log.clock(self.now_ms, 0)
        self.turn()

    def stop(self) -> None:
        """End in order."""
        self.checkpoint()
        self.log.incarnation_stopped(self.now_ms)
        self.turn()
        self.writer.seal()

    def close(self) -> Path:
        self.writer.close()
        return self.directory


def balanced_log(directory: Path, messages: int = 10, **options: Any) -> Path:
    """Published to two queues each, some consumed, some released, some transient; two runs."""
    gateway = ScriptedGateway(directory, **options)
    for number in range(messages):
        message = gateway.publish("orders", "copies" if number % 2 else "orders.all")
        if number % 3:
            gateway.consume("orders", message)
        elif number % 2:
            gateway.deliver("copies", message)
            gateway.release("copies", message)
        gateway.turn()
    gateway.publish("scratch", durable=False)
    gateway.publish()
    gateway.checkpoint()
    gateway.publish("orders")
    gateway.stop()
    gateway.start()
    gateway.publish("orders", exchange="amq.fanout")
    gateway.stop()
    return gateway.close()


def busy_log(directory: Path, *, lost_in: tuple[int, ...] = ()) -> Path:
    """Thousands of records in several segments and three runs, which end in order.

    Copies are delivered one turn after they entered and accepted one later, or after a restart.
    `lost_in`: in these turns the oldest copy in a queue is gone, and nothing is recorded.
    """
    gateway = ScriptedGateway(directory, segment_octets=60_000)
    waiting: list[tuple[str, int]] = []
    out: list[tuple[str, int]] = []
    for turn in range(150):
        for queue, message in out:
            gateway.accept(queue, message)
        for queue, message in waiting:
            gateway.deliver(queue, message)
        out, waiting = waiting, []
        for number in range(10):
            queue, exchange = f"queue-{(turn + number) % 20}", f"exchange-{number % 3}"
            durable = number % 4 > 0
            waiting.append((queue, gateway.publish(queue, exchange=exchange, durable=durable)))
        gateway.publish("kept", exchange="amq.topic", durable=False)
        if turn in lost_in:
            gateway.lose("kept", next(iter(gateway.held["kept"].values())))
        gateway.turn()
        if turn % 10 == 9:
            gateway.checkpoint()
        if turn in (60, 100):
            gateway.stop()
            gateway.start()
            held = gateway.held.items()
            out = []
            waiting = [(name, each) for name, all_ in held for each in all_.values()]
            waiting = [(name, each) for name, each in waiting if name != "kept"]
    gateway.stop()
    return gateway.close()


def large_log(directory: Path, records: int, turn_messages: int = 50) -> Path:
    """About so many records of messages that are published, delivered and accepted."""
    gateway = ScriptedGateway(directory)
    for number in range(records // 4):
        message = gateway.publish(f"queue-{number % 10}")
        gateway.deliver(f"queue-{number % 10}", message)
        gateway.accept(f"queue-{number % 10}", message)
        if number % turn_messages == 0:
            gateway.turn()
        if number % 20_000 == 0:
            gateway.checkpoint()
    gateway.stop()
    return gateway.close()
