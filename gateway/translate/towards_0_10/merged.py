"""A 0-10 message for a 0-10 peer, with annotations that a 1.0 receiver has added meanwhile.

They ride in the escrow, as the annotations of a message from 1.0 do: a header more than the message
came with, or one entry more in the escrow that it brought, whose other entries stay.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types
from gateway.errors import DecodeError
from gateway.message import Message
from gateway.translate.context import Context, Translated010
from gateway.translate.crossing import Crossing
from gateway.translate.escrow import HEADER, NOTHING, Entry, open_escrow
from gateway.translate.mapping_rows import number
from gateway.translate.segment import open_header
from gateway.translate.towards_0_10.hop import onward_to_0_10
from gateway.translate.towards_1_0.hop import merge_annotations
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

PATH: Final = "annotations"
ROW_ANNOTATIONS: Final = number("annotations.message")


def onward_with_annotations(
    message: Message, context: Context, delivery_count: int, merged: bytes
) -> Translated010:
    """The message as `onward_to_0_10` has it, and `merged` beside it; else they are a loss."""
    made = onward_to_0_10(message, context, delivery_count)
    crossing = Crossing(message, context)
    try:
        header = _with_escrow(crossing, made.header, merged)
    except DecodeError:
        header = b""
    if header:
        made.header = header
    else:
        crossing.lose(ROW_ANNOTATIONS)
    made.losses = crossing.losses
    return made


def _with_escrow(crossing: Crossing, header: bytes, merged: bytes) -> bytes:
    """The header segment with the new escrow; empty if there is no room for it."""
    segment = open_header(header, len(header), crossing.context.depth_max)
    if segment.malformed:
        return b""
    table: FieldTable = []
    entries: dict[str, Entry] = {}
    for name, tagged in segment.properties.application_headers or []:
        if name == HEADER:
            entries = _opened(crossing, tagged)
        else:
            table.append((name, tagged))
    if not _keep_all(crossing, entries, merged):
        return b""
    table.append((HEADER, Tagged(STR16, crossing.deposit.text())))
    segment.properties.application_headers = table
    writer = Writer()
    segment.delivery.encode(writer)
    segment.properties.encode(writer)
    writer.raw(segment.others)
    return writer.getvalue()


def _opened(crossing: Crossing, tagged: Tagged) -> dict[str, Entry]:
    text = tagged.value
    if not isinstance(text, str):
        raise DecodeError("no escrow")
    return open_escrow(text, crossing.text_max, crossing.context.depth_max).entries


def _keep_all(crossing: Crossing, entries: dict[str, Entry], merged: bytes) -> bool:
    own: types.Map = []
    for path, entry in entries.items():
        if path == PATH:
            if entry.value.code == types.MAP:
                own = cast(types.Map, entry.value.value)
        elif not crossing.deposit.keep(path, entry.visible, entry.value if entry.present else None):
            return False
    annotations = Tagged(types.MAP, merge_annotations(own, merged))
    return crossing.keep_quietly(PATH, NOTHING, annotations, ROW_ANNOTATIONS)
