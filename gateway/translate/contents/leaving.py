"""The header segment of a message as file- or stream-properties, or as that of a plain message.

What came as the same class leaves as it came: of each field that still says what its message was
made to say, the original is sent.
"""

from __future__ import annotations

from typing import Final, cast, final

from gateway.amqp_0_10._spec_structs import (
    DeliveryProperties,
    FileProperties,
    MessageProperties,
    StreamProperties,
)
from gateway.amqp_1_0 import types
from gateway.errors import DecodeError
from gateway.message import Loss
from gateway.translate.addresses import reply_to_address, reply_to_node
from gateway.translate.application_headers import MALFORMED
from gateway.translate.contents.arriving import Content, common, message_header
from gateway.translate.contents.escrow import (
    FILE,
    FILENAME,
    REPLY_TO,
    ROW_CLASS,
    ROW_FIELDS,
    ROW_USER_ID,
    STREAM,
    STRUCTS,
    Keeping,
    struct_of,
    structs_kept,
    without_classes,
)
from gateway.translate.context import Context
from gateway.translate.escrow import NOTHING, digest_node, digest_octets, digest_text
from gateway.translate.facts import PERSISTENT
from gateway.translate.ids import text_of_uuid
from gateway.translate.names import text_0_10
from gateway.translate.original_ids import PATH
from gateway.translate.segment import HeaderSegment, open_header
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

STR8_MAX: Final = 255


@final
class Left:
    """The header segment to send, and every value that did not cross."""

    __slots__ = ("header", "losses")

    def __init__(self, header: bytes, losses: list[Loss]) -> None:
        self.header = header
        self.losses = losses


def content_header(header: bytes, context: Context, *, file: bool) -> Left:
    """The header segment of a message, as a 0-10 peer would get it, as that of a content class."""
    segment = _opened(header, context)
    keeping = Keeping(segment.properties.application_headers, context)
    if segment.malformed:
        keeping.lose(MALFORMED)
    kept = structs_kept(keeping)
    made = _properties(keeping, segment, file=file)
    structs = segment.others + kept
    own = _own(structs, context, file=file)
    if own is None and structs:
        keeping.keep(STRUCTS, NOTHING, Tagged(types.BINARY, structs), ROW_CLASS)
    made.headers = keeping.headers() or None
    if own is not None:
        _as_it_came(made, own, context)
    keeping.count()
    writer = Writer()
    if file:
        made.encode(writer)
    else:
        _stream(made).encode(writer)
    return Left(writer.getvalue(), keeping.losses)


def transfer_header(header: bytes, context: Context) -> Left:
    """The header segment of content for who gets it by message.transfer: that has no such structs.

    Clients that know neither class cannot read them, and end their connections.
    """
    segment = _opened(header, context)
    structs, others = without_classes(segment.others)
    if not structs:
        return Left(header, [])
    properties = segment.properties
    keeping = Keeping(properties.application_headers, context)
    keeping.keep(STRUCTS, NOTHING, Tagged(types.BINARY, structs), ROW_CLASS)
    properties.application_headers = keeping.headers()
    keeping.count()
    writer = Writer()
    segment.delivery.encode(writer)
    properties.encode(writer)
    writer.raw(others)
    return Left(writer.getvalue(), keeping.losses)


def _opened(header: bytes, context: Context) -> HeaderSegment:
    try:
        return open_header(header, len(header), context.depth_max)
    except DecodeError:
        segment = HeaderSegment()
        segment.malformed = True
        return segment


def _own(structs: bytes, context: Context, *, file: bool) -> FileProperties | None:
    """What it came with, if it came as that class."""
    try:
        fields = struct_of(structs, FILE if file else STREAM)
        if not fields:
            return None
        reader = Reader(fields)
        if file:
            return FileProperties.decode_fields(reader, context.depth_max)
        return common(StreamProperties.decode_fields(reader, context.depth_max))
    except DecodeError:
        return None


def _properties(keeping: Keeping, segment: HeaderSegment, *, file: bool) -> FileProperties:
    delivery, message = segment.delivery, segment.properties
    made = FileProperties(
        content_type=message.content_type,
        content_encoding=message.content_encoding,
        priority=delivery.priority,
        timestamp=delivery.timestamp,
    )
    if file:
        _message_id(keeping, message, made)
        _reply_to(keeping, message, made)
        _filename(keeping, made)
    else:
        _keep_ids(keeping, message)
    _keep_fields(keeping, delivery, message, file=file)
    return made


