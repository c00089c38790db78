"""One consumer of class file or stream: where the bridge's deliveries become deliveries of these.

A stream's message is settled as it is sent. A file is staged first (`outbound`), and is the
client's when it has acknowledged it; with no-ack, when it is delivered.
Source: 0-10 XML, classes file and stream.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.digests import digest
from gateway.bridge.exchanges.filters import NoLocal
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.windows import SharedWindows, Windows
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Delivery, Message, Refusal
from gateway.translate.contents.leaving import content_header
from gateway.translate.message import to_0_10

NOTHING_REFUSED: Final = Refusal(Condition.NONE, "")


class Staging(Protocol):
    """Where the files of a session are staged to its client."""

    def has_room(self, size: int) -> bool:
        """Whether a file of that size may be staged now."""

    def release(self, consumer: Consumer | None) -> None:
        """What is not delivered of those of a consumer, or `None` of any, goes back."""

    def stage(self, consumer: Consumer, delivery: Delivery, header: bytes, body: bytes) -> None:
        """Begin to stage it; it is delivered when it is."""


@final
class Consumer:
    """An outlet of the bridge, named by its tag within its session and class.

    Attributes:
        tag: the consumer-tag.
        no_ack: of a file: it is settled when it is delivered.
        bridged: the bridge's side of it; from right after construction until it is over.
        attaching: an upstream has to attach it before it is one.
        kept: octets of it on the connection's account.
        no_local: leaves out what its own connection published.
        paused: its session has no connection.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_gone",
        "_parking",
        "_shared",
        "_staging",
        "_tags",
        "_unsettled",
        "_windows",
        "attaching",
        "blocked",
        "bridged",
        "kept",
        "no_ack",
        "no_local",
        "paused",
        "tag",
    )

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        windows: Windows,
        shared: SharedWindows,
        tags: Tags,
        staging: Staging | None,
        *,
        tag: str,
        no_ack: bool,
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._unsettled = unsettled
        self._parking = parking
        self._windows = windows
        self._shared = shared
        self._tags = tags
        self._staging = staging  # `None`: of class stream
        self.tag = tag
        self.no_ack = no_ack
        self.bridged: Subscription | None = None
        self.attaching = False
        self.kept = 0
        self.no_local: NoLocal | None = None
        self.paused = False
        self.blocked = False
        self._gone: Refusal | None = None

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one delivery, or begin to stage it, if there is room and the windows allow it."""
        client = self._client
        if not self._has_room(delivery.message):
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

    def _has_room(self, message: Message) -> bool:
        client = self._client
        size = len(message.payload)
        session = self._answers.session
        limits = client.settings.limits
        if client.draining or not client.room.has(size):
            return False
        if session.replay is not None and not session.has_room(size):
            return False
        if session.in_doubt() >= limits.commands_in_doubt_max:
            return False
        if len(self._unsettled) >= limits.unsettled_max:
            return False
        octets = size - message.body_at
        if self._staging is not None and not self._staging.has_room(octets):
            return False
        counted = self._staging is None or not self.no_ack
        if counted and not self._windows.covers(octets):
            return False
        next_ms = self._windows.next_ms()
        if next_ms > client.bridge.now_ms:
            self._shared.pace(next_ms)
            client.touch()
            return False
        return True

    def _send(self, delivery: Delivery, header: bytes, body: bytes, *, empty: bool) -> None:
        """A stream's message."""
        bridged = self._bridged()
        command_id = self._answers.session.send_command(
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

    def on_drained(self) -> None:
        """Nothing drains it."""

    def refusal(self) -> Refusal:
        """Nothing: `deliver` never refuses on everybody's behalf."""
        return NOTHING_REFUSED

    def on_attached(self) -> None:
        """The upstream has attached it."""
        if self.attaching:
            self._on_attached(None)

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away under it: the session ends, as for a subscription with credit."""
        refusal = Refusal(condition, description)
        if self.attaching:
            self._on_attached(refusal)
        elif self.paused:
            self._gone = refusal
        else:
            self._answers.fail(refusal)

    def _on_attached(self, refusal: Refusal | None) -> None:
        self.attaching = False
        self._parking.answer_waiting(refusal)
        self._client.touch()

    # What the session calls.

    def begin(self) -> None:
        """It may be sent messages."""
        self._bridged().grant(UNLIMITED)

    def pause(self) -> None:
        """The session has no connection: nothing is sent."""
        self.paused = True
        self._bridged().stop()

    def go_on(self) -> None:
        """It has one again."""
        self.paused = False
        gone = self._gone
        if gone is not None:
            self._answers.fail(gone)
        elif not self._bridged().cancelled:
            self.begin()
            self.resume()

    def move(self, client: Client, shared: SharedWindows) -> None:
        """The session has another connection, or none: what is kept is on its account."""
        self._client.account.give(self.kept)
        client.account.note(self.kept)
        self._client = client
        self._shared = shared
        if self.no_local is not None:
            self.no_local.also(client.peer.connection_id)

    def cancel(self) -> None:
        """cancel, or the session's end: no more deliveries."""
        self._client.account.give(self.kept)
        self.kept = 0
        self._bridged().cancel()

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked:
            self.blocked = False
            self._bridged().resume()

    def number(self) -> int:
        """Its number in the bridge and in the audit log."""
        return self._bridged().number

    def unsettled(self) -> int:
        """How many of its deliveries have not ended."""
        return self._bridged().unsettled

    def queue_name(self) -> str:
        """The queue that it is for."""
        return self._bridged().queue_name

    def _bridged(self) -> Subscription:
        bridged = self.bridged
        assert bridged is not None
        return bridged


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
