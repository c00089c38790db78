"""A message for the peer it goes to: passed on where the protocol is the same, else translated.

The two entry points that faces call. The order within a translation matters: what restores or
claims a header or property by name comes before the rest of them.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0._spec import FOOTER, MESSAGE_ANNOTATIONS, Properties
from gateway.audit.digests import COPIED_MAX
from gateway.errors import DecodeError
from gateway.message import Condition, Flag, Loss, Message, Refusal
from gateway.translate.application_headers import (
    MALFORMED,
    headers_to_0_10,
    headers_to_1_0,
    read_properties,
    restore_application_properties,
    restore_headers,
    table_of,
)
from gateway.translate.checking.kinds import kind_0_10, kind_1_0
from gateway.translate.context import Context, Translated010, Translated10
from gateway.translate.crossing import ESCROW_MALFORMED, Crossing
from gateway.translate.escrow import ANNOTATION, HEADER, NOTHING, Entry
from gateway.translate.facts import AMQP_0_10, AMQP_1_0
from gateway.translate.mapping_rows import BY_NUMBER, number
from gateway.translate.segment import HeaderSegment, open_header
from gateway.translate.towards_0_10.body import body_to_0_10
from gateway.translate.towards_0_10.delivery import delivery_to_0_10, other_structs
from gateway.translate.towards_0_10.fields import properties_to_0_10
from gateway.translate.towards_0_10.hop import header_segment, onward_to_0_10
from gateway.translate.towards_0_10.merged import onward_with_annotations
from gateway.translate.towards_1_0.body import body_to_1_0, content_properties
from gateway.translate.towards_1_0.fields import note_app_id, priority_to_1_0, properties_to_1_0
from gateway.translate.towards_1_0.hop import merge_annotations, onward_to_1_0
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import CONVERSION, CROSSING, ELEMENT, WORK

# What is done for each value that was decoded, by the units that decoding it was.
AFTER_DECODING: Final = CONVERSION // ELEMENT - 1

TRACED: Final = int(Flag.TRACED)
ROW_ANNOTATIONS: Final = number("annotations.message")
ROW_FOOTER: Final = number("footer")
ROW_FORMAT: Final = number("message-format")


def to_1_0(message: Message, context: Context, merged: bytes = b"") -> Translated10:
    """The message for a 1.0 peer; `towards_1_0.hop.header_section` makes the section before it.

    `merged` (an encoded map) are message-annotations that an earlier receiver added.
    """
    traces = context.traces
    if traces is None or not message.flags & TRACED:
        return _to_1_0(message, context, merged)
    merged = traces.with_own(message, merged)
    if message.encoding == AMQP_1_0:
        return _to_1_0(message, context, merged)
    began_us = traces.now_us()
    made = _to_1_0(message, context, merged)
    traces.translated(message, began_us)
    return made


def _to_1_0(message: Message, context: Context, merged: bytes) -> Translated10:
    if message.encoding == AMQP_1_0:
        made = onward_to_1_0(message, merged)
        if merged and message.message_format != 0:
            crossing = Crossing(message, context)
            crossing.lose(ROW_ANNOTATIONS)
            made.losses = crossing.losses
        return made
    units = WORK.units
    crossing = Crossing(message, context)
    try:
        segment = open_header(message.payload, message.body_at, context.depth_max)
    except DecodeError:
        crossing.lose(MALFORMED)
        segment = HeaderSegment()
    if segment.malformed:
        crossing.lose(MALFORMED)
    table = table_of(crossing, segment.properties.application_headers)
    if HEADER in table:
        crossing.open(table.pop(HEADER).value)
    out: dict[str, Tagged] = {}
    annotations: dict[str, Tagged] = {}
    octets = message.body()
    body = body_to_1_0(crossing, segment.properties, octets, table, annotations)
    kind: int = kind_0_10(segment, body.shape)
    properties = properties_to_1_0(crossing, segment, table, out, annotations)
    content_properties(crossing, segment.properties, octets, body, properties)
    priority = priority_to_1_0(crossing)
    headers_to_1_0(crossing, table, out)
    note_app_id(crossing, segment.properties, out)
    odd: types.Map = []
    restore_application_properties(crossing, out, odd)
    footer = _footer_to_1_0(crossing) if crossing.has_escrow else b""
    head = _head(crossing, annotations, properties, out, odd, merged)
    WORK.units += CROSSING + (WORK.units - units) * AFTER_DECODING
    if body.plain and not footer:
        large = len(octets) > COPIED_MAX
        return Translated10(
            head,
            message.payload if large else octets,
            len(message.payload) if large else len(octets),
            priority,
            crossing.losses,
            body_at=message.body_at if large else 0,
            data_head=sections.data_head(len(octets)),
            id_digest=crossing.id_digest,
            kind=kind,
        )
    if body.plain:
        body.octets = sections.data_head(len(octets)) + octets
    return Translated10(
        head,
        body.octets + footer,
        len(body.octets),
        priority,
        crossing.losses,
        body_changed=body.changed,
        id_digest=crossing.id_digest,
        kind=kind,
    )


def _footer_to_1_0(crossing: Crossing) -> bytes:
    entry = crossing.take_typed("footer", NOTHING, ROW_FOOTER, types.MAP)
    if entry is None or not entry.present:
        return b""
    writer = Writer()
    sections.write_map(writer, FOOTER, _annotations_kept(crossing, entry))
    return writer.getvalue()


def _annotations_kept(crossing: Crossing, entry: Entry) -> types.Map:
    """Annotations or a footer from the escrow: the keys must be what they may be (3.2.10)."""
    pairs = cast(types.Map, entry.value.value)
    for key, _ in pairs:
        if key.code != types.SYMBOL and key.code != types.ULONG:
            crossing.lose(ESCROW_MALFORMED)
            return []
    return pairs


def _head(
    crossing: Crossing,
    annotations: dict[str, Tagged],
    properties: Properties,
    out: dict[str, Tagged],
    odd: types.Map,
    merged: bytes,
) -> bytes:
    pairs: types.Map = []
    if crossing.has_escrow:
        entry = crossing.take_typed("annotations", NOTHING, ROW_ANNOTATIONS, types.MAP)
        if entry is not None and entry.present:
            for key, value in _annotations_kept(crossing, entry):
                if key.value not in annotations and key.value != ANNOTATION:
                    pairs.append((key, value))
    for name, value in annotations.items():
        pairs.append((Tagged(types.SYMBOL, name), value))
    if merged:
        pairs = [pair for pair in merge_annotations(pairs, merged) if pair[0].value != ANNOTATION]
    escrow = crossing.finish()
    if escrow is not None:
        pairs.append((Tagged(types.SYMBOL, ANNOTATION), Tagged(types.STRING, escrow)))
    writer = Writer()
    if pairs:
        sections.write_map(writer, MESSAGE_ANNOTATIONS, pairs)
    properties.encode(writer)
    if out or odd:
        sections.write_properties(writer, out, odd)
    return writer.getvalue()


def to_0_10(
    message: Message, context: Context, delivery_count: int = 0, merged: bytes = b""
) -> Translated010:
    """The message for a 0-10 peer, as the delivery after `delivery_count` failed ones.

    `merged` is as in `to_1_0`; it goes into escrow like all annotations.
    """
    if message.encoding == AMQP_0_10:
        if merged:
            return onward_with_annotations(message, context, delivery_count, merged)
        return onward_to_0_10(message, context, delivery_count)
    traces = context.traces
    if traces is None or not message.flags & TRACED:
        return _to_0_10(message, context, delivery_count, merged)
    began_us = traces.now_us()
    made = _to_0_10(message, context, delivery_count, traces.with_own(message, merged))
    traces.translated(message, began_us)
    return made


def _to_0_10(
    message: Message, context: Context, delivery_count: int, merged: bytes
) -> Translated010:
    units = WORK.units
    crossing = Crossing(message, context)
    if message.message_format != 0:
        return _refused(crossing)
    try:
        found = sections.scan(message.payload)
        properties = sections.properties(message.payload, found) or Properties()
    except DecodeError:
        return _refused(crossing)
    pairs = _annotations(crossing, found, merged)
    annotations = {key.value: value for key, value in pairs if isinstance(key.value, str)}
    if ANNOTATION in annotations:
        crossing.open(annotations.pop(ANNOTATION).value)
    own = _application_properties(crossing, found)
    kind: int = kind_1_0(message.payload, found, properties, own)
    table: FieldTable = []
    mp = properties_to_0_10(crossing, properties, table, own, annotations)
    delivery = delivery_to_0_10(crossing, properties, table, own, annotations)
    headers_to_0_10(crossing, own, table)
    restore_headers(crossing, table)
    body = body_to_0_10(crossing, found, properties, mp, table, annotations)
    others = other_structs(crossing) if crossing.has_escrow else b""
    _keep_rest(crossing, found, pairs, annotations)
    escrow = crossing.finish()
    if escrow is not None:
        table.append((HEADER, Tagged(STR16, escrow)))
    if table:
        mp.application_headers = table
    header = header_segment(delivery, mp, others, delivery_count)
    WORK.units += CROSSING + (WORK.units - units) * AFTER_DECODING
    return Translated010(
        header,
        body.octets,
        crossing.losses,
        body_changed=body.changed,
        empty_body=body.empty,
        id_digest=crossing.id_digest,
        kind=kind,
        structs=len(others) > 0,
    )


def _refused(crossing: Crossing) -> Translated010:
    row = BY_NUMBER[ROW_FORMAT]
    crossing.context.counts.lost[ROW_FORMAT] += 1
    refusal = Refusal(Condition.NOT_IMPLEMENTED, "a message format that cannot be translated")
    return Translated010(b"", b"", [Loss(row.id, row.policy)], refusal)


def _annotations(crossing: Crossing, found: sections.Sections, merged: bytes) -> types.Map:
    pairs: types.Map = []
    try:
        payload = crossing.message.payload
        pairs = sections.read_annotations(payload, found.message_annotations, found)
    except DecodeError:
        crossing.lose(MALFORMED)
    return merge_annotations(pairs, merged) if merged else pairs


def _application_properties(crossing: Crossing, found: sections.Sections) -> dict[str, Tagged]:
    own: dict[str, Tagged] = {}
    try:
        pairs = sections.read_application_properties(crossing.message.payload, found)
        read_properties(crossing, pairs, own)
    except DecodeError:
        crossing.lose(MALFORMED)
    return own


def _keep_rest(
    crossing: Crossing, found: sections.Sections, pairs: types.Map, left: dict[str, Tagged]
) -> None:
    """Keep the annotations that nothing claimed, and the footer."""
    payload = crossing.message.payload
    rest = [pair for pair in pairs if not isinstance(pair[0].value, str) or pair[0].value in left]
    if rest:
        crossing.keep("annotations", NOTHING, Tagged(types.MAP, rest), ROW_ANNOTATIONS)
    try:
        footer = sections.read_annotations(payload, found.footer, found)
    except DecodeError:
        crossing.lose(MALFORMED)
        return
    if found.footer != sections.ABSENT:
        crossing.keep("footer", NOTHING, Tagged(types.MAP, footer), ROW_FOOTER)
