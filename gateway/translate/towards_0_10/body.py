"""A 1.0 body as a 0-10 body with its content type and encoding."""

from __future__ import annotations

from typing import Final, cast, final

from mypy_extensions import mypyc_attr

from gateway.amqp_0_10._spec_constants import BOOLEAN
from gateway.amqp_0_10._spec_structs import MessageProperties
from gateway.amqp_0_10.encoding import write_list, write_map
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0._spec import AMQP_SEQUENCE, AMQP_VALUE, DATA, Properties
from gateway.errors import DecodeError
from gateway.translate import content, typed_bytes
from gateway.translate.crossing import Crossing
from gateway.translate.escrow import digest_text, digest_value
from gateway.translate.names import JMS_MSG_TYPE, JMS_NULL
from gateway.translate.values import Conversion, digest_0_10
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

STR8_MAX: Final = 255


@final
@mypyc_attr(free_list_len=1)
class Body010:
    """A body made for 0-10.

    Attributes:
        octets: the body.
        shape: of the 1.0 body, see `content`.
        recipe: how to make the 1.0 body of it again, where the content type does not say; or empty.
        exact: the recipe, or the content type, makes the same of it again.
        opaque: the 1.0 sections as they were.
        changed: the octets are not the content of data sections, nor the sections as they were.
        empty: there are none, in a segment of their own.
    """

    __slots__ = ("changed", "empty", "exact", "octets", "opaque", "recipe", "shape")

    def __init__(self, octets: bytes, shape: int, recipe: list[Tagged]) -> None:
        self.octets = octets
        self.shape = shape
        self.recipe = recipe
        self.exact = True
        self.opaque = False
        self.changed = True
        self.empty = False


def body_to_0_10(
    crossing: Crossing,
    found: sections.Sections,
    properties: Properties,
    mp: MessageProperties,
    table: FieldTable,
    annotations: dict[str, Tagged],
) -> Body010:
    """The body; sets the content properties of `mp`. `table` has all its headers already."""
    payload = crossing.message.payload
    value: Tagged | None = None
    try:
        if found.body_kind == AMQP_VALUE:
            value = sections.body_values(payload, found, crossing.context.depth_max)[0]
        made = _made(crossing, found, value)
    except DecodeError:
        made = _opaque(payload, found)
    null_text = made.shape == content.NULL_SHAPE and content.is_text_of_jms(annotations)
    if null_text:
        _say_null(crossing, table)
    _content(crossing, properties, made, value, mp, null_text=null_text)
    back = _plain_back(crossing, made, mp, table)
    _keep_recipe(crossing, found, made, back, mp.content_type)
    _keep_jms_type(crossing, made, back, mp.content_type, annotations)
    mp.content_length = len(made.octets)
    if not made.octets:
        made.empty = _has_segment(crossing, made, table)
    return made


def _has_segment(crossing: Crossing, made: Body010, table: FieldTable) -> bool:
    """Whether the body, which is empty, has a segment all the same."""
    if crossing.has_escrow:
        visible = digest_text(str(made.shape))
        entry = crossing.take_typed(content.SEGMENT, visible, content.ROW_EMPTY, types.BOOLEAN)
        if entry is not None and entry.present:
            return bool(entry.value.value)
    return content.has_segment(made.shape, _says_null(table))


def _say_null(crossing: Crossing, table: FieldTable) -> None:
    """Have the body, which is empty, be a text message's without a text, as Java clients say it."""
    if not _says_null(table):
        made = Tagged(BOOLEAN, True)
        table.append((JMS_NULL, made))
        crossing.keep_quietly(f"app.{JMS_NULL}", digest_0_10(made), None, content.ROW_NULL)


def _says_null(table: FieldTable) -> bool:
    return any([name == JMS_NULL for name, _ in table])


def _symbol(text: str) -> Tagged:
    return Tagged(types.SYMBOL, text)


