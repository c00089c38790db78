"""Messages of what came with stream.publish, or was staged as a file."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.audit.schema import Reason
from gateway.errors import DecodeError
from gateway.faces import losses
from gateway.faces.client import Client
from gateway.message import Flag, Loss, Message
from gateway.translate.contents.arriving import Content, message_header, read_content
from gateway.translate.facts import Arrival, arrival_0_10, message_from_0_10

NO_PROPERTIES: Final = "content without its properties"


@final
class Incoming:
    """One content that is to be published.

    Attributes:
        exchange, routing_key: where to.
        mandatory, immediate: it comes back where no queue, or no consumer, is there for it.
        body: of it; `empty_body`: it has a segment of no octets.
    """

    __slots__ = (
        *("body", "content", "empty_body", "exchange", "immediate", "mandatory", "routing_key"),
    )

    def __init__(
        self,
        content: Content,
        body: bytes,
        exchange: str,
        routing_key: str,
        *,
        mandatory: bool,
        immediate: bool,
        empty_body: bool,
    ) -> None:
        self.content = content
        self.body = body
        self.exchange = exchange
        self.routing_key = routing_key
        self.mandatory = mandatory
        self.immediate = immediate
        self.empty_body = empty_body

    def message(self, client: Client, link: int) -> Message:
        """The message that it is; what is lost by that is recorded of `link`."""
        made = message_header(
            self.content,
            self.exchange,
            self.routing_key,
            client.context(),
            immediate=self.immediate,
        )
        arrival = arrival_0_10(made.header, len(made.header))
        arrival.flags |= Flag.FILE if self.content.file else Flag.STREAM
        arrival.routing_key = self.routing_key
        if self.mandatory:
            arrival.flags |= Flag.TELL_UNROUTABLE
        if self.empty_body:
            arrival.flags |= Flag.EMPTY_BODY
        message = _message(client, arrival, made.header, self.body, self.exchange)
        _record_losses(client, made.losses, message, link)
        return message


def of_stream(event: CommandReceived, publish: spec.StreamPublish, depth: int) -> Incoming:
    """What came with stream.publish; `DecodeError` where its properties are none of a stream."""
    header = event.payload[: event.body_at]
    if not header:
        raise DecodeError(NO_PROPERTIES)
    return Incoming(
        read_content(header, depth, file=False),
        event.payload[event.body_at :],
        publish.exchange or "",
        publish.routing_key or "",
        mandatory=publish.mandatory,
        immediate=publish.immediate,
        empty_body=event.empty_body,
    )


def record_refused_stream(
    client: Client, event: CommandReceived, publish: spec.StreamPublish, reason: Reason
) -> None:
    """One is not published: it came all the same. It may have come in part only."""
    try:
        incoming = of_stream(event, publish, client.settings.limits.depth_max)
        message = incoming.message(client, 0)
    except DecodeError:
        arrival = Arrival()
        arrival.flags = Flag.STREAM
        body = event.payload[event.body_at :]
        header = event.payload[: event.body_at]
        message = _message(client, arrival, header, body, publish.exchange or "")
    client.host.publishing.refuse(message, reason)
    client.publish_access.record_denied(message.id)


def _message(
    client: Client, arrival: Arrival, header: bytes, body: bytes, exchange: str
) -> Message:
    return message_from_0_10(
        arrival,
        header + body,
        len(header),
        id=client.bridge.numbers.next_message(),
        exchange=exchange,
        now_ms=client.bridge.now_ms,
        publisher=client.peer.connection_id,
        times_in_ms=client.java,
        reader=client.host.reader,
    )


def _record_losses(client: Client, lost: list[Loss], message: Message, link: int) -> None:
    if lost:
        losses.record(client.bridge, lost, message.id, link)
