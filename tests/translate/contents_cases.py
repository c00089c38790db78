"""Cases of the rows of classes file and stream: both ways between them, messages and 1.0."""

from typing import Any

from translate.cases import TO_0_10, TO_1_0, U, in_1_0, new_message, prop, row, s
from translate.messages import arrived_0_10, arrived_1_0, context, sent_to_1_0

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10._spec_structs import (
    DeliveryProperties,
    FileProperties,
    MessageProperties,
    ReplyTo,
    StreamProperties,
)
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import types as new
from gateway.message import Message
from gateway.translate import message as translation
from gateway.translate.contents.arriving import message_header, read_content
from gateway.translate.contents.escrow import CONTENT_HEADER
from gateway.translate.contents.leaving import content_header, transfer_header
from gateway.translate.context import Context
from gateway.translate.segment import open_header
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged


def arrived(header: bytes) -> Message:
    return arrived_0_10(header, b"body", "x")


def as_message(
    properties: FileProperties | StreamProperties, ctx: Context | None = None
) -> Message:
    """What a file or a stream's message is in the gateway."""
    writer = Writer()
    properties.encode(writer)
    file = isinstance(properties, FileProperties)
    content = read_content(writer.getvalue(), 32, file=file)
    return arrived(message_header(content, "x", "k", ctx or context()).header)


def as_file(message: Message, ctx: Context | None = None) -> FileProperties:
    ctx = ctx or context()
    left = content_header(translation.to_0_10(message, ctx).header, ctx, file=True)
    return FileProperties.decode(Reader(left.header))


def as_stream(message: Message, ctx: Context | None = None) -> StreamProperties:
    ctx = ctx or context()
    left = content_header(translation.to_0_10(message, ctx).header, ctx, file=False)
    return StreamProperties.decode(Reader(left.header))


def as_transfer(message: Message) -> tuple[bytes, Any]:
    """The header segment of a transfer, and what is in it."""
    ctx = context()
    header = transfer_header(translation.to_0_10(message, ctx).header, ctx).header
    return header, open_header(header, len(header), 32)


@row("contents.message-id", TO_1_0, TO_0_10)
def message_id_is_a_string() -> None:
    spelt = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    for text in ("any text", spelt):
        sent = in_1_0(as_message(FileProperties(message_id=text)))
        assert sent["message_id"] == (new.STRING, text)
    assert as_file(new_message(message_id=s("of 1.0"))).message_id == "of 1.0"
    properties = as_file(new_message(message_id=Tagged(new.ULONG, 7)))
    assert properties.message_id is not None and len(properties.message_id) == 36
    assert in_1_0(as_message(properties))["message_id"] == (new.ULONG, 7)
    header = write_header(None, MessageProperties(message_id=U))
    assert as_file(arrived(header)).message_id == spelt


@row("contents.reply-to", TO_1_0, TO_0_10)
def reply_to_is_an_address() -> None:
    for address in ("replies", "amq.topic/answers", "nobody knows/this"):
        file = FileProperties(reply_to=address)
        assert in_1_0(as_message(file))["reply_to"] == address
        assert as_file(new_message(reply_to=address)).reply_to == address
    pair = ReplyTo(exchange="", routing_key="replies")
    header = write_header(None, MessageProperties(reply_to=pair))
    assert as_file(arrived(header)).reply_to == "replies"
    odd = ReplyTo(exchange="gone", routing_key="a/b")
    properties = as_file(arrived(write_header(None, MessageProperties(reply_to=odd))))
    assert properties.reply_to == "gone/a/b"
    _, segment = as_transfer(as_message(properties))
    assert segment.properties.reply_to == odd


@row("contents.filename", TO_1_0, TO_0_10)
def filename_is_a_header() -> None:
    sent = in_1_0(as_message(FileProperties(filename="a.txt")))
    assert prop(sent, "x-amqp-0-10.filename") == (new.STRING, "a.txt")
    header = [("x-amqp-0-10.filename", Tagged(STR16, "b.txt"))]
    message = arrived(write_header(None, MessageProperties(application_headers=header)))
    assert as_file(message) == FileProperties(filename="b.txt")
    ctx = context()
    named = as_message(FileProperties(filename="c.txt", headers=header), ctx)
    assert as_file(named).filename == "c.txt"
    assert sum(ctx.counts.lost) == 1


@row("contents.class", TO_1_0, TO_0_10)
def what_came_as_a_class_leaves_it_as_it_came() -> None:
    file = FileProperties(
        content_type="text/plain",
        headers=[("a", Tagged(STR16, "b"))],
        priority=7,
        message_id="id",
        reply_to="replies",
        filename="a.txt",
        timestamp=1_234,
        cluster_id="here",
    )
    message = as_message(file)
    assert as_file(message) == file
    header, segment = as_transfer(message)
    assert segment.others == b""
    assert as_file(arrived(header)) == file
    stream = as_stream(message)
    assert as_file(as_message(stream)) == file
    octets, losses = sent_to_1_0(message, context())
    assert losses == []
    assert as_file(arrived_1_0(octets, "x", "k")) == file


@row("contents.message-fields", TO_0_10)
def fields_of_messages_ride_in_a_header() -> None:
    properties = MessageProperties(
        correlation_id=b"asked",
        app_id=b"app",
        message_id=U,
        reply_to=ReplyTo(exchange="x", routing_key="k"),
    )
    delivery = DeliveryProperties(ttl=5_000, expiration=99, delivery_mode=2)
    message = arrived(write_header(delivery, properties))
    stream = as_stream(message)
    assert [name for name, _ in stream.headers or []] == [CONTENT_HEADER]
    _, segment = as_transfer(as_message(stream))
    assert segment.properties.correlation_id == b"asked"
    assert segment.properties.app_id == b"app"
    assert segment.properties.message_id == U
    assert segment.properties.reply_to == ReplyTo(exchange="x", routing_key="k")
    assert segment.delivery.ttl == 5_000
    assert segment.delivery.expiration == 99
    assert segment.delivery.delivery_mode == 2
    ctx = context(escrow=False)
    assert as_stream(message, ctx).headers is None
    assert sum(ctx.counts.lost) == 7


@row("contents.user-id", TO_0_10)
def no_user_id_crosses() -> None:
    ctx = context()
    message = arrived(write_header(None, MessageProperties(user_id=b"alice")))
    assert as_file(message, ctx).headers is None
    assert sum(ctx.counts.lost) == 1
