"""What messages look like that went through a broker: equal for clients of one protocol."""

import uuid
from typing import Any

import pytest
from interop.brokers import client
from interop.upstream import octets
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import Got, Talk
from support.field_names import field_names

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import _spec_constants as codes
from gateway.amqp_0_10.encoding import write_list, write_map
from gateway.amqp_0_10.types import Array, FieldTable, Struct32
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

VALUES: list[tuple[int, Any]] = [
    (codes.BIN8, b"\1"),
    (codes.BIN16, b"\1\2"),
    (codes.BIN128, bytes(16)),
    (codes.INT8, -128),
    (codes.INT16, -32768),
    (codes.INT32, -(1 << 31)),
    (codes.INT64, -(1 << 63)),
    (codes.UINT8, 255),
    (codes.UINT16, 65535),
    (codes.UINT32, (1 << 32) - 1),
    (codes.UINT64, (1 << 64) - 1),
    (codes.BOOLEAN, True),
    (codes.CHAR, "c"),
    (codes.CHAR_UTF32, "\U0001f407"),
    (codes.FLOAT, 1.5),
    (codes.DOUBLE, -2.25),
    (codes.DATETIME, 1_700_000_000),
    (codes.UUID, uuid.UUID(int=5).bytes),
    (codes.VBIN8, b"\0\xff"),
    (codes.VBIN16, b"\0\xff"),
    (codes.VBIN32, b"\0\xff"),
    (codes.STR8, "é"),
    (codes.STR8_LATIN, "é"),
    (codes.STR16, "é"),
    (codes.STR16_UTF16, "é"),
    (codes.DEC32, (2, 12345)),
    (codes.DEC64, (2, 12345)),
    (codes.VOID, None),
    (codes.LIST, [Tagged(codes.INT32, 1), Tagged(codes.STR16, "two")]),
    (codes.MAP, [("inner", Tagged(codes.UINT8, 1))]),
    (codes.ARRAY, Array(codes.INT16, [1, 2, 3])),
    (codes.STRUCT32, Struct32(0x0403, b"\0\0")),
]
HEADERS: FieldTable = [(f"value-{code:02x}", Tagged(code, value)) for code, value in VALUES]
WIDTHS = {  # of a length prefix: no part of a value
    codes.VBIN8: codes.VBIN16,
    codes.VBIN32: codes.VBIN16,
    codes.STR8: codes.STR16,
    codes.STR8_LATIN: codes.STR16_LATIN,
    codes.STR8_UTF16: codes.STR16_UTF16,
}
IN_MAPS: FieldTable = [
    (name, value) for name, value in HEADERS if value.code not in (codes.VOID, codes.STRUCT32)
]


def _map() -> bytes:
    writer = Writer()
    write_map(writer, IN_MAPS)
    return writer.getvalue()


def _list() -> bytes:
    writer = Writer()
    write_list(writer, [value for _, value in IN_MAPS])
    return writer.getvalue()


BODIES: dict[str, tuple[str | None, bytes]] = {
    "nothing": (None, b""),
    "octets": (None, b"\0\xff"),
    "octets with a type": ("application/octet-stream", b"\0\xff"),
    "text": ("text/plain", "é".encode()),
    "text that is none": ("text/plain", b"\xff\xfe"),
    "map": ("amqp/map", _map()),
    "map that is none": ("amqp/map", b"\0\0\0\7nothing"),
    "list": ("amqp/list", _list()),
    "java object": ("application/java-object-stream", b"\xac\xed\0\5t\0\4kept"),
}
PROPERTIES = {
    "message_id": uuid.UUID(int=7).bytes,
    "correlation_id": b"\xff\0correlated",
    "reply_to": spec.ReplyTo(exchange="amq.direct", routing_key="answers"),
    "content_encoding": "none",
    "app_id": b"\0application",
}


def _shown(got: Got) -> dict[str, Any]:
    """A message as plain values, without what a queue or a hop writes."""
    shown: dict[str, Any] = {"body": got.body}
    for struct in (got.properties, got.delivery):
        shown |= {name: getattr(struct, name) for name in field_names(struct)}
    reply_to = shown["reply_to"]
    if reply_to is not None:
        shown["reply_to"] = (reply_to.exchange, reply_to.routing_key)
    headers = shown.pop("application_headers") or []
    return shown | {name: (WIDTHS.get(each.code, each.code), each.value) for name, each in headers}


def _sent(content_type: str | None, body: bytes) -> dict[str, Any]:
    properties = spec.MessageProperties(
        content_type=content_type,
        content_length=len(body),
        application_headers=HEADERS,
        **PROPERTIES,  # type: ignore[arg-type]
    )
    delivery = spec.DeliveryProperties(delivery_mode=2, priority=5)
    return {"properties": properties, "delivery": delivery, "body": body}


