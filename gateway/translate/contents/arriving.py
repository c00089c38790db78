"""File- and stream-properties as the header segment of a message.

The ids and addresses of file-properties are texts: as such they go to 1.0, from its escrow, while a
message has a uuid and a pair for them.
"""

from __future__ import annotations

from typing import cast, final

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10._spec_structs import (
    DeliveryProperties,
    FileProperties,
    MessageProperties,
    ReplyTo,
    StreamProperties,
)
from gateway.amqp_1_0 import types
from gateway.errors import DecodeError
from gateway.message import Loss
from gateway.translate.addresses import reply_to_node
from gateway.translate.contents.escrow import (
    FILE,
    FILENAME,
    REPLY_TO,
    ROW_FILENAME,
    ROW_MESSAGE_ID,
    ROW_REPLY_TO,
    STREAM,
    Keeping,
    structs_kept,
)
from gateway.translate.context import Context
from gateway.translate.escrow import NOTHING, digest_node, digest_octets, digest_text
from gateway.translate.facts import PERSISTENT
from gateway.translate.ids import uuid_of
from gateway.translate.original_ids import PATH
from gateway.translate.towards_0_10.delivery import cut
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged


@final
class Content:
    """What came with file.stage or stream.publish.

    Attributes:
        properties: those of either class, as file-properties.
        struct: as it came, with its size and code; empty if there was none.
        file: it is of class file.
    """

    __slots__ = ("file", "properties", "struct")

    def __init__(self, properties: FileProperties, struct: bytes, *, file: bool) -> None:
        self.properties = properties
        self.struct = struct
        self.file = file


@final
class Arrived:
    """The header segment of the message that content has become, and what it has lost by that."""

    __slots__ = ("header", "losses")

    def __init__(self, header: bytes, losses: list[Loss]) -> None:
        self.header = header
        self.losses = losses


def read_content(header: bytes, depth: int, *, file: bool) -> Content:
    """The properties in a header segment; `DecodeError` unless it has nothing else."""
    if not header:
        return Content(FileProperties(), b"", file=file)
    reader = Reader(header)
    struct = reader.sub(reader.u32())
    if struct.u16() != (FILE if file else STREAM) or reader.remaining():
        raise DecodeError("not the properties of this class, or more than these")
    if file:
        return Content(FileProperties.decode_fields(struct, depth), header, file=True)
    return Content(common(StreamProperties.decode_fields(struct, depth)), header, file=False)


def common(stream: StreamProperties) -> FileProperties:
    """Stream-properties as file-properties, of which they are a part."""
    return FileProperties(
        content_type=stream.content_type,
        content_encoding=stream.content_encoding,
        headers=stream.headers,
        priority=stream.priority,
        timestamp=stream.timestamp,
    )


def message_header(
    content: Content,
    exchange: str,
    routing_key: str,
    context: Context,
    *,
    immediate: bool = False,
    counted: bool = True,
) -> Arrived:
    """The header segment of the message that `content` is, published to that exchange and key.

    `counted`: it is used, and what was kept beside it, or lost, counts.
    """
    properties = content.properties
    keeping = Keeping(properties.headers, context)
    delivery = DeliveryProperties(
        priority=properties.priority,
        timestamp=properties.timestamp,
        exchange=cut(exchange),
        routing_key=cut(routing_key),
    )
    delivery.immediate = immediate
    message = MessageProperties(
        content_type=properties.content_type, content_encoding=properties.content_encoding
    )
    _message_id(keeping, properties, message)
    _reply_to(keeping, properties, message)
    _restore(keeping, delivery, message)
    if content.file:
        delivery.delivery_mode = PERSISTENT
    if properties.filename is not None:
        _filename(keeping, properties.filename)
    structs = structs_kept(keeping)
    headers = keeping.headers()
    if headers or properties.headers is not None:
        message.application_headers = headers
    if counted:
        keeping.count()
    writer = Writer()
    delivery.encode(writer)
    message.encode(writer)
    writer.raw(content.struct)
    writer.raw(structs)
    return Arrived(writer.getvalue(), keeping.losses)


def _message_id(keeping: Keeping, properties: FileProperties, message: MessageProperties) -> None:
    text = properties.message_id
    if text is None:
        entry = keeping.take("mp.message-id", NOTHING, types.UUID)
        if entry is not None:
            message.message_id = cast(bytes, entry.value.value)
        return
    original = Tagged(types.STRING, text)
    uuid = uuid_of(original)
    message.message_id = uuid
    visible = digest_octets(uuid)
    brought = keeping.foreign.entries.get(PATH)
    if brought is not None:
        if brought.visible == visible and brought.value.code != types.STRING:
            return  # it was another value of 1.0 before, and is it still
        del keeping.foreign.entries[PATH]
    keeping.keep_original(PATH, visible, original, ROW_MESSAGE_ID)


def _reply_to(keeping: Keeping, properties: FileProperties, message: MessageProperties) -> None:
    address = properties.reply_to
    entry = keeping.take("mp.reply-to", digest_text(address), types.LIST)
    if entry is not None:
        parts = cast("list[Tagged]", entry.value.value)
        if len(parts) == 2 and all([isinstance(each.value, str) for each in parts]):
            exchange, key = [cut(cast(str, each.value)) for each in parts]
            message.reply_to = ReplyTo(exchange=exchange, routing_key=key)
            return
    if address is None:
        return
    exchange, key, _known = reply_to_node(address, keeping.context.nodes)
    exchange, key = cut(exchange), cut(key)
    message.reply_to = ReplyTo(exchange=exchange, routing_key=key)
    keeping.foreign.entries.pop(REPLY_TO, None)
    visible = digest_node(exchange, key)
    keeping.keep_original(REPLY_TO, visible, Tagged(types.STRING, address), ROW_REPLY_TO)


def _filename(keeping: Keeping, filename: str) -> None:
    """The field wins over a header of its name."""
    kept = [(name, value) for name, value in keeping.table if name != FILENAME]
    if len(kept) < len(keeping.table):
        keeping.lose(ROW_FILENAME)
    kept.append((FILENAME, Tagged(STR16, filename)))
    keeping.table = kept


def _restore(keeping: Keeping, delivery: DeliveryProperties, message: MessageProperties) -> None:
    """Fields of a message that came to this class from a message."""
    correlation_id = keeping.take("mp.correlation-id", NOTHING, types.BINARY)
    if correlation_id is not None:
        message.correlation_id = cast(bytes, correlation_id.value.value)
    app_id = keeping.take("mp.app-id", NOTHING, types.BINARY)
    if app_id is not None:
        message.app_id = cast(bytes, app_id.value.value)
    ttl = keeping.take("dp.ttl", NOTHING, types.ULONG)
    if ttl is not None:
        delivery.ttl = cast(int, ttl.value.value)
    expiration = keeping.take("dp.expiration", NOTHING, types.LONG)
    if expiration is not None:
        delivery.expiration = cast(int, expiration.value.value)
    mode = keeping.take("dp.delivery-mode", NOTHING, types.UBYTE)
    if mode is not None and mode.value.value == PERSISTENT:
        delivery.delivery_mode = PERSISTENT
