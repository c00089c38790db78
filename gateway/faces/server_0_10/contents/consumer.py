"""One consumer of class file or stream: where the bridge's deliveries become deliveries of these.

A stream's message is settled as it is sent. A file is staged first (`outbound`), and is the
client's when it has acknowledged it; with no-ack, when it is delivered.
Source: 0-10 XML, classes file and stream.
"""

from __future__ import annotations

from typing import Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.digests import digest
from gateway.bridge.exchanges.filters import NoLocal
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.windows import Windows
from gateway.faces.server_0_10.outlet import SessionOutlet
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Delivery, Message
from gateway.translate.contents.leaving import content_header
from gateway.translate.message import to_0_10


class Staging(Protocol):
    """Where the files of a session are staged to its client."""

    def has_room(self, size: int) -> bool:
        """Whether a file of that size may be staged now."""

    def release(self, consumer: Consumer | None) -> None:
        """What is not delivered of those of a consumer, or `None` of any, goes back."""

    def stage(self, consumer: Consumer, delivery: Delivery, header: bytes, body: bytes) -> None:
        """Begin to stage it; it is delivered when it is."""


@final
class Consumer(SessionOutlet):
    """A consumer, named by its tag within its session and class.

    Attributes:
        tag: the consumer-tag.
        no_ack: of a file: it is settled when it is delivered.
    """

    __slots__ = ("_staging", "_tags", "_windows", "no_ack", "tag")

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        windows: Windows,
        tags: Tags,
        staging: Staging | None,
        *,
        tag: str,
        no_ack: bool,
        kept: int,
        no_local: NoLocal | None,
    ) -> None:
        super().__init__(answers, unsettled, parking, kept=kept, no_local=no_local)
        self._windows = windows
        self._tags = tags
        self._staging = staging  # `None`: of class stream
        self.tag = tag
        self.no_ack = no_ack

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one delivery, or begin to stage it, if there is room and the windows allow it."""
        client = self._client
        if not self._may_send(delivery.message):
            self.blocked = True
            return DeliverStatus.BLOCKED
        file = self._staging is not None
        context = client.context()
        translated = to_0_10(
            delivery.message, context, delivery.delivery_count, delivery.annotations
        )
        if translated.refusal is not None:
            lost = translated.losses
            losses.record(client.bridge, lost, delivery.message.id, delivery.subscription)
            return DeliverStatus.UNDELIVERABLE
        left = content_header(translated.header, context, file=file)
        lost = translated.losses + left.losses
        if lost:
            losses.record(client.bridge, lost, delivery.message.id, delivery.subscription)
        delivery.body_digest = digest(translated.body)
        delivery.body_changed = translated.body_changed
        delivery.id_digest = translated.id_digest
        if self._staging is not None:
            self._staging.stage(self, delivery, left.header, translated.body)
        else:
            self._send(delivery, left.header, translated.body, empty=translated.empty_body)
        client.room.left -= len(left.header) + len(translated.body)
        client.touch()
        return DeliverStatus.TAKEN

    def _may_send(self, message: Message) -> bool:
        client = self._client
        size = len(message.payload)
        if not self._has_room(size) or len(self._unsettled) >= client.settings.limits.unsettled_max:
            return False
        octets = size - message.body_at
        if self._staging is not None and not self._staging.has_room(octets):
            return False
        counted = self._staging is None or not self.no_ack
        if counted and not self._windows.covers(octets):
            return False
        next_ms = self._windows.next_ms()
        if next_ms > client.bridge.now_ms:
            self._answers.windows().pace(next_ms)
            client.touch()
            return False
        return True

    def _send(self, delivery: Delivery, header: bytes, body: bytes, *, empty: bool) -> None:
        """A stream's message."""
        bridged = self._bridged()
        command_id = self._session.send_command(
            spec.StreamDeliver(
                consumer_tag=self.tag,
                delivery_tag=self._tags.next(),
                exchange=delivery.message.exchange,
                queue=bridged.queue_name,
            ),
            header=header,
            body=body,
            empty_body=empty,
        )
        self._windows.sent(len(body), self._client.bridge.now_ms)
        self._unsettled.ahead(command_id, self._windows, len(body))

    def cancel(self) -> None:
        """See `SessionOutlet`; what is not delivered of its files goes back."""
        super().cancel()
        if self._staging is not None:
            self._staging.release(self)


@final
class Tags:
    """The delivery-tags of one session and class: never zero, which clients say for all."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: int = 0

    def next(self) -> int:
        """The next one."""
        self.last += 1
        return self.last
