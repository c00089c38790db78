"""What each 0-10 hop does to a message, and the 0-10 to 0-10 one whole.

Body and header segment keep their octets but for redelivered, ttl, exchange and routing key, which
are those of this delivery, and a timestamp where the configuration asks for one. Exchange and
routing key are always set: clients need them, above all the Java one.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.message import Flag, Message
from gateway.translate.context import Context, Translated010
from gateway.translate.facts import with_excess
from gateway.translate.segment import DELIVERY_PROPERTIES
from gateway.translate.times import from_ms
from gateway.translate.towards_0_10.delivery import cut
from gateway.translate.towards_1_0.hop import ttl_left
from gateway.wire.buffers import Reader, Writer

EMPTY_BODY: Final = int(Flag.EMPTY_BODY)
CONTENT: Final = int(Flag.FILE | Flag.STREAM)


def header_segment(
    delivery: DeliveryProperties,
    properties: MessageProperties,
    others: bytes,
    delivery_count: int,
) -> bytes:
    """The header segment of one delivery of a translated message."""
    delivery.redelivered = delivery_count > 0
    writer = Writer()
    delivery.encode(writer)
    properties.encode(writer)
    writer.raw(others)
    return writer.getvalue()


def onward_to_0_10(message: Message, context: Context, delivery_count: int) -> Translated010:
    """A 0-10 message for a 0-10 peer."""
    payload = message.payload
    at, end, delivery = _delivery_properties(payload, message.body_at)
    redelivered = delivery_count > 0
    left = ttl_left(message, context.now_ms)
    if left is not None and delivery.ttl is not None:
        left = with_excess(left, delivery.ttl)
    stamped = delivery.timestamp is not None or not context.timestamp
    exchange = cut(message.exchange)
    key = cut(message.routing_key)
    same = (
        delivery.redelivered == redelivered
        and stamped
        and (left is None or delivery.ttl == left)
        and delivery.exchange == exchange
        and delivery.routing_key == key
    )
    if same:
        return _onward(message, payload[: message.body_at])
    delivery.redelivered = redelivered
    if not stamped:
        delivery.timestamp = from_ms(message.arrived_ms, context.java)
    if left is not None:
        delivery.ttl = left
    delivery.exchange = exchange
    delivery.routing_key = key
    writer = Writer()
    writer.raw(payload[:at])
    delivery.encode(writer)
    writer.raw(payload[end : message.body_at])
    return _onward(message, writer.getvalue())


def _onward(message: Message, header: bytes) -> Translated010:
    return Translated010(
        header,
        message.body(),
        [],
        empty_body=message.flags & EMPTY_BODY != 0,
        id_digest=message.id_digest,
        structs=message.flags & CONTENT != 0,
    )


def _delivery_properties(payload: bytes, body_at: int) -> tuple[int, int, DeliveryProperties]:
    """Where the delivery-properties lie, and they; at the start where there are none."""
    reader = Reader(payload, 0, body_at)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        if struct.u16() == DELIVERY_PROPERTIES:
            return at, int(reader.pos), DeliveryProperties.decode_fields(struct)
    return 0, 0, DeliveryProperties()