@pytest.mark.parametrize("kind", BODIES)
def test_a_0_10_message_comes_back_equal(kind: str, behind: Behind, talk: Talk, cell: Cell) -> None:
    content_type, body = BODIES[kind]
    found = []
    for queue in (behind.queue(), "local"):
        talk.does(spec.QueueDeclare(queue=queue))
        talk.completes(talk.publishes(queue, **_sent(content_type, body)))
        talk.subscribes(queue, queue, credit=1)
        got = talk.get()
        talk.accepts(got)
        found.append(_shown(got) | {"routing_key": ""})
    there, here = found
    there.pop("x-amqp-1.0", None)  # what the broker has added
    changed = [name for name in here if there.get(name) != here[name]]
    assert not changed, {name: (here[name], there.get(name)) for name in changed}
    assert there.keys() == here.keys()
    cell("equal-0-10", "yes")


def _section(code: int, encoded: bytes) -> bytes:
    return bytes([0, 0x53, code]) + encoded


def _composite(*fields: bytes) -> bytes:
    """A list in its widest encoding, which nobody chooses who encodes for himself."""
    body = len(fields).to_bytes(4, "big") + b"".join(fields)
    return b"\xd0" + len(body).to_bytes(4, "big") + body


def _map32(*items: bytes) -> bytes:
    return b"\xd1" + _composite(*items)[1:]


def _wide(code: int, value: bytes) -> bytes:
    return bytes([code]) + len(value).to_bytes(4, "big") + value


_HEADER = _section(0x70, _composite(b"\x56\x01", b"\x50\x07"))  # durable, priority 7
_BARE = _section(0x73, _composite(_wide(0xB1, b"id-1"), b"\x40", _wide(0xB1, b"ours")))
_BARE += _section(
    0x74,
    _map32(
        _wide(0xB1, b"ulong"),
        b"\x80" + bytes(7) + b"\x05",
        _wide(0xB1, b"symbol"),
        _wide(0xB3, b"s"),
    ),
)
BARE = {
    "data": _BARE + _section(0x75, _wide(0xB0, b"abc")),
    "several data": _BARE + _section(0x75, _wide(0xB0, b"abc")) * 2,
    "string": _BARE + _section(0x77, _wide(0xB1, "é".encode())),
    "map": _BARE + _section(0x77, _map32(_wide(0xB1, b"k"), b"\x71\0\0\0\1")),
    "sequence": _BARE + _section(0x76, _composite(b"\x71\0\0\0\1", _wide(0xB3, b"s"))),
    "null": _BARE + _section(0x77, b"\x40"),
}


@pytest.mark.parametrize("kind", BARE)
def test_a_bare_1_0_message_comes_back_octet_by_octet(
    kind: str, behind: Behind, cell: Cell
) -> None:
    bare, queue = BARE[kind], behind.queue()
    octets.send(behind.at_gateway(), queue, _HEADER + bare)
    came = octets.receive(behind.at_gateway(), queue)
    exact = came.endswith(bare)
    if not exact:  # what the broker changes, without the gateway as with it
        address = behind.broker.queue_address(queue)
        octets.send(behind.at_broker(), address, _HEADER + bare)
        came_directly = octets.receive(behind.at_broker(), address)
        assert came[came.index(b"\0\x53\x73") :] == came_directly[came_directly.index(b"\0Ss") :]
    cell(f"exact-1-0 {kind}", "yes" if exact else "the broker's encoding")


def test_a_1_0_client_at_the_broker_reads_what_a_0_10_client_published(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    properties = spec.MessageProperties(
        message_id=uuid.UUID(int=7).bytes,
        correlation_id=b"asked",
        content_type="text/plain",
        application_headers=[("colour", Tagged(codes.STR16, "blue"))],
    )
    talk.completes(talk.publishes(queue, b"hello", properties=properties))
    receiver = behind.at_broker().create_receiver(behind.broker.queue_address(queue), credit=1)
    message = receiver.receive(client.TIME_LIMIT_S)
    receiver.accept()
    assert bytes(message.body) == b"hello"
    assert message.id == uuid.UUID(int=7)
    assert (message.correlation_id, message.content_type) == ("asked", "text/plain")
    assert message.properties["colour"] == "blue"
    assert message.durable
    cell("0-10-to-1-0", "yes")


def test_a_0_10_client_reads_what_a_1_0_client_at_the_broker_published(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    from proton import Message

    queue = behind.queue()
    message = Message(
        body="hello",
        id=uuid.UUID(int=7),
        correlation_id="asked",
        durable=True,
        properties={"colour": "blue"},
    )
    behind.at_broker().create_sender(behind.broker.queue_address(queue)).send(message)
    talk.subscribes(queue)
    got = talk.get()
    talk.accepts(got)
    assert got.body == b"hello"
    assert got.properties.message_id == uuid.UUID(int=7).bytes
    assert got.properties.correlation_id == b"asked"
    assert got.delivery.delivery_mode == 2
    assert got.delivery.routing_key == queue
    assert dict(got.properties.application_headers or [])["colour"].value == "blue"
    cell("1-0-to-0-10", "yes")
