"""What a message says of itself, read once on arrival: `Arrival`, and the `Message` made of it.

0-10: both property structs are walked, application headers are not opened (they are the reader's
business), and neither is the body. 1.0: the header and properties sections are decoded, the others
only measured. `DecodeError` for octets that are no message; the face makes its protocol's error of
it. Sources: 0-10 message class; 1.0 part 3.2.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64
from mypy_extensions import i64 as size_t
from mypy_extensions import mypyc_attr

from gateway.amqp_0_10.primitives import get_str8, get_str16
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0._spec import DATA, PROPERTIES, SYMBOLS, Header, Properties
from gateway.amqp_1_0.primitives.codes import LIST
from gateway.amqp_1_0.primitives.decoding import decode, skip
from gateway.amqp_1_0.primitives.fields import read_binary, read_descriptor
from gateway.audit.digests import digest, digest_part
from gateway.errors import DecodeError, LimitError
from gateway.message import (
    NEVER,
    NO_PRIORITY,
    NO_TTL,
    Condition,
    Encoding,
    Flag,
    Message,
    MessageReader,
    Refusal,
)
from gateway.translate import segment
from gateway.translate.original_ids import digest_in, digest_of, digest_of_uuid
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

STRUCTS_MAX: Final = 1000  # of one header segment; most have two
AMQP_0_10: Final = int(Encoding.AMQP_0_10)
AMQP_1_0: Final = int(Encoding.AMQP_1_0)
PERSISTENT: Final = 2
# Of a longer ttl so much is counted down in the gateway: with it, times still fit 64 bits with a
# sign. What it has more (`with_excess`) is the receiver's to count.
TTL_MS_MAX: Final = 1 << 62
USER_ID_AT: Final = 1  # the field of the properties list
UINT64_MAX: Final = (1 << 64) - 1


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Arrival:
    """The facts of one message, of either encoding.

    Attributes:
        durable, priority, ttl_ms, delivery_count, flags, id_digest: as in `Message`.
        absolute_expiry_ms: 1.0 absolute-expiry-time that counts, else `NEVER`.
        routing_key: 0-10 dp.routing-key, "" if absent.
        to, subject: 1.0 properties, `None` if absent.
        user_id: as the publisher claims it; `None` if absent.
        more_user_ids: what it claims beside that: a message may have several such structs.
        acquired_before: 1.0 header.first-acquirer says so.
        body_at: where the body begins in the payload; -1 for 0-10, where it follows the header.
        body_end: where it ends; -1 for 0-10.
        in_order: not empty: the octets to go on with, of a message whose footer was not the last.
    """

    __slots__ = (
        "absolute_expiry_ms", "acquired_before", "body_at", "body_end", "delivery_count", "durable",
        "flags", "id_digest", "in_order", "more_user_ids", "priority", "routing_key", "subject",
        "to", "ttl_ms", "user_id",
    )  # fmt: skip

    def __init__(self) -> None:
        self.durable: bool = False
        self.priority: int = NO_PRIORITY
        self.ttl_ms: int = NO_TTL
        self.absolute_expiry_ms: int = NEVER
        self.delivery_count: int = 0
        self.acquired_before: bool = False
        self.flags: int = 0
        self.id_digest: int64 = 0
        self.routing_key: str = ""
        self.to: str | None = None
        self.subject: str | None = None
        self.user_id: bytes | None = None
        self.more_user_ids: list[bytes] | None = None
        self.body_at: int = -1
        self.body_end: int = -1
        self.in_order: bytes = b""

    def expires_ms(self, now_ms: int) -> int:
        """When the message expires if it arrived now; `NEVER` if it does not."""
        by_ttl = now_ms + self.ttl_ms if self.ttl_ms > 0 else NEVER
        absolute = self.absolute_expiry_ms
        if absolute == NEVER or (by_ttl != NEVER and by_ttl < absolute):
            return by_ttl
        return absolute


def undecodable(error: DecodeError) -> Refusal:
    """Why a message is refused whose facts cannot be read."""
    limit = isinstance(error, LimitError)
    condition = Condition.RESOURCE_LIMIT_EXCEEDED if limit else Condition.DECODE_ERROR
    return Refusal(condition, str(error))


def arrival_0_10(payload: bytes, body_at: int) -> Arrival:
    """The facts of a 0-10 header segment's content: what stands before `body_at`, if anything."""
    arrival = Arrival()
    reader = Reader(payload, 0, body_at)
    structs: size_t = 0
    while reader.remaining():
        structs += 1
        if structs > STRUCTS_MAX:
            raise LimitError("a header segment of very many structs")
        struct = reader.sub(reader.u32())
        code = struct.u16()
        if code == segment.DELIVERY_PROPERTIES:
            _read_delivery(arrival, struct)
        elif code == segment.MESSAGE_PROPERTIES:
            _read_message_properties(arrival, struct)
    return arrival


