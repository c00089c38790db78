"""The routing key of a message on its way through an upstream's exchange, if nothing else says it.

0-10 messages have it as their subject. A 1.0 message may have been published to an address with the
key in it, and its bare message is not to be changed: the key rides as an annotation, which ends
where the message comes back. Row: delivery.routing-key.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_1_0 import sections, types
from gateway.amqp_1_0._spec import MESSAGE_ANNOTATIONS, Properties
from gateway.message import Loss
from gateway.translate import names
from gateway.translate.context import Counts
from gateway.translate.mapping_rows import BY_NUMBER
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

ANNOTATION: Final = "x-opt-amqp-0-10-routing-key"
OCTETS: Final = ANNOTATION.encode()


def subject_of(octets: bytes) -> str:
    """The subject of a message, or of its sections before the body; "" without one."""
    found = sections.scan(octets)
    properties = sections.properties(octets, found) or Properties()
    return properties.subject or ""


def annotated(octets: bytes, key: str) -> bytes:
    """A message, or its sections before the body, with the key among its annotations."""
    found = sections.scan(octets)
    pairs = _others(sections.annotations(octets, found.message_annotations))
    pairs.append((Tagged(types.SYMBOL, ANNOTATION), Tagged(types.STRING, key)))
    return _with_annotations(octets, found, pairs)


def take(payload: bytes) -> tuple[str | None, bytes]:
    """The key that a message was annotated with, and the message without that.

    Raises:
        DecodeError: it is no message.
    """
    if OCTETS not in payload:
        return None, payload
    found = sections.scan(payload)
    pairs = sections.annotations(payload, found.message_annotations)
    others = _others(pairs)
    if len(others) == len(pairs):
        return None, payload
    key: str | None = None
    for name, value in pairs:
        if name.value == ANNOTATION and value.code == types.STRING:
            key = cast(str, value.value)
    return key, _with_annotations(payload, found, others)


def lose(counts: Counts) -> list[Loss]:
    """Count that the key is not told."""
    row = BY_NUMBER[names.ROW_ROUTING_KEY]
    counts.lost[row.number] += 1
    return [Loss(row.id, row.otherwise)]


def _others(pairs: types.Map) -> types.Map:
    return [pair for pair in pairs if pair[0].value != ANNOTATION]


def _with_annotations(octets: bytes, found: sections.Sections, pairs: types.Map) -> bytes:
    """The same sections, but for the message-annotations."""
    writer = Writer()
    writer.raw(octets[: _end_of(octets, max(found.header, found.delivery_annotations))])
    if pairs:
        sections.write_map(writer, MESSAGE_ANNOTATIONS, pairs)
    writer.raw(octets[found.bare_at :])
    return writer.getvalue()


def _end_of(octets: bytes, value_at: int) -> int:
    """Where the section ends whose value is at `value_at`; 0 where it is `ABSENT`."""
    if value_at == sections.ABSENT:
        return 0
    reader = Reader(octets, value_at)
    types.skip(reader)
    end: int = reader.pos
    return end
