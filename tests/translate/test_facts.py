"""What is read of a message on arrival."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from translate.messages import (
    NOW_MS,
    arrived_0_10,
    arrived_1_0,
    data,
    message_0_10,
    payload_1_0,
    value,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header, Properties
from gateway.audit.digests import digest
from gateway.errors import DecodeError
from gateway.message import NEVER, NO_PRIORITY, NO_TTL, Encoding, Flag
from gateway.translate import facts
from gateway.wire.tagged import Tagged

U = bytes(range(16))


def opened(header: bytes) -> facts.Arrival:
    return facts.arrival_0_10(header + b"body", len(header))


def test_a_bare_0_10_transfer_has_no_facts() -> None:
    message = arrived_0_10(b"", b"body", "x")
    assert message.encoding == Encoding.AMQP_0_10
    assert (message.durable, message.priority, message.ttl_ms) == (False, NO_PRIORITY, NO_TTL)
    assert (message.expires_ms, message.flags, message.id_digest) == (NEVER, 0, 0)
    assert (message.exchange, message.routing_key, message.body()) == ("x", "", b"body")


def test_the_facts_of_a_0_10_message() -> None:
    dp = DeliveryProperties(
        discard_unroutable=True,
        immediate=True,
        redelivered=True,
        priority=9,
        delivery_mode=2,
        ttl=1000,
        expiration=1,
        routing_key="k",
    )
    headers = [("a", Tagged(old.STR16, "x"))]
    mp = MessageProperties(
        content_length=4,
        message_id=U,
        correlation_id=b"c",
        user_id=b"me",
        application_headers=headers,
    )
    arrival = opened(write_header(dp, mp))
    assert arrival.user_id == b"me"
    message = message_0_10(dp, mp, b"body", "x", java=True)
    assert (message.durable, message.priority, message.ttl_ms) == (True, 9, 1000)
    assert message.expires_ms == NOW_MS + 1000
    assert message.flags == sum(
        (Flag.REDELIVERED, Flag.DISCARD_UNROUTABLE, Flag.IMMEDIATE, Flag.TIMES_IN_MS)
    )
    assert (message.delivery_count, message.routing_key) == (1, "k")
    assert message.id_digest == message_0_10(None, MessageProperties(message_id=U)).id_digest != 0


def test_application_headers_are_not_opened_on_arrival() -> None:
    whole = write_header(None, MessageProperties(application_headers=[("a", Tagged(old.INT8, 1))]))
    broken = whole[:-3] + b"\xee" + whole[-2:]
    assert opened(broken).priority == NO_PRIORITY


def test_a_ttl_of_0_is_none() -> None:
    assert message_0_10(DeliveryProperties(ttl=0)).ttl_ms == NO_TTL
    assert arrived_1_0(payload_1_0(Header(ttl=0), body=data(b""))).ttl_ms == NO_TTL


def test_the_facts_of_a_1_0_message() -> None:
    header = Header(durable=True, priority=200, ttl=1000, delivery_count=3)
    properties = Properties(message_id=Tagged(new.STRING, "id"), user_id=b"me", to="q", subject="s")
    payload = payload_1_0(header, properties, body=data(b"body"))
    arrival = facts.arrival_1_0(payload)
    assert (arrival.user_id, arrival.to, arrival.subject) == (b"me", "q", "s")
    message = arrived_1_0(payload, "x", "k")
    assert (message.durable, message.priority, message.ttl_ms) == (True, 200, 1000)
    assert (message.delivery_count, message.flags) == (3, Flag.REDELIVERED)
    assert (message.exchange, message.routing_key) == ("x", "k")
    assert message.body() == data(b"body")
    assert message.id_digest != 0


def test_the_earlier_of_ttl_and_absolute_expiry_counts() -> None:
    def expires(ttl: int | None, absolute: int | None) -> int:
        properties = Properties(absolute_expiry_time=absolute)
        return arrived_1_0(payload_1_0(Header(ttl=ttl), properties, body=data(b""))).expires_ms

    assert expires(None, None) == NEVER
    assert expires(100, None) == NOW_MS + 100
    assert expires(100, NOW_MS + 50) == NOW_MS + 50
    assert expires(100, NOW_MS + 500) == NOW_MS + 100
    assert expires(None, NOW_MS + 500) == NOW_MS + 500
    assert expires(None, 0) == NEVER


@pytest.mark.parametrize("size", [0, 5, 255, 256, 70_000])
def test_one_data_section_has_the_digest_of_its_content(size: int) -> None:
    octets = b"x" * size
    old_message = message_0_10(body=octets)
    assert arrived_1_0(data(octets)).body_digest == old_message.body_digest


def test_several_data_sections_have_the_digest_of_their_joined_content() -> None:
    one = arrived_1_0(data(b"ab")).body_digest
    assert arrived_1_0(data(b"a", b"b")).body_digest == one
    assert arrived_1_0(payload_1_0(Header(priority=1), body=data(b"a", b"b"))).body_digest == one
    long_descriptor = b"\x00\x80" + (0x75).to_bytes(8, "big") + b"\xa0\x02ab"
    assert arrived_1_0(long_descriptor).body_digest == one
    assert arrived_1_0(payload_1_0(body=data(b"ab"), footer=[])).body_digest == one


def test_other_bodies_have_the_digest_of_their_sections() -> None:
    null = value(Tagged(new.NULL, None))
    assert arrived_1_0(null).body_digest == digest(null)
    assert arrived_1_0(payload_1_0(Header())).body_digest == digest(b"")


def test_a_foreign_format_is_all_body() -> None:
    message = arrived_1_0(b"opaque", "x", "k", 9)
    assert (message.body(), message.message_format) == (b"opaque", 9)


@pytest.mark.parametrize(
    "header",
    [b"\0", b"\0\0\0\1\4", b"\0\0\0\4\4\1\0\xf0", b"\0\0\0\4\4\3\0\2", b"\0\0\0\5\4\3\0\0\0"],
)
def test_a_broken_header_segment_is_a_decode_error(header: bytes) -> None:
    with pytest.raises(DecodeError):
        opened(header)


@given(st.binary(max_size=60))
def test_any_octets_are_a_0_10_header_segment_or_a_decode_error(octets: bytes) -> None:
    try:
        opened(octets)
    except DecodeError:
        return


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda o: b"\x00\x53\x73" + o))
def test_any_octets_are_a_1_0_message_or_a_decode_error(octets: bytes) -> None:
    try:
        facts.arrival_1_0(octets)
    except DecodeError:
        return


# What is refused.

NAMED = Properties(message_id=Tagged(new.STRING, "m"), user_id=b"u", subject="s")
IDENTITY = digest(b"\xa1\x01m")


def test_a_footer_in_front_of_the_body_is_put_behind_it() -> None:
    properties = payload_1_0(properties=Properties(subject="s"))
    footer = payload_1_0(footer=[(Tagged(new.SYMBOL, "x"), Tagged(new.INT, 1))])
    arrival = facts.arrival_1_0(properties + footer + data(b"body"))
    assert arrival.in_order == properties + data(b"body") + footer
    assert (arrival.subject, arrival.in_order[arrival.body_at : arrival.body_end]) == (
        "s",
        data(b"body"),
    )
    assert facts.arrival_1_0(arrival.in_order).in_order == b""


@pytest.mark.parametrize("order", ["bpf", "fbf", "ffb", "fbp", "pfpb"])
def test_other_sections_out_of_order_are_no_message(order: str) -> None:
    parts = {
        "p": payload_1_0(properties=Properties(subject="s")),
        "b": data(b"body"),
        "f": payload_1_0(footer=[]),
    }
    with pytest.raises(DecodeError):
        facts.arrival_1_0(b"".join(parts[part] for part in order))


def test_a_message_that_is_refused_has_the_facts_of_any() -> None:
    payload = payload_1_0(header=Header(durable=True), properties=NAMED, body=data(b"body"))
    assert facts.arrival_1_0(payload).id_digest == IDENTITY
    arrival = facts.in_part(payload)
    assert (arrival.durable, arrival.subject, arrival.id_digest) == (True, "s", IDENTITY)


@pytest.mark.parametrize(
    "behind", [b"", b"\x00", b"\x00\x53", b"\x00\x53\x75\xb0\x00\x00\xff\xff body"]
)
def test_of_what_is_no_message_its_message_id_is_read(behind: bytes) -> None:
    payload = payload_1_0(header=Header(durable=True), properties=NAMED, body=b"") + behind
    arrival = facts.in_part(payload + b"\x00\x53\x99\x40")
    assert (arrival.id_digest, arrival.user_id) == (IDENTITY, b"u")
    assert (arrival.body_at, arrival.body_end) == (0, len(payload) + 4)


@given(st.binary(max_size=100), st.integers(0, 100))
def test_no_octets_are_too_wrong_to_be_refused(behind: bytes, cut: int) -> None:
    facts.in_part(behind)
    whole = payload_1_0(header=Header(durable=True), properties=NAMED, body=data(b"body"))
    facts.in_part(whole[:cut])
    facts.in_part(whole[:cut] + behind)