def _read_delivery(arrival: Arrival, struct: Reader) -> None:
    packed = struct.u16()
    if packed & segment.NO_DELIVERY_FLAGS:
        raise DecodeError(f"unknown packing flags 0x{packed:04x}")
    flags = 0
    if packed & segment.REDELIVERED:
        flags |= Flag.REDELIVERED
        arrival.delivery_count = 1
    if packed & segment.DISCARD_UNROUTABLE:
        flags |= Flag.DISCARD_UNROUTABLE
    if packed & segment.IMMEDIATE:
        flags |= Flag.IMMEDIATE
    arrival.flags = flags
    if packed & segment.PRIORITY:
        arrival.priority = struct.u8()
    arrival.durable = packed & segment.DELIVERY_MODE != 0 and struct.u8() == PERSISTENT
    if packed & segment.TTL:
        ttl_ms = struct.u64()
        if ttl_ms > 0:
            arrival.ttl_ms = min(ttl_ms, TTL_MS_MAX)
    if packed & segment.TIMESTAMP:
        struct.skip(8)
    if packed & segment.EXPIRATION:
        struct.skip(8)
    if packed & segment.EXCHANGE:
        get_str8(struct)
    if packed & segment.ROUTING_KEY:
        arrival.routing_key = get_str8(struct)
    if packed & segment.RESUME_ID:
        get_str16(struct)
    if packed & segment.RESUME_TTL:
        struct.skip(8)
    if struct.remaining():
        raise DecodeError("delivery-properties do not end where they should")


def with_excess(left_ms: int, ttl_ms: int) -> int:
    """What is left of a 0-10 ttl, given what is left of the part that the gateway counts down."""
    return min(left_ms + max(ttl_ms - TTL_MS_MAX, 0), UINT64_MAX)


def _read_message_properties(arrival: Arrival, struct: Reader) -> None:
    flags = struct.u16()
    if flags & segment.CONTENT_LENGTH:
        struct.skip(8)
    uuid = struct.take(16) if flags & segment.MESSAGE_ID else None
    if flags & segment.CORRELATION_ID:
        struct.skip(struct.u16())
    if flags & segment.REPLY_TO:
        struct.skip(struct.u16())
    if flags & segment.CONTENT_TYPE:
        struct.skip(struct.u8())
    if flags & segment.CONTENT_ENCODING:
        struct.skip(struct.u8())
    if flags & segment.USER_ID:
        _claim(arrival, struct.take(struct.u16()))
    if flags & segment.APP_ID:
        struct.skip(struct.u16())
    if flags & segment.APPLICATION_HEADERS:
        start: size_t = struct.pos
        struct.skip(struct.u32())
        headers = Reader(struct.buf, start, struct.pos)
        arrival.id_digest = digest_in(headers, uuid)
    else:
        arrival.id_digest = digest_of_uuid(uuid)
    if flags & 0x00FE or struct.remaining():
        raise DecodeError("message-properties do not end where they should")


def _claim(arrival: Arrival, user_id: bytes) -> None:
    """Who reads the message may look at any of the structs: each claim counts."""
    if arrival.user_id is None:
        arrival.user_id = user_id
    elif arrival.more_user_ids is None:
        arrival.more_user_ids = [user_id]
    else:
        arrival.more_user_ids.append(user_id)


def arrival_1_0(payload: bytes) -> Arrival:
    """The facts of a 1.0 message: all its sections, as the transfers carried them."""
    try:
        found = sections.scan(payload)
    except DecodeError:
        in_order = sections.footer_last(payload)
        if not in_order:
            raise
        arrival = arrival_1_0(in_order)
        arrival.in_order = in_order
        return arrival
    arrival = Arrival()
    arrival.body_at = found.body_at
    arrival.body_end = found.body_end
    header = sections.header(payload, found)
    if header is not None:
        _read_header(arrival, header)
    properties = sections.properties(payload, found)
    if properties is not None:
        _read_properties(arrival, properties)
    return arrival


def _read_header(arrival: Arrival, header: Header) -> None:
    arrival.durable = header.durable is True
    if header.priority is not None:
        arrival.priority = header.priority
    if header.ttl is not None and header.ttl > 0:
        arrival.ttl_ms = header.ttl
    arrival.acquired_before = header.first_acquirer is False
    if header.delivery_count is not None and header.delivery_count > 0:
        arrival.delivery_count = header.delivery_count
        arrival.flags |= Flag.REDELIVERED


def _read_properties(arrival: Arrival, properties: Properties) -> None:
    if properties.message_id is not None:
        arrival.id_digest = digest_of(properties.message_id)
    expiry = properties.absolute_expiry_time
    if expiry is not None and expiry > 0:
        arrival.absolute_expiry_ms = expiry
    arrival.to = properties.to
    arrival.subject = properties.subject
    arrival.user_id = properties.user_id


