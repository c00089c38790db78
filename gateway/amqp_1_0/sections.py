"""A message's sections (part 3.2), found as offsets and decoded only when someone asks.

`scan` walks the descriptors of an encoded message and notes where each section lies; nothing inside
a section is looked at, so that a message that is passed on costs a walk over a handful of octets.
The bare message - properties to body - keeps its octets; what a hop may change (header,
annotations) is written anew around it. Message-format 0 only: other formats are opaque.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64 as size_t
from mypy_extensions import mypyc_attr

from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0._spec import Header, Properties
from gateway.amqp_1_0.primitives import fields
from gateway.errors import DecodeError, LimitError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import ELEMENT, WORK

ABSENT: Final = -1

Annotations = types.Map
"""Annotations of either kind, or a footer: symbol or ulong keys, any values (3.2.10)."""


@final
@mypyc_attr(acyclic=True, free_list_len=1)
@dataclass(init=False, slots=True)
class Sections:
    """Where the sections of one message lie; `ABSENT` for one that is not there.

    Attributes:
        header, delivery_annotations, message_annotations, properties, application_properties,
        footer: offset of the section's value, behind its descriptor.
        bare_at: offset of the first section of the bare message (its descriptor); the end of the
            message when there is none.
        body_kind: `_spec.DATA`, `_spec.AMQP_SEQUENCE`, `_spec.AMQP_VALUE`; `ABSENT`: no body.
        body_at, body_end: all body sections, descriptors included.
        body_count: how many body sections there are.
        values: how many there were in what was read of it by `read_annotations`,
            `read_application_properties` and `body_values`: all of these together may not read more
            than a message may have.
    """

    header: int
    delivery_annotations: int
    message_annotations: int
    properties: int
    application_properties: int
    footer: int
    bare_at: int
    body_kind: int
    body_at: int
    body_end: int
    body_count: int
    values: size_t

    def __init__(self, size: int) -> None:
        self.header = ABSENT
        self.delivery_annotations = ABSENT
        self.message_annotations = ABSENT
        self.properties = ABSENT
        self.application_properties = ABSENT
        self.footer = ABSENT
        self.bare_at = size
        self.body_kind = ABSENT
        self.body_at = size
        self.body_end = size
        self.body_count = 0
        self.values = 0


def scan(payload: bytes) -> Sections:
    """Find the sections of a message.

    Raises:
        DecodeError: not a sequence of sections, or one twice, or out of their order.
        LimitError: more sections than a message may have values.
    """
    reader = Reader(payload)
    size: int = reader.end
    found = Sections(size)
    last = 0
    count: size_t = 0
    while reader.pos < reader.end:
        at: int = reader.pos
        code = fields.read_descriptor(reader, _spec.SYMBOLS)
        body = _spec.DATA <= code <= _spec.AMQP_VALUE
        if code < _spec.HEADER or code > _spec.FOOTER:
            raise DecodeError("a section that there is not")
        if code < last or (code == last and not body) or (body and last > code):
            raise DecodeError("sections out of order")
        if body:
            _note_body(found, code, at)
        else:
            _note(found, code, at, int(reader.pos))
        last = code
        count += 1
        _skip_section(reader, code)
        if body:
            found.body_end = reader.pos
    WORK.units += ELEMENT * count
    return found


def footer_last(payload: bytes) -> bytes:
    """A message's octets with its footer behind the body; b"" if it is there, or not one footer.

    rhea writes it in front of the body (3.2 has it last). Nothing but its place changes.

    Raises:
        DecodeError: not a sequence of sections.
    """
    reader = Reader(payload)
    start = ABSENT
    end = ABSENT
    while reader.pos < reader.end:
        at: int = reader.pos
        code = fields.read_descriptor(reader, _spec.SYMBOLS)
        types.skip(reader)
        if code == _spec.FOOTER:
            if start != ABSENT:
                return b""
            start = at
            end = reader.pos
    if start == ABSENT or end == len(payload):
        return b""
    return payload[:start] + payload[end:] + payload[start:end]


def _skip_section(reader: Reader, code: int) -> None:
    pos = reader.need(1)
    constructor: int = reader.buf[pos]
    reader.pos = pos
    kind: int = types.CANONICAL[constructor]
    if code == _spec.DATA:
        right = kind == types.BINARY
    elif code == _spec.HEADER or code == _spec.PROPERTIES or code == _spec.AMQP_SEQUENCE:
        right = kind == types.LIST
    else:
        right = kind == types.MAP or code == _spec.AMQP_VALUE
    if not right:
        raise DecodeError(f"constructor 0x{constructor:02x} in section 0x{code:02x}")
    types.skip(reader)


def _note(found: Sections, code: int, at: int, value_at: int) -> None:
    if code == _spec.HEADER:
        found.header = value_at
    elif code == _spec.DELIVERY_ANNOTATIONS:
        found.delivery_annotations = value_at
    elif code == _spec.MESSAGE_ANNOTATIONS:
        found.message_annotations = value_at
    else:
        if at < found.bare_at:
            found.bare_at = at
        if code == _spec.PROPERTIES:
            found.properties = value_at
        elif code == _spec.APPLICATION_PROPERTIES:
            found.application_properties = value_at
        else:
            found.footer = value_at
            if found.body_kind == ABSENT:
                found.body_at = at
                found.body_end = at


def _note_body(found: Sections, code: int, at: int) -> None:
    if found.body_kind == ABSENT:
        found.body_kind = code
        found.body_at = at
        if at < found.bare_at:
            found.bare_at = at
    elif found.body_kind != code or code == _spec.AMQP_VALUE:
        raise DecodeError("a body of mixed sections")
    elif found.body_count >= WORK.elements_max:
        raise LimitError("more sections than a message may have values")
    found.body_count += 1


def header(payload: bytes, found: Sections) -> Header | None:
    """The header section."""
    if found.header == ABSENT:
        return None
    return Header.decode(Reader(payload, found.header))


def properties(payload: bytes, found: Sections) -> Properties | None:
    """The properties section."""
    if found.properties == ABSENT:
        return None
    return Properties.decode(Reader(payload, found.properties))


def annotations(payload: bytes, at: int) -> Annotations:
    """Annotations or footer at `at`, an attribute of `Sections`; none when `ABSENT`."""
    return [] if at == ABSENT else _annotations(Reader(payload, at))


def read_annotations(payload: bytes, at: int, found: Sections) -> Annotations:
    """The same; `LimitError` where that is too much of the message."""
    if at == ABSENT:
        return []
    reader = _reader(payload, at, found)
    try:
        return _annotations(reader)
    finally:
        _note_values(found, reader)


def read_application_properties(payload: bytes, found: Sections) -> types.Map:
    """The pairs that are there, whatever they are; `LimitError` as of annotations."""
    if found.application_properties == ABSENT:
        return []
    reader = _reader(payload, found.application_properties, found)
    try:
        return fields.read_map(reader)
    finally:
        _note_values(found, reader)


def _reader(payload: bytes, at: int, found: Sections, end: int = ABSENT) -> Reader:
    reader = Reader(payload, at, end)
    reader.elements = found.values
    return reader


def _note_values(found: Sections, reader: Reader) -> None:
    found.values = reader.elements - reader.keys


def _annotations(reader: Reader) -> Annotations:
    pairs = fields.read_map(reader)
    for key, _ in pairs:
        if key.code != types.SYMBOL and key.code != types.ULONG:
            raise DecodeError("an annotation key that is neither symbol nor ulong")
    return pairs


def application_properties(payload: bytes, found: Sections) -> dict[str, Tagged]:
    """The application-properties; none when absent. Compound values are refused (3.2.5)."""
    values: dict[str, Tagged] = {}
    if found.application_properties == ABSENT:
        return values
    for key, value in fields.read_map(Reader(payload, found.application_properties)):
        if key.code != types.STRING:
            raise DecodeError("an application-property key that is no string")
        if value.code >= types.LIST:
            raise DecodeError("an application-property that is a list, map or array")
        values[str(key.value)] = value
    return values


def data(payload: bytes, found: Sections) -> list[bytes]:
    """The content of each data section."""
    contents: list[bytes] = []
    if found.body_kind != _spec.DATA:
        return contents
    reader = Reader(payload, found.body_at, found.body_end)
    while reader.pos < reader.end:
        fields.read_descriptor(reader, _spec.SYMBOLS)
        contents.append(fields.read_binary(reader))
    WORK.units += ELEMENT * found.body_count
    return contents


def body_values(payload: bytes, found: Sections, depth: int = types.DEPTH_MAX) -> list[Tagged]:
    """The amqp-value, or the list of each amqp-sequence section."""
    values: list[Tagged] = []
    if found.body_kind == ABSENT or found.body_kind == _spec.DATA:
        return values
    reader = _reader(payload, found.body_at, found, found.body_end)
    try:
        while reader.pos < reader.end:
            fields.read_descriptor(reader, _spec.SYMBOLS)
            values.append(types.decode(reader, depth))
    finally:
        _note_values(found, reader)
    return values


def _write_descriptor(writer: Writer, code: int) -> None:
    writer.raw(b"\x00\x53")
    writer.u8(code)


def write_map(writer: Writer, code: int, pairs: types.Map) -> None:
    """A section that is a map: annotations of either kind, or the footer."""
    _write_descriptor(writer, code)
    types.encode_map(writer, pairs)


def write_application_properties(writer: Writer, values: dict[str, Tagged]) -> None:
    """The application-properties section."""
    odd: types.Map = []
    write_properties(writer, values, odd)


def write_properties(writer: Writer, values: dict[str, Tagged], odd: types.Map) -> None:
    """The application-properties section of properties, and of those with keys that are no text."""
    _write_descriptor(writer, _spec.APPLICATION_PROPERTIES)
    start = types.begin_compound(writer, types.MAP)
    for name, value in values.items():
        types.encode_string(writer, name)
        types.encode(writer, value)
    for key, value in odd:
        types.encode(writer, key)
        types.encode(writer, value)
    types.finish_compound(writer, types.MAP, start, 2 * (len(values) + len(odd)))


def write_data(writer: Writer, octets: bytes) -> None:
    """One data section."""
    _write_descriptor(writer, _spec.DATA)
    types.encode_binary(writer, octets)


def data_head(size: int) -> bytes:
    """How a data section of so many octets begins: before the octets, which may be very many."""
    writer = Writer()
    _write_descriptor(writer, _spec.DATA)
    types.binary_head(writer, size)
    return writer.getvalue()


def write_value(writer: Writer, value: Tagged) -> None:
    """The amqp-value section."""
    _write_descriptor(writer, _spec.AMQP_VALUE)
    types.encode(writer, value)


def write_sequence(writer: Writer, items: list[Tagged]) -> None:
    """One amqp-sequence section."""
    _write_descriptor(writer, _spec.AMQP_SEQUENCE)
    types.encode(writer, Tagged(types.LIST, items))
