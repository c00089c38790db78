"""A message with a number in a header: what queues and exchanges give it that count what comes.

The header takes the place of one of that name. In 0-10 it is an application header, in 1.0 an
application property; all else of the message stays as it came, octet by octet. What does not decode
has no headers, and gets none.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import MessageProperties
from gateway.amqp_0_10.decoding import read_map
from gateway.amqp_0_10.encoding import write_map
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0.primitives import fields
from gateway.errors import DecodeError
from gateway.message import Message
from gateway.translate.facts import AMQP_0_10
from gateway.translate.segment import APPLICATION_HEADERS, MESSAGE_PROPERTIES, skip_to_headers
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import HEADER_SEEN, OCTETS_COPIED, WORK

UINT32_MAX: Final = 0xFFFFFFFF


def numbered(message: Message, name: str, number: int, *, wide: bool) -> Message:
    """`message` with that header, a number of 64 bits (`wide`), or the last 32 bits of one."""
    payload = message.payload
    WORK.units += HEADER_SEEN + len(payload) // OCTETS_COPIED
    try:
        if message.encoding == AMQP_0_10:
            value = Tagged(old.INT64, number) if wide else Tagged(old.UINT32, number & UINT32_MAX)
            header = _header_0_10(payload, message.body_at, name, value)
            return message.with_octets(header + message.body(), len(header))
        if message.message_format != 0:
            return message
        value = Tagged(new.LONG, number) if wide else Tagged(new.UINT, number & UINT32_MAX)
        made = _octets_1_0(payload, name, value)
    except DecodeError:
        return message
    return message.with_octets(made, message.body_at + len(made) - len(payload))


def _header_0_10(payload: bytes, end: int, name: str, value: Tagged) -> bytes:
    """The header segment in the first `end` octets, with the header."""
    reader = Reader(payload, 0, end)
    writer = Writer()
    written = False
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        start: int = struct.pos
        if struct.u16() != MESSAGE_PROPERTIES or written:
            writer.raw(payload[at : reader.pos])
            continue
        written = True
        flags = skip_to_headers(struct)
        size_at: int = writer.size()
        writer.u32(0)
        writer.u16(MESSAGE_PROPERTIES)
        writer.u16(flags | APPLICATION_HEADERS)
        writer.raw(payload[start + 4 : struct.pos])
        table: FieldTable = read_map(struct) if flags & APPLICATION_HEADERS else []
        write_map(writer, [*[pair for pair in table if pair[0] != name], (name, value)])
        writer.patch_u32(size_at, writer.size() - size_at - 4)
    if not written:
        MessageProperties(application_headers=[(name, value)]).encode(writer)
    return writer.getvalue()


def _octets_1_0(payload: bytes, name: str, value: Tagged) -> bytes:
    """The sections of a message, with the application property."""
    found = sections.scan(payload)
    at: int = found.bare_at
    if found.properties != sections.ABSENT:
        at = _behind(payload, found.properties)
    end = at
    pairs: new.Map = []
    if found.application_properties != sections.ABSENT:
        end = _behind(payload, found.application_properties)
        pairs = fields.read_map(Reader(payload, found.application_properties))
    writer = Writer()
    writer.raw(payload[:at])
    kept = [pair for pair in pairs if pair[0].code != new.STRING or pair[0].value != name]
    sections.write_properties(writer, {}, [*kept, (Tagged(new.STRING, name), value)])
    writer.raw(payload[end:])
    return writer.getvalue()


def _behind(payload: bytes, value_at: int) -> int:
    """Where a section ends whose value begins there."""
    reader = Reader(payload, value_at)
    new.skip(reader)
    end: int = reader.pos
    return end