def message_from_0_10(
    arrival: Arrival,
    payload: bytes,
    body_at: int,
    *,
    id: int,
    exchange: str,
    now_ms: int,
    publisher: int,
    times_in_ms: bool,
    reader: MessageReader | None,
) -> Message:
    """The message of a transfer to `exchange`; its key is the one in `arrival`.

    `payload`: header and body segments' content, the latter from `body_at`. `times_in_ms`: the
    sender is the Java client.
    """
    return Message(
        id,
        AMQP_0_10,
        payload,
        body_at,
        0,
        arrival.durable,
        arrival.priority,
        arrival.ttl_ms,
        arrival.expires_ms(now_ms),
        now_ms,
        exchange,
        arrival.routing_key,
        arrival.delivery_count,
        arrival.flags | Flag.TIMES_IN_MS if times_in_ms else arrival.flags,
        publisher,
        arrival.id_digest,
        digest_part(payload, body_at, len(payload)),
        reader,
    )


def message_from_1_0(
    arrival: Arrival,
    payload: bytes,
    message_format: int,
    *,
    id: int,
    exchange: str,
    routing_key: str,
    now_ms: int,
    publisher: int,
    reader: MessageReader | None,
) -> Message:
    """The message of a delivery to the node `exchange`, `routing_key` (the face resolved them)."""
    return Message(
        id,
        AMQP_1_0,
        payload,
        arrival.body_at,
        message_format,
        arrival.durable,
        arrival.priority,
        arrival.ttl_ms,
        arrival.expires_ms(now_ms),
        now_ms,
        exchange,
        routing_key,
        arrival.delivery_count,
        arrival.flags,
        publisher,
        arrival.id_digest,
        body_digest_1_0(payload, arrival.body_at, arrival.body_end),
        reader,
    )


def body_digest_1_0(payload: bytes, body_at: int, body_end: int) -> int64:
    """The digest of a body: of the content of its data sections, else of the encoded sections.

    So it is that of the 0-10 body which data sections become, and the other way round.
    """
    if (
        body_end - body_at > 4
        and payload[body_at] == 0x00
        and payload[body_at + 1] == 0x53
        and payload[body_at + 2] == DATA
    ):
        constructor = payload[body_at + 3]
        if constructor == 0xA0 and body_end == body_at + 5 + payload[body_at + 4]:
            return digest_part(payload, body_at + 5, body_end)
        if constructor == 0xB0 and body_end - body_at > 7:
            size = int.from_bytes(payload[body_at + 4 : body_at + 8], "big")
            if body_end == body_at + 8 + size:
                return digest_part(payload, body_at + 8, body_end)
    return digest(_content(payload, body_at, body_end))


def _content(payload: bytes, body_at: int, body_end: int) -> bytes:
    parts: list[bytes] = []
    reader = Reader(payload, body_at, body_end)
    try:
        while reader.pos < reader.end:
            if read_descriptor(reader, SYMBOLS) != DATA:
                return payload[body_at:body_end]
            parts.append(read_binary(reader))
    except DecodeError:  # of a foreign format
        return payload[body_at:body_end]
    return b"".join(parts)


def from_foreign(payload: bytes) -> Arrival:
    """The facts of a 1.0 delivery of a foreign message-format: its octets are opaque.

    But receivers there are that do not look at the format: what such a one would read as the
    user-id, is claimed.
    """
    arrival = Arrival()
    arrival.body_at = 0
    arrival.body_end = len(payload)
    reader = Reader(payload)
    try:
        while reader.pos < reader.end:
            if read_descriptor(reader, SYMBOLS) == PROPERTIES:
                _claim_in(arrival, decode(reader))
            else:
                skip(reader)
    except DecodeError:
        return arrival  # as far as anybody can read it
    return arrival


def in_part(payload: bytes) -> Arrival:
    """The facts of a 1.0 message that is refused, whole or not: of what is none, its message-id."""
    try:
        return arrival_1_0(payload)
    except DecodeError:
        arrival = from_foreign(payload)
    reader = Reader(payload)
    try:
        while reader.pos < reader.end:
            if read_descriptor(reader, SYMBOLS) == PROPERTIES:
                message_id = Properties.decode(reader).message_id
                if message_id is not None:
                    arrival.id_digest = digest_of(message_id)
                break
            skip(reader)
    except DecodeError:
        return arrival  # as far as anybody can read it
    return arrival


def _claim_in(arrival: Arrival, properties: Tagged) -> None:
    fields = properties.value
    if properties.code == LIST and isinstance(fields, list) and len(fields) > USER_ID_AT:
        user_id = fields[USER_ID_AT].value
        if isinstance(user_id, bytes):
            _claim(arrival, user_id)
        elif isinstance(user_id, str):
            _claim(arrival, user_id.encode("utf-8", "replace"))