def _made(crossing: Crossing, found: sections.Sections, value: Tagged | None) -> Body010:
    payload = crossing.message.payload
    if found.body_kind == DATA:
        parts = sections.data(payload, found)
        recipe = [_symbol("data")] + [Tagged(types.ULONG, len(part)) for part in parts]
        octets = parts[0] if len(parts) == 1 else b"".join(parts)
        return _unchanged(Body010(octets, DATA << 8, recipe))
    if found.body_kind == AMQP_SEQUENCE:
        return _sequence(crossing, found)
    if value is None:
        return _unchanged(Body010(b"", content.NO_SHAPE, [_symbol("none")]))
    shape = content.shape_of(AMQP_VALUE, value)
    if value.code == types.STRING:
        return Body010(cast(str, value.value).encode("utf-8"), shape, [_symbol("text")])
    if value.code == types.BINARY:
        return Body010(cast(bytes, value.value), shape, [_symbol("binary")])
    if value.code == types.NULL:
        return Body010(b"", shape, [_symbol("null")])
    return _compound(crossing, found, value, shape)


def _unchanged(made: Body010) -> Body010:
    made.changed = False
    return made


def _compound(crossing: Crossing, found: sections.Sections, value: Tagged, shape: int) -> Body010:
    if "mp.body" in crossing.withdrawal.entries:
        row = content.row_of(shape)
        entry = crossing.take_typed("mp.body", digest_value(value), row, types.BINARY)
        if entry is not None and entry.present:
            return Body010(cast(bytes, entry.value.value), shape, [])
    conversion = Conversion(crossing.context.java)
    writer = Writer()
    recipe: list[Tagged] = []
    if value.code == types.MAP:
        table = conversion.map_to_0_10(cast(types.Map, value.value))
        if conversion.possible:
            write_map(writer, cast(FieldTable, table.value))
    else:
        if value.code == types.LIST:
            items = conversion.list_to_0_10(cast("list[Tagged]", value.value))
        else:
            items = conversion.list_to_0_10([value])
            recipe = [_symbol("other")]
        if conversion.possible:
            write_list(writer, cast("list[Tagged]", items.value))
    if not conversion.possible:
        return _opaque(crossing.message.payload, found)
    made = Body010(writer.getvalue(), shape, recipe)
    made.exact = conversion.exact
    return made


def _sequence(crossing: Crossing, found: sections.Sections) -> Body010:
    conversion = Conversion(crossing.context.java)
    recipe = [_symbol("sequence")]
    all_items: list[Tagged] = []
    for section in sections.body_values(
        crossing.message.payload, found, crossing.context.depth_max
    ):
        items = cast("list[Tagged]", section.value)
        recipe.append(Tagged(types.ULONG, len(items)))
        all_items.extend(items)
    converted = conversion.list_to_0_10(all_items)
    if not conversion.possible:
        return _opaque(crossing.message.payload, found)
    writer = Writer()
    write_list(writer, cast("list[Tagged]", converted.value))
    made = Body010(writer.getvalue(), AMQP_SEQUENCE << 8, recipe)
    made.exact = conversion.exact
    return made


def _opaque(payload: bytes, found: sections.Sections) -> Body010:
    octets = payload[found.body_at : found.body_end]
    made = Body010(octets, found.body_kind << 8, [_symbol("opaque")])
    made.opaque = True
    made.changed = found.body_kind == DATA
    return made


def _content(
    crossing: Crossing,
    properties: Properties,
    made: Body010,
    value: Tagged | None,
    mp: MessageProperties,
    *,
    null_text: bool,
) -> None:
    content_type = properties.content_type
    encoding = properties.content_encoding
    if made.opaque:
        mp.content_type = content.OPAQUE
    else:
        mp.content_type, mp.content_encoding = content.content_to_0_10(
            made.shape, content_type, encoding, made.octets, crossing.context.java
        )
        if null_text:
            mp.content_type = content.TEXT_PLAIN
        if crossing.has_escrow:
            _restore_content(crossing, properties, made, value, mp)
    back: tuple[str | None, str | None] = (None, None)
    if made.shape >> 8 == DATA and not made.opaque:
        back = content.content_to_1_0(mp.content_type, mp.content_encoding)
    row = content.ROW_CONTENT_TYPE
    if back[0] != content_type:
        path = "properties.content-type"
        _keep_symbol(crossing, path, digest_text(mp.content_type), content_type, row)
    row = content.ROW_CONTENT_ENCODING
    if back[1] != encoding:
        path = "properties.content-encoding"
        _keep_symbol(crossing, path, digest_text(mp.content_encoding), encoding, row)


def _keep_symbol(
    crossing: Crossing, path: str, visible: int, original: str | None, row: int
) -> None:
    if original is None:
        crossing.keep_quietly(path, visible, None, row)
    else:
        crossing.keep(path, visible, Tagged(types.SYMBOL, original), row)


