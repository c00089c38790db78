"""Any message of either protocol, drawn by hypothesis: with values of each type in each field."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from translate.messages import (
    NOW_MS,
    arrived_1_0,
    body_list,
    body_map,
    data,
    message_0_10,
    payload_1_0,
    plain,
    sequences,
    value,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties, ReplyTo
from gateway.amqp_0_10.types import Array as Array010
from gateway.amqp_0_10.types import Struct32
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header, Properties
from gateway.message import Message
from gateway.translate.ids import uuid_in
from gateway.translate.times import to_ms
from gateway.wire.tagged import Tagged

short_text = st.text(max_size=12)
any_octets = st.binary(max_size=20)
i64s = st.integers(-(2**63), 2**63 - 1)
latin = st.binary(max_size=10).map(lambda octets: octets.decode("iso8859-15"))
one_latin = st.integers(0, 255).map(lambda octet: bytes([octet]).decode("iso8859-15"))
uuids = st.binary(min_size=16, max_size=16)
floats_32 = st.floats(width=32, allow_nan=False)
floats_64 = st.floats(allow_nan=False)


def integers(bits: int, signed: bool) -> st.SearchStrategy[int]:
    if signed:
        return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return st.integers(0, (1 << bits) - 1)


def tag(code: int, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Tagged]:
    return strategy.map(lambda item: Tagged(code, item))


def widths(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


SIMPLE_0_10 = {
    old.BOOLEAN: st.booleans(),
    old.INT8: integers(8, True),
    old.INT16: integers(16, True),
    old.INT32: integers(32, True),
    old.INT64: integers(64, True),
    old.UINT8: integers(8, False),
    old.UINT16: integers(16, False),
    old.UINT32: integers(32, False),
    old.UINT64: integers(64, False),
    old.FLOAT: floats_32,
    old.DOUBLE: floats_64,
    old.UUID: uuids,
    old.DATETIME: i64s,
    old.CHAR: one_latin,
    old.CHAR_UTF32: st.characters(codec="utf-8"),
    old.VBIN8: any_octets,
    old.VBIN16: any_octets,
    old.VBIN32: any_octets,
    old.STR8: short_text | st.just(b"\xe4"),
    old.STR16: short_text | st.just(b"\xff"),
    old.STR8_LATIN: latin,
    old.STR16_LATIN: latin,
    old.STR8_UTF16: short_text,
    old.STR16_UTF16: short_text | st.just(b"\xd8\x00"),
    old.BIN8: widths(1),
    old.BIN16: widths(2),
    old.BIN32: widths(4),
    old.BIN64: widths(8),
    old.BIN128: widths(16),
    old.BIN256: widths(32),
    old.BIN512: widths(64),
    old.BIN1024: widths(128),
    old.BIN40: widths(5),
    old.BIN72: widths(9),
    old.DEC32: st.tuples(integers(8, False), integers(32, True)),
    old.DEC64: st.tuples(integers(8, False), integers(64, True)),
}
WITHOUT_WIDTH_0_10 = {old.VOID: st.none(), old.BIT: st.just(True)}
header_names = st.text(min_size=0, max_size=8) | st.sampled_from(
    [
        "x-amqp-0-10.app-id",
        "JMSXGroupID",
        "JMSXGroupSeq",
        "qpid.subject",
        "x-jms-type",
        "x-qpid-not-valid-before",
        "JMS_AMQP_NULL",
    ]
)


def _arrays_0_10() -> st.SearchStrategy[Tagged]:
    @cache
    def of(code: int) -> st.SearchStrategy[Tagged]:
        return st.lists(SIMPLE_0_10[code], max_size=3).map(
            lambda items: Tagged(old.ARRAY, Array010(code, items))
        )

    return st.sampled_from(sorted(SIMPLE_0_10)).flatmap(of)


def tables(values: st.SearchStrategy[Tagged]) -> st.SearchStrategy[list[tuple[str, Tagged]]]:
    return st.dictionaries(header_names, values, max_size=4).map(lambda d: list(d.items()))


simple_0_10 = st.one_of(
    [tag(code, strategy) for code, strategy in (SIMPLE_0_10 | WITHOUT_WIDTH_0_10).items()]
)
structs_0_10 = st.builds(
    lambda code, octets: Tagged(old.STRUCT32, Struct32(code, octets)),
    integers(16, False),
    any_octets,
)
values_0_10 = st.recursive(
    simple_0_10 | _arrays_0_10() | structs_0_10,
    lambda inner: tag(old.LIST, st.lists(inner, max_size=3)) | tag(old.MAP, tables(inner)),
    max_leaves=8,
)

SIMPLE_1_0 = {
    new.BOOLEAN: st.booleans(),
    new.UBYTE: integers(8, False),
    new.USHORT: integers(16, False),
    new.UINT: integers(32, False),
    new.ULONG: integers(64, False),
    new.BYTE: integers(8, True),
    new.SHORT: integers(16, True),
    new.INT: integers(32, True),
    new.LONG: integers(64, True),
    new.FLOAT: floats_32,
    new.DOUBLE: floats_64,
    new.DECIMAL32: widths(4),
    new.DECIMAL64: widths(8),
    new.DECIMAL128: widths(16),
    new.CHAR: st.characters(codec="utf-8"),
    new.TIMESTAMP: i64s | st.integers(-(10**6), 10**6).map(lambda s: s * 1000),
    new.UUID: uuids,
    new.BINARY: any_octets,
    new.STRING: short_text,
    new.SYMBOL: st.text(alphabet=st.characters(codec="ascii"), max_size=10),
}
simple_1_0 = st.one_of([tag(code, strategy) for code, strategy in SIMPLE_1_0.items()]) | tag(
    new.NULL, st.none()
)


def _arrays_1_0() -> st.SearchStrategy[Tagged]:
    @cache
    def of(code: int) -> st.SearchStrategy[Tagged]:
        descriptors = st.just([]) | st.just([Tagged(new.SYMBOL, "d")])
        return st.builds(
            lambda items, above: Tagged(new.ARRAY, new.Array(code, items, above)),
            st.lists(SIMPLE_1_0[code], max_size=3),
            descriptors,
        )

    return st.sampled_from(sorted(SIMPLE_1_0)).flatmap(of)


def maps_1_0(
    keys: st.SearchStrategy[Tagged], values: st.SearchStrategy[Tagged]
) -> st.SearchStrategy[list[tuple[Tagged, Tagged]]]:
    return st.lists(
        st.tuples(keys, values), max_size=4, unique_by=lambda pair: repr(plain(pair[0]))
    )


described_1_0 = st.builds(
    lambda descriptor, item: Tagged(new.DESCRIBED, new.Described(descriptor, item)),
    tag(new.ULONG, integers(64, False)) | tag(new.SYMBOL, SIMPLE_1_0[new.SYMBOL]),
    simple_1_0,
)
string_keys = tag(new.STRING, header_names)
values_1_0 = st.recursive(
    simple_1_0 | _arrays_1_0() | described_1_0,
    lambda inner: (
        tag(new.LIST, st.lists(inner, max_size=3))
        | tag(new.MAP, maps_1_0(string_keys | tag(new.INT, integers(8, True)), inner))
    ),
    max_leaves=8,
)
annotation_keys = tag(
    new.SYMBOL,
    st.sampled_from(
        [
            *("x-opt-a", "b", "x-opt-delivery-time", "x-opt-jms-msg-type", "x-opt-jms-dest"),
            "traceparent",
        ]
    ),
) | tag(new.ULONG, integers(64, False))

ids_1_0 = (
    tag(new.UUID, uuids)
    | tag(new.ULONG, integers(64, False))
    | tag(new.BINARY, any_octets | uuids)
    | tag(new.STRING, short_text)
    | tag(new.STRING, st.uuids().map(str))
    | tag(new.STRING, st.uuids().map(lambda u: f"ID:{u}"))
)
texts = st.text(max_size=20)
text_octets = texts.map(str.encode)
nothing = st.none()


# What is drawn from is made once: hypothesis looks at each strategy that it has not seen, which
# takes longer than drawing from it.
class Of010:
    """What fields of 0-10 are drawn from."""

    exchange = st.sampled_from(["", "x", "nowhere"])
    flag = st.booleans()
    priority = nothing | integers(8, False)
    delivery_mode = nothing | st.sampled_from([1, 2])
    ttl = nothing | st.integers(0, 2**40) | integers(64, False)
    time = nothing | i64s | st.integers(0, 2**40)
    resume_id = nothing | short_text
    resume_ttl = nothing | integers(64, False)
    message_id = nothing | uuids
    correlation_id = nothing | any_octets | uuids | text_octets
    reply_to = (
        nothing
        | st.builds(ReplyTo, exchange=nothing | texts, routing_key=nothing | texts)
        | st.builds(ReplyTo, exchange=st.just("x"), routing_key=st.just("k"))
    )
    content_type = (
        nothing
        | st.sampled_from(["text/plain", "amqp/map", "amqp/list", "jms/map-message", "image/png"])
        | texts
    )
    content_encoding = nothing | st.sampled_from(["gzip", "utf-8", "identity"]) | texts
    user_id = nothing | any_octets
    app_id = nothing | any_octets | text_octets
    table = tables(values_0_10)
    application_headers = nothing | table
    items = st.lists(values_0_10, max_size=4)
    body = any_octets | text_octets | nothing


@st.composite
def messages_0_10(draw: st.DrawFn) -> Message:
    """Any 0-10 message."""
    exchange = draw(Of010.exchange)
    key = draw(texts)
    dp = DeliveryProperties(
        discard_unroutable=draw(Of010.flag),
        immediate=draw(Of010.flag),
        redelivered=draw(Of010.flag),
        priority=draw(Of010.priority),
        delivery_mode=draw(Of010.delivery_mode),
        ttl=draw(Of010.ttl),
        timestamp=draw(Of010.time),
        expiration=draw(Of010.time),
        exchange=exchange if draw(Of010.flag) else None,
        routing_key=key,
        resume_id=draw(Of010.resume_id),
        resume_ttl=draw(Of010.resume_ttl),
    )
    if dp.expiration is not None and to_ms(dp.expiration) < NOW_MS + (dp.ttl or 0):
        # In 1.0 it would be over before the ttl is, which then is no longer what it was.
        dp.ttl = None
    mp = MessageProperties(
        message_id=draw(Of010.message_id),
        correlation_id=draw(Of010.correlation_id),
        reply_to=draw(Of010.reply_to),
        content_type=draw(Of010.content_type),
        content_encoding=draw(Of010.content_encoding),
        user_id=draw(Of010.user_id),
        app_id=draw(Of010.app_id),
        application_headers=draw(Of010.application_headers),
    )
    if mp.correlation_id is not None and uuid_in(mp.correlation_id) == mp.message_id:
        # It would answer itself: the gateway has to note that it does not.
        mp.correlation_id = None
    body = draw(Of010.body)
    if mp.content_type == "amqp/map" and draw(Of010.flag):
        body = body_map(draw(Of010.table))
    elif mp.content_type == "amqp/list" and draw(Of010.flag):
        body = body_list(draw(Of010.items))
    others = b"\0\0\0\4\4\2\3\0" if draw(Of010.flag) else b""
    return message_0_10(dp, mp, body, exchange, others)


class Of10:
    """What fields, bodies and sections of 1.0 are drawn from."""

    flag = st.booleans()
    target = st.sampled_from(
        [("", "q"), ("x", ""), ("x", "key"), ("", "p" * 300), ("x", "\u00e9" * 200)]
    )
    durable = nothing | st.booleans()
    priority = nothing | integers(8, False)
    uint = nothing | integers(32, False)
    delivery_count = nothing | st.integers(0, 5)
    id = nothing | ids_1_0
    user_id = nothing | any_octets
    text = nothing | texts
    this_or_text = nothing | st.just(...) | texts
    reply_to = nothing | texts | st.sampled_from(["q", "x", "x/k", "z" * 300])
    content_type = (
        nothing
        | st.sampled_from(
            [
                "text/plain",
                "text/plain; charset=utf-8",
                "amqp/map",
                "amqp/list",
                "application/java-object-stream",
                "application/x-java-serialized-object",
                "application/x-amqp-1.0-value",
            ]
        )
        | SIMPLE_1_0[new.SYMBOL]
    )
    content_encoding = (
        nothing | st.sampled_from(["gzip", "utf-8", "identity"]) | SIMPLE_1_0[new.SYMBOL]
    )
    absolute_expiry_time = nothing | st.integers(NOW_MS + 2**33, 2**63 - 1)
    creation_time = nothing | SIMPLE_1_0[new.TIMESTAMP]
    properties = nothing | maps_1_0(
        string_keys | st.just(Tagged(new.STRING, "k" * 300)), values_1_0
    )
    annotations = nothing | maps_1_0(annotation_keys, values_1_0)
    body_kind = st.sampled_from(["none", "data", "value", "sequence"])
    parts = st.lists(any_octets | short_text.map(str.encode), min_size=1, max_size=3)
    lists = st.lists(st.lists(values_1_0, max_size=3), min_size=1, max_size=3)


@st.composite
def bodies_1_0(draw: st.DrawFn) -> bytes:
    """Any body of a 1.0 message."""
    kind = draw(Of10.body_kind)
    if kind == "none":
        return b""
    if kind == "data":
        return data(*draw(Of10.parts))
    if kind == "value":
        return value(draw(values_1_0))
    return sequences(*draw(Of10.lists))


def _this_or_text(draw: st.DrawFn, this: str) -> str | None:
    """Nothing, a text that means something where it stands, or any."""
    chosen = draw(Of10.this_or_text)
    return this if chosen is Ellipsis else chosen


@st.composite
def messages_1_0(draw: st.DrawFn) -> Message:
    """Any 1.0 message, published to a queue or an exchange."""
    exchange, key = draw(Of10.target)
    header = Header(
        durable=draw(Of10.durable),
        priority=draw(Of10.priority),
        ttl=draw(Of10.uint),
        delivery_count=draw(Of10.delivery_count),
    )
    properties = Properties(
        message_id=draw(Of10.id),
        user_id=draw(Of10.user_id),
        to=_this_or_text(draw, exchange or key),
        subject=_this_or_text(draw, key),
        reply_to=draw(Of10.reply_to),
        correlation_id=draw(Of10.id),
        content_type=draw(Of10.content_type),
        content_encoding=draw(Of10.content_encoding),
        absolute_expiry_time=draw(Of10.absolute_expiry_time),
        creation_time=draw(Of10.creation_time),
        group_id=draw(Of10.text),
        group_sequence=draw(Of10.uint),
        reply_to_group_id=draw(Of10.text),
    )
    payload = payload_1_0(
        header if draw(Of10.flag) else None,
        properties if draw(Of10.flag) else None,
        draw(Of10.properties),
        draw(Of10.annotations),
        draw(bodies_1_0()),
        draw(Of10.annotations),
    )
    return arrived_1_0(payload, exchange, key)