def _message_id(keeping: Keeping, message: MessageProperties, made: FileProperties) -> None:
    uuid = message.message_id
    if uuid is None:
        return
    made.message_id = text_of_uuid(uuid)
    entry = keeping.foreign.entries.get(PATH)
    if entry is None or entry.visible != digest_octets(uuid) or entry.value.code != types.STRING:
        return
    text = cast(str, entry.value.value)
    if _fits(text):
        made.message_id = text
        del keeping.foreign.entries[PATH]


def _reply_to(keeping: Keeping, message: MessageProperties, made: FileProperties) -> None:
    pair = message.reply_to
    if pair is None:
        return
    exchange, key = pair.exchange or "", pair.routing_key or ""
    entry = keeping.foreign.entries.get(REPLY_TO)
    if (
        entry is not None
        and entry.visible == digest_node(exchange, key)
        and entry.value.code == types.STRING
        and _fits(cast(str, entry.value.value))
    ):
        made.reply_to = cast(str, entry.value.value)
        del keeping.foreign.entries[REPLY_TO]
        return
    address = reply_to_address(exchange, key)
    made.reply_to = address if address is not None and _fits(address) else None
    back = reply_to_node(address or "", keeping.context.nodes)
    if made.reply_to is None or back[0] != exchange or back[1] != key:
        _keep_pair(keeping, digest_text(made.reply_to), exchange, key)


def _keep_pair(keeping: Keeping, visible: int, exchange: str, key: str) -> None:
    pair = [Tagged(types.STRING, exchange), Tagged(types.STRING, key)]
    keeping.keep("mp.reply-to", visible, Tagged(types.LIST, pair), ROW_FIELDS)


def _filename(keeping: Keeping, made: FileProperties) -> None:
    rest = []
    for name, value in keeping.table:
        text = text_0_10(value) if name == FILENAME else None
        if text is not None and made.filename is None and _fits(text):
            made.filename = text
        else:
            rest.append((name, value))
    keeping.table = rest


def _keep_ids(keeping: Keeping, message: MessageProperties) -> None:
    """What only file-properties have of ids and addresses."""
    if message.message_id is not None:
        original = Tagged(types.UUID, message.message_id)
        keeping.keep("mp.message-id", NOTHING, original, ROW_FIELDS)
    pair = message.reply_to
    if pair is not None:
        _keep_pair(keeping, NOTHING, pair.exchange or "", pair.routing_key or "")


def _keep_fields(
    keeping: Keeping, delivery: DeliveryProperties, message: MessageProperties, *, file: bool
) -> None:
    """What neither class has a field for."""
    octets = (("mp.correlation-id", message.correlation_id), ("mp.app-id", message.app_id))
    for path, value in octets:
        if value is not None:
            keeping.keep(path, NOTHING, Tagged(types.BINARY, value), ROW_FIELDS)
    if message.user_id is not None:
        keeping.lose(ROW_USER_ID)
    if delivery.ttl is not None:
        keeping.keep("dp.ttl", NOTHING, Tagged(types.ULONG, delivery.ttl), ROW_FIELDS)
    if delivery.expiration is not None:
        expiration = Tagged(types.LONG, delivery.expiration)
        keeping.keep("dp.expiration", NOTHING, expiration, ROW_FIELDS)
    if delivery.delivery_mode == PERSISTENT and not file:  # which is so by itself
        mode = Tagged(types.UBYTE, PERSISTENT)
        keeping.keep("dp.delivery-mode", NOTHING, mode, ROW_FIELDS)


def _as_it_came(made: FileProperties, own: FileProperties, context: Context) -> None:
    """Each field as it came, where it still says what its message was made to say."""
    struct = Writer()
    own.encode(struct)
    content = Content(own, struct.getvalue(), file=True)
    header = message_header(content, "", "", context, counted=False).header
    again = _opened(header, context)
    keeping = Keeping(again.properties.application_headers, context)
    first = _properties(keeping, again, file=True)
    first.headers = keeping.headers() or None
    made.content_type = _either(made.content_type, first.content_type, own.content_type)
    made.content_encoding = _either(
        made.content_encoding, first.content_encoding, own.content_encoding
    )
    made.reply_to = _either(made.reply_to, first.reply_to, own.reply_to)
    made.message_id = _either(made.message_id, first.message_id, own.message_id)
    made.filename = _either(made.filename, first.filename, own.filename)
    made.cluster_id = own.cluster_id
    if made.headers == first.headers:
        made.headers = own.headers


def _either(now: str | None, first: str | None, own: str | None) -> str | None:
    return own if now == first else now


def _stream(made: FileProperties) -> StreamProperties:
    return StreamProperties(
        content_type=made.content_type,
        content_encoding=made.content_encoding,
        headers=made.headers,
        priority=made.priority,
        timestamp=made.timestamp,
    )


def _fits(text: str) -> bool:
    return len(text.encode("utf-8")) <= STR8_MAX
