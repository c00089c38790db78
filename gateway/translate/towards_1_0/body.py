"""A 0-10 body as 1.0 body sections, with the content properties and annotation that go with it."""

from __future__ import annotations

from typing import cast, final

from mypy_extensions import mypyc_attr

from gateway.amqp_0_10._spec_structs import MessageProperties
from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0._spec import AMQP_SEQUENCE, AMQP_VALUE, DATA, Properties
from gateway.errors import DecodeError, LimitError
from gateway.message import Flag
from gateway.translate import content
from gateway.translate.crossing import ESCROW_STALE, Crossing
from gateway.translate.escrow import Entry, digest_text, digest_value
from gateway.translate.names import JMS_MSG_TYPE, JMS_NULL
from gateway.translate.values import Conversion
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Body10:
    """A body made for 1.0.

    Attributes:
        octets: the encoded sections.
        plain: they are one data section of what came, which is not made yet.
        shape: see `content`.
        jms_type: what `x-opt-jms-msg-type` says of it, or `NO_JMS_TYPE`.
        restored: it is the body of a 1.0 message again, by its escrow.
        changed: its content is not the octets of the 0-10 body.
    """

    __slots__ = ("changed", "jms_type", "octets", "plain", "restored", "shape")

    def __init__(self, octets: bytes, shape: int, jms_type: int = content.NO_JMS_TYPE) -> None:
        self.octets = octets
        self.shape = shape
        self.jms_type = jms_type
        self.restored = False
        self.changed = True
        self.plain = False


def body_to_1_0(
    crossing: Crossing,
    mp: MessageProperties,
    octets: bytes,
    headers: dict[str, Tagged],
    annotations: dict[str, Tagged],
) -> Body10:
    """The body that `octets` become, and the annotation that JMS wants beside some."""
    made = _restored(crossing, mp.content_type, octets) if crossing.has_escrow else None
    if made is None:
        made = _plain(crossing, mp, headers, octets)
    if not octets:
        _keep_segment(crossing, made, headers)
    entry = None
    if crossing.has_escrow:
        visible = content.digest_content(mp.content_type, octets)
        entry = crossing.take("jms-msg-type", visible, content.ROW_JMS_MSG_TYPE)
    if entry is not None:
        if entry.present:
            annotations[JMS_MSG_TYPE] = entry.value
    elif made.jms_type != content.NO_JMS_TYPE:
        annotations[JMS_MSG_TYPE] = Tagged(types.BYTE, made.jms_type)
    return made


def _keep_segment(crossing: Crossing, made: Body10, headers: dict[str, Tagged]) -> None:
    """Whether the body, which is empty, had a segment: kept where it will not be taken for so."""
    had = crossing.message.flags & Flag.EMPTY_BODY != 0
    if had != content.has_segment(made.shape, JMS_NULL in headers):
        visible = digest_text(str(made.shape))
        crossing.keep(content.SEGMENT, visible, Tagged(types.BOOLEAN, had), content.ROW_EMPTY)


def _plain(
    crossing: Crossing, mp: MessageProperties, headers: dict[str, Tagged], octets: bytes
) -> Body10:
    content_type = mp.content_type
    conversion = Conversion()
    depth = crossing.context.depth_max + 1
    value = content.value_in(content_type, octets, JMS_NULL in headers, conversion, depth)
    if conversion.unread:
        crossing.lose(content.ROW_UNREAD)
    if value is not None and value.code == types.LIST and not crossing.context.value_lists:
        value = None
    jms_type = content.jms_type_of(value, content_type)
    if value is None and crossing.context.text_body_value:
        value = content.text_in(content_type, mp.content_encoding, octets)
    if value is None:
        made = Body10(b"", content.shape_of(DATA, None), jms_type)
        made.plain = True
        made.changed = False
        return made
    if not conversion.exact:
        row = content.ROW_MAP if value.code == types.MAP else content.ROW_LIST
        crossing.keep("mp.body", digest_value(value), Tagged(types.BINARY, octets), row)
    writer = Writer()
    sections.write_value(writer, value)
    return Body10(writer.getvalue(), content.shape_of(AMQP_VALUE, value), jms_type)


