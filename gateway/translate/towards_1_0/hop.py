"""What each 1.0 hop does to a message, and the 1.0 to 1.0 one whole.

The bare message and the footer keep their octets; delivery-annotations end here, while
message-annotations are carried and merged; the header section is written anew for every delivery
(3.2).
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0._spec import MESSAGE_ANNOTATIONS, Header
from gateway.errors import DecodeError
from gateway.message import NEVER, NO_PRIORITY, NO_TTL, Message
from gateway.translate.context import Translated10
from gateway.translate.mapping_rows import number
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

HEADER_DURABLE: Final = number("header.durable")
HEADER_TTL: Final = number("header.ttl")
HEADER_DELIVERY_COUNT: Final = number("header.delivery-count")
DELIVERY_ANNOTATIONS: Final = number("annotations.delivery")
SHADOW_OF: Final = "x-opt-shadow-of"
TTL_MAX: Final = 0xFFFFFFFF

# The header sections of first deliveries without ttl, by priority, a ubyte or none, and durability.
_FIRST: Final[dict[int, bytes]] = {}


def expired(message: Message, now_ms: int) -> bool:
    """Whether the message's time is over: it is not sent, by either protocol."""
    return message.expires_ms != NEVER and message.expires_ms <= now_ms


def ttl_left(message: Message, now_ms: int) -> int | None:
    """Milliseconds left of a ttl, at least 1; `None` if the publisher gave none."""
    if message.ttl_ms == NO_TTL or message.expires_ms == NEVER:
        return None
    return max(message.expires_ms - now_ms, 1)


def header_section(message: Message, priority: int, delivery_count: int, now_ms: int) -> bytes:
    """The header section of one delivery; nothing where all of it is default."""
    left = ttl_left(message, now_ms)
    if left is not None or delivery_count > 0:
        return _encoded_header(message.durable, priority, delivery_count, left)
    key = priority * 2 + 1 if message.durable else priority * 2
    first = _FIRST.get(key)
    if first is None:
        first = _encoded_header(message.durable, priority, 0, None)
        _FIRST[key] = first
    return first


def _encoded_header(durable: bool, priority: int, delivery_count: int, left: int | None) -> bytes:
    made = Header()
    made.durable = durable  # also when it is not: some containers take absent to mean true
    if priority != NO_PRIORITY:
        made.priority = priority
    if left is not None and left <= TTL_MAX:
        made.ttl = left
    if delivery_count == 0:
        made.first_acquirer = True
    else:
        made.delivery_count = delivery_count
    writer = Writer()
    made.encode(writer)
    return writer.getvalue()


def delivery_payload(
    message: Message, translated: Translated10, delivery_count: int, now_ms: int
) -> bytes:
    """One delivery's octets: header section, annotations and properties, body and footer."""
    if message.message_format != 0:
        return translated.body
    front = header_section(message, translated.priority, delivery_count, now_ms)
    return front + translated.head + translated.data_head + translated.body[translated.body_at :]


def onward_to_1_0(message: Message, merged: bytes = b"") -> Translated10:
    """A 1.0 message for a 1.0 peer, `merged` (an encoded map) added to its message-annotations."""
    octets = message.payload
    if message.message_format != 0:
        return Translated10(
            b"", octets, len(octets), message.priority, [], id_digest=message.id_digest
        )
    found = sections.scan(octets)
    writer = Writer()
    if found.message_annotations != sections.ABSENT:
        if merged:
            own = sections.annotations(octets, found.message_annotations)
            sections.write_map(writer, MESSAGE_ANNOTATIONS, merge_annotations(own, merged))
        else:
            writer.raw(_section(octets, found.message_annotations))
    elif merged:
        sections.write_map(writer, MESSAGE_ANNOTATIONS, merge_annotations([], merged))
    writer.raw(octets[found.bare_at : found.body_at])
    return Translated10(
        writer.getvalue(),
        octets,
        found.body_end,
        message.priority,
        [],
        body_at=found.body_at,
        id_digest=message.id_digest,
    )


def shadow_mark(queue: str) -> bytes:
    """What tells a copy that goes to the shadow of a queue from the message: an encoded map."""
    writer = Writer()
    types.encode_map(writer, [(Tagged(types.SYMBOL, SHADOW_OF), Tagged(types.STRING, queue))])
    return writer.getvalue()


def _section(octets: bytes, value_at: int) -> bytes:
    reader = Reader(octets, value_at)
    types.skip(reader)
    end: int = reader.pos
    return b"\x00\x53\x72" + octets[value_at:end]


def merge_annotations(own: types.Map, merged: bytes) -> types.Map:
    """Annotations with those of an encoded map in place of, or beside, their own."""
    try:
        reader = Reader(merged)
        more = types.decode_map(reader, reader.u8())
    except DecodeError:
        return own
    taken = {key.value for key, _ in more}
    return [pair for pair in own if pair[0].value not in taken] + more
