"""W3C Trace Context as messages of both protocols carry it."""

import pytest
from translate.cases import new_message, old_message, s, sym

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.translate.tracing.trace_context import TraceContext, context_of, parse
from gateway.wire.tagged import Tagged

TRACE_ID = 0x0AF7651916CD43DD8448EB211C80319C
PARENT_ID = 0xB7AD6B7169203331
TEXT = f"00-{TRACE_ID:032x}-{PARENT_ID:016x}-01"
OTHER = f"00-{1:032x}-{2:016x}-01"
BINARY = b"\0\0" + TRACE_ID.to_bytes(16, "big") + b"\1" + PARENT_ID.to_bytes(8, "big") + b"\2\1"


def ids(found: TraceContext | None) -> tuple[int, int, bool, str] | None:
    if found is None:
        return None
    return found.trace_id, found.parent_id, found.recorded, found.state


WANTED = (TRACE_ID, PARENT_ID, True, "")


@pytest.mark.parametrize("value", [TEXT, TEXT.encode(), BINARY, f"01{TEXT[2:]}-more"])
def test_text_octets_and_the_binary_format_say_the_same(value: object) -> None:
    assert ids(parse(value)) == WANTED


def test_whether_the_trace_is_recorded_is_one_bit_of_the_flags() -> None:
    seen = {flags: parse(f"{TEXT[:-2]}{flags}") for flags in ("00", "02", "03")}
    recorded = {flags: None if each is None else each.recorded for flags, each in seen.items()}
    assert recorded == {"00": False, "02": False, "03": True}


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "", "00", TEXT.upper(), f"{TEXT}-more", f"ff{TEXT[2:]}", f"01{TEXT[2:]}more"),
        *(TEXT.replace("-", "_"), f"00-{0:032x}-{1:016x}-01", f"00-{1:032x}-{0:016x}-01"),
        *(f"00-{' ' * 31}1-{1:016x}-01", BINARY[:-1], b"\1" + BINARY[1:], b"\xff" * 55),
    ],
)
def test_what_is_no_traceparent_is_none(value: object) -> None:
    assert parse(value) is None


def test_a_context_is_written_as_it_is_read() -> None:
    for text in (TEXT, f"{TEXT[:-2]}00"):
        made = parse(text)
        assert made is not None
        assert made.text() == text


def test_in_0_10_it_is_in_the_headers() -> None:
    headers = [
        ("traceparent", Tagged(old.STR16, TEXT)),
        ("tracestate", Tagged(old.STR16, "a=1")),
    ]
    assert ids(context_of(old_message(headers=headers))) == (*WANTED[:3], "a=1")
    octets = [("traceparent", Tagged(old.VBIN16, TEXT.encode()))]  # as Python 2 sends text
    assert ids(context_of(old_message(headers=octets))) == WANTED


def test_in_1_0_an_intermediarys_goes_before_the_publishers_as_a_whole() -> None:
    own = [(s("traceparent"), s(OTHER)), (s("tracestate"), s("own=1"))]
    later = [(sym("traceparent"), Tagged(new.BINARY, BINARY))]
    publishers = context_of(new_message(to="q", application=own))
    assert ids(publishers) == (1, 2, True, "own=1")
    assert ids(context_of(new_message(to="q", application=own, annotations=later))) == WANTED


def test_a_message_without_one_or_with_something_else_has_none() -> None:
    assert context_of(old_message(b"traceparent")) is None
    assert context_of(old_message(headers=[("traceparent", Tagged(old.INT32, 1))])) is None
    too_long = [(s("traceparent"), s(TEXT)), (s("tracestate"), s("a" * 513))]
    assert ids(context_of(new_message(to="q", application=too_long))) == WANTED
    foreign = new_message(to="q", application=[(s("traceparent"), s(TEXT))])
    foreign.message_format = 7
    assert context_of(foreign) is None


def test_octets_that_do_not_decode_have_none() -> None:
    message = old_message(headers=[("traceparent", Tagged(old.STR16, TEXT))])
    at = message.payload.index(b"traceparent") + len("traceparent")
    message.payload = message.payload[:at] + b"\xee" + message.payload[at + 1 :]
    assert context_of(message) is None