def content_properties(
    crossing: Crossing, mp: MessageProperties, octets: bytes, made: Body10, properties: Properties
) -> None:
    """Set content-type and content-encoding, which stand beside data sections only (3.2.4)."""
    content_type: str | None = None
    encoding: str | None = None
    if made.shape >> 8 == DATA:
        content_type, encoding = content.content_to_1_0(mp.content_type, mp.content_encoding)
    kept_type = None
    kept_encoding = None
    if crossing.has_escrow:
        kept_type = _kept_symbol(
            crossing, "properties.content-type", mp.content_type, content.ROW_CONTENT_TYPE
        )
        if kept_type is not None:
            content_type = cast(str, kept_type.value.value) if kept_type.present else None
        kept_encoding = _kept_symbol(
            crossing,
            "properties.content-encoding",
            mp.content_encoding,
            content.ROW_CONTENT_ENCODING,
        )
        if kept_encoding is not None:
            encoding = cast(str, kept_encoding.value.value) if kept_encoding.present else None
    properties.content_type = content_type
    properties.content_encoding = encoding
    if made.restored:
        return
    back = content.content_to_0_10(made.shape, content_type, encoding, octets, False)
    back_type = content.TEXT_PLAIN if made.jms_type == content.JMS_TEXT else back[0]
    if kept_type is None and back_type != mp.content_type:
        seen = digest_text(f"{content_type}|{made.shape}")
        _keep_text(crossing, "mp.content-type", seen, mp.content_type, content.ROW_CONTENT_TYPE)
    if kept_encoding is None and back[1] != mp.content_encoding:
        seen = digest_text(f"{encoding}|{made.shape}")
        _keep_text(
            crossing,
            "mp.content-encoding",
            seen,
            mp.content_encoding,
            content.ROW_CONTENT_ENCODING,
        )


def _kept_symbol(crossing: Crossing, path: str, text: str | None, row: int) -> Entry | None:
    return crossing.take_typed(path, digest_text(text), row, types.SYMBOL)


def _keep_text(crossing: Crossing, path: str, visible: int, original: str | None, row: int) -> None:
    if original is None:
        crossing.keep_quietly(path, visible, None, row)
    else:
        crossing.keep(path, visible, Tagged(types.STRING, original), row)


def _restored(crossing: Crossing, content_type: str | None, octets: bytes) -> Body10 | None:
    """The body that a 1.0 message had, if the escrow says what it was and it was not edited."""
    if "body" not in crossing.withdrawal.entries:
        return None
    visible = content.digest_content(content_type, octets)
    entry = crossing.take_typed("body", visible, content.ROW_DATA, types.LIST)
    if entry is None or not entry.present:
        return None
    made = _rebuilt(cast("list[Tagged]", entry.value.value), octets, crossing.context.depth_max + 1)
    if made is None:
        crossing.lose(ESCROW_STALE)
        return None
    made.restored = True
    if made.shape >> 8 == DATA:
        made.jms_type = content.jms_type_of(None, content_type)
    return made


def _rebuilt(recipe: list[Tagged], octets: bytes, depth: int) -> Body10 | None:
    if not recipe or recipe[0].code != types.SYMBOL:
        return None
    kind = cast(str, recipe[0].value)
    arguments = recipe[1:]
    if kind == "data":
        return _data_sections(octets, _lengths(arguments))
    if kind == "text":
        try:
            return _value(Tagged(types.STRING, octets.decode("utf-8")))
        except UnicodeDecodeError:
            return None
    if kind == "binary":
        return _value(Tagged(types.BINARY, octets))
    if kind == "null":
        return _value(Tagged(types.NULL, None))
    if kind == "none":
        none = Body10(b"", content.NO_SHAPE)
        none.changed = len(octets) > 0
        return none
    if kind == "opaque":
        whole = _encoded(octets)
        if whole is not None:
            whole.changed = whole.shape >> 8 == DATA
        return whole
    if kind == "octets":
        original = arguments[0].value if arguments else None
        return _encoded(original) if isinstance(original, bytes) else None
    try:
        items = content.read_body_list(octets, depth)
    except LimitError:
        return None
    return _from_list(kind, items, _lengths(arguments))


def _lengths(arguments: list[Tagged]) -> list[int]:
    return [item.value for item in arguments if isinstance(item.value, int) and item.value >= 0]


def _value(value: Tagged) -> Body10:
    writer = Writer()
    sections.write_value(writer, value)
    return Body10(writer.getvalue(), content.shape_of(AMQP_VALUE, value))


def _data_sections(octets: bytes, lengths: list[int]) -> Body10 | None:
    if sum(lengths) != len(octets):
        return None
    writer = Writer()
    at = 0
    for length in lengths:
        sections.write_data(writer, octets[at : at + length])
        at += length
    made = Body10(writer.getvalue(), content.shape_of(DATA, None))
    made.changed = False
    return made


def _encoded(octets: bytes) -> Body10 | None:
    try:
        found = sections.scan(octets)
    except DecodeError:
        return None
    if found.body_at != 0 or found.body_end != len(octets) or found.body_count == 0:
        return None
    return Body10(octets, found.body_kind << 8)


def _from_list(kind: str, items: list[Tagged] | None, lengths: list[int]) -> Body10 | None:
    if items is None:
        return None
    values = [Conversion().to_1_0(item) for item in items]
    if kind == "other":
        return _value(values[0]) if len(values) == 1 else None
    if kind != "sequence" or sum(lengths) != len(values):
        return None
    writer = Writer()
    at = 0
    for length in lengths:
        sections.write_sequence(writer, values[at : at + length])
        at += length
    return Body10(writer.getvalue(), AMQP_SEQUENCE << 8)