def _restore_content(
    crossing: Crossing,
    properties: Properties,
    made: Body010,
    value: Tagged | None,
    mp: MessageProperties,
) -> None:
    """Restore what a 0-10 publisher said of this body, where the 1.0 body is still the one made."""
    seen = digest_text(f"{properties.content_type}|{made.shape}")
    row = content.ROW_CONTENT_TYPE
    entry = crossing.take_typed("mp.content-type", seen, row, types.STRING)
    if entry is not None:
        text = cast(str, entry.value.value) if entry.present else None
        if text is None or len(text.encode("utf-8")) <= STR8_MAX:
            _restore_form(made, value, text, mp)
    seen = digest_text(f"{properties.content_encoding}|{made.shape}")
    row = content.ROW_CONTENT_ENCODING
    entry = crossing.take_typed("mp.content-encoding", seen, row, types.STRING)
    if entry is not None:
        text = cast(str, entry.value.value) if entry.present else None
        if text is None or len(text.encode("utf-8")) <= STR8_MAX:
            mp.content_encoding = text


def _restore_form(
    made: Body010, value: Tagged | None, content_type: str | None, mp: MessageProperties
) -> None:
    """Restore the content type, and the Java client's own form of a map or list."""
    octets: bytes | None = made.octets
    if value is not None and content_type == content.JMS_MAP and value.code == types.MAP:
        octets = typed_bytes.encode_map(cast(types.Map, value.value))
    elif value is not None and content_type == content.JMS_STREAM and value.code == types.LIST:
        octets = typed_bytes.encode_stream(cast("list[Tagged]", value.value))
    if octets is not None:
        made.octets = octets
        mp.content_type = content_type


def _plain_back(
    crossing: Crossing, made: Body010, mp: MessageProperties, table: FieldTable
) -> Tagged | None:
    """What the 0-10 body would become in 1.0 without its recipe."""
    null = not made.octets and _says_null(table)
    depth = crossing.context.depth_max + 1
    value = content.value_in(mp.content_type, made.octets, null, Conversion(), depth)
    if value is None and crossing.context.text_body_value:
        return content.text_in(mp.content_type, mp.content_encoding, made.octets)
    return value


def _keep_recipe(
    crossing: Crossing,
    found: sections.Sections,
    made: Body010,
    back: Tagged | None,
    content_type: str | None,
) -> None:
    if made.opaque:
        crossing.lose(content.ROW_OPAQUE)
        visible = content.digest_content(content_type, made.octets)
        crossing.keep_quietly("body", visible, Tagged(types.LIST, made.recipe), content.ROW_OPAQUE)
        return
    row = content.row_of(made.shape)
    if not made.exact:
        visible = content.digest_content(content_type, made.octets)
        octets = Tagged(types.BINARY, crossing.message.payload[found.body_at : found.body_end])
        crossing.keep("body", visible, Tagged(types.LIST, [_symbol("octets"), octets]), row)
        made.recipe = [_symbol("octets")]
        return
    back_shape = content.shape_of(DATA if back is None else AMQP_VALUE, back)
    if back_shape == made.shape and (made.shape >> 8 != DATA or found.body_count == 1):
        made.recipe = []
    else:
        visible = content.digest_content(content_type, made.octets)
        crossing.keep("body", visible, Tagged(types.LIST, made.recipe), row)


def _keep_jms_type(
    crossing: Crossing,
    made: Body010,
    back: Tagged | None,
    content_type: str | None,
    annotations: dict[str, Tagged],
) -> None:
    original = annotations.pop(JMS_MSG_TYPE, None)
    if not made.recipe:
        expected = content.jms_type_of(back, content_type)
    elif made.shape >> 8 == DATA and not made.opaque:
        expected = content.jms_type_of(None, content_type)
    else:
        expected = content.NO_JMS_TYPE
    row = content.ROW_JMS_MSG_TYPE
    if original is None:
        if expected != content.NO_JMS_TYPE:
            visible = content.digest_content(content_type, made.octets)
            crossing.keep_quietly("jms-msg-type", visible, None, row)
    elif original.code != types.BYTE or original.value != expected:
        visible = content.digest_content(content_type, made.octets)
        crossing.keep("jms-msg-type", visible, original, row)
