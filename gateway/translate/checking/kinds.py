"""Of which kind a message is, as one number: its fields, and the types of its values. Compiled.

What a translation does depends on these more than on what the values are.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64 as int64

from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import AMQP_VALUE, Properties
from gateway.amqp_1_0.sections import ABSENT, Sections
from gateway.translate.segment import HeaderSegment
from gateway.wire.tagged import Tagged

_OTHERS: Final = 0x0020  # among the packing flags of delivery-properties, of those that have none
_VALUE_AT: Final = 3  # behind a section's descriptor


def kind_0_10(segment: HeaderSegment, shape: int64) -> int64:
    """Of a 0-10 message whose body becomes one of `shape`."""
    kind: int64 = segment.flags
    if segment.others:
        kind |= _OTHERS
    headers = segment.properties.application_headers
    return kind | shape << 32 | (_types_of(headers) << 47 if headers else 0)


def _types_of(headers: FieldTable) -> int64:
    """A bit for each code, or more than one: there are 15."""
    found: int64 = 0
    for _name, value in headers:
        code: int64 = value.code
        found |= 1 << code % 15
    return found


def kind_1_0(
    payload: bytes, found: Sections, properties: Properties, own: dict[str, Tagged]
) -> int64:
    """Of a 1.0 message, of which that was found and read."""
    kind: int64 = found.body_kind & 0xFF
    if found.body_kind == AMQP_VALUE:
        kind |= payload[found.body_at + _VALUE_AT] << 8
    if found.body_count > 1:
        kind |= 1 << 16
    if found.message_annotations != ABSENT:
        kind |= 1 << 17
    if found.footer != ABSENT:
        kind |= 1 << 18
    if own:
        kind |= _types_in(own) << 19
    return kind | _fields_of(properties) << 34


def _types_in(own: dict[str, Tagged]) -> int64:
    found: int64 = 0
    for value in own.values():
        code: int64 = value.code
        found |= 1 << code % 15
    return found


def _fields_of(properties: Properties) -> int64:
    """A bit for each field that is there; and the types of the ids, of which there are four."""
    found: int64 = 0
    if properties.user_id is not None:
        found |= 1
    if properties.to is not None:
        found |= 2
    if properties.subject is not None:
        found |= 4
    if properties.reply_to is not None:
        found |= 8
    if properties.content_type is not None:
        found |= 0x10
    if properties.content_encoding is not None:
        found |= 0x20
    if properties.absolute_expiry_time is not None:
        found |= 0x40
    if properties.creation_time is not None:
        found |= 0x80
    if properties.group_id is not None:
        found |= 0x100
    if properties.group_sequence is not None:
        found |= 0x200
    if properties.reply_to_group_id is not None:
        found |= 0x400
    return found | _id_type(properties.message_id) << 11 | _id_type(properties.correlation_id) << 14


def _id_type(value: Tagged | None) -> int64:
    if value is None:
        return 0
    if value.code == types.ULONG:
        return 1
    if value.code == types.UUID:
        return 2
    if value.code == types.BINARY:
        return 3
    return 4
