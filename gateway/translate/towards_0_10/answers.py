"""Where an answer to a 0-10 message is wanted: its reply-to, read and changed.

Row: addresses.reply-to-unreachable, of one that does not find its way.
"""

from __future__ import annotations

from gateway.amqp_0_10._spec_structs import ReplyTo
from gateway.errors import DecodeError
from gateway.message import Loss
from gateway.translate.context import Counts
from gateway.translate.mapping_rows import BY_NUMBER
from gateway.translate.reply_to import ROW_UNREACHABLE
from gateway.translate.segment import (
    CONTENT_LENGTH,
    CORRELATION_ID,
    MESSAGE_ID,
    MESSAGE_PROPERTIES,
    REPLY_TO,
)
from gateway.wire.buffers import Reader, Writer


def reply_to_of(payload: bytes, end: int) -> ReplyTo | None:
    """Where an answer is wanted, if anywhere, and as far as that can be read."""
    try:
        reader = Reader(payload, 0, end)
        while reader.remaining():
            struct = reader.sub(reader.u32())
            if struct.u16() == MESSAGE_PROPERTIES:
                flags = struct.u16()
                if not flags & REPLY_TO:
                    return None
                skip_to_reply_to(struct, flags)
                return ReplyTo.decode_fields(struct.sub(struct.u16()))
    except DecodeError:
        return None  # nobody has looked into it before
    return None


def with_reply_to(payload: bytes, end: int, pair: ReplyTo) -> bytes:
    """The header segment in the first `end` octets, which has a reply-to, with another."""
    reader = Reader(payload, 0, end)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        if struct.u16() != MESSAGE_PROPERTIES:
            continue
        start: int = struct.pos
        skip_to_reply_to(struct, struct.u16())
        before: int = struct.pos
        struct.skip(struct.u16())
        kept = Writer()
        kept.u16(MESSAGE_PROPERTIES)
        kept.raw(payload[start:before])
        pair.encode(kept)
        kept.raw(payload[struct.pos : reader.pos])
        octets = kept.getvalue()
        writer = Writer()
        writer.raw(payload[:at])
        writer.u32(len(octets))
        writer.raw(octets)
        writer.raw(payload[reader.pos : end])
        return writer.getvalue()
    return payload[:end]


def skip_to_reply_to(struct: Reader, flags: int) -> None:
    """Over what stands before it in message-properties."""
    if flags & CONTENT_LENGTH:
        struct.skip(8)
    if flags & MESSAGE_ID:
        struct.skip(16)
    if flags & CORRELATION_ID:
        struct.skip(struct.u16())


def lose_reply_to(counts: Counts) -> Loss:
    """Count that an answer does not find its way."""
    row = BY_NUMBER[ROW_UNREACHABLE]
    counts.lost[row.number] += 1
    return Loss(row.id, row.policy)
