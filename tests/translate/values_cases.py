"""Cases for the rows of typed values in headers and properties."""

from collections.abc import Callable
from typing import Any

from translate.cases import (
    LOSSES,
    TO_0_10,
    TO_1_0,
    Seen,
    U,
    in_1_0,
    loses,
    new_message,
    old_message,
    prop,
    row,
    s,
    sym,
)
from translate.messages import (
    context,
    message_0_10,
    sent_to_1_0,
    view_1_0,
)

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10.types import Array, Struct32
from gateway.amqp_1_0 import types as new
from gateway.message import Message
from gateway.wire.tagged import Tagged

# Values.

VALUES_BOTH = [
    ("values.boolean", old.BOOLEAN, new.BOOLEAN, True),
    ("values.float", old.FLOAT, new.FLOAT, 1.5),
    ("values.float", old.DOUBLE, new.DOUBLE, 0.1),
    ("values.uuid", old.UUID, new.UUID, U),
    ("values.string", old.STR16, new.STRING, "\u20ac"),
    ("values.binary", old.VBIN16, new.BINARY, b"\0"),
    ("values.void", old.VOID, new.NULL, None),
    ("values.integer", old.INT8, new.BYTE, -128),
    ("values.integer", old.INT16, new.SHORT, -129),
    ("values.integer", old.INT32, new.INT, -(2**31)),
    ("values.integer", old.INT64, new.LONG, -(2**63)),
    ("values.integer", old.UINT8, new.UBYTE, 255),
    ("values.integer", old.UINT16, new.USHORT, 65535),
    ("values.integer", old.UINT32, new.UINT, 2**32 - 1),
    ("values.integer", old.UINT64, new.ULONG, 2**64 - 1),
]


@row("values.boolean", TO_1_0, TO_0_10)
@row("values.float", TO_1_0, TO_0_10)
@row("values.uuid", TO_1_0, TO_0_10)
@row("values.string", TO_1_0, TO_0_10)
@row("values.binary", TO_1_0, TO_0_10)
@row("values.void", TO_1_0, TO_0_10)
@row("values.integer", TO_1_0, TO_0_10)
def values_that_both_have_are_exact() -> None:
    off = context(escrow=False)
    for _, code, other, item in VALUES_BOTH:
        payload, losses = sent_to_1_0(old_message(headers=[("a", Tagged(code, item))]), off)
        shown = repr(item) if isinstance(item, float) else item
        assert (prop(view_1_0(payload), "a"), losses) == ((other, shown), [])
        seen = Seen(new_message(to="q", application=[(s("a"), Tagged(other, item))]), off)
        assert (seen.headers["a"], seen.losses) == (Tagged(code, item), [])


def shown_in_1_0(code: int, item: Any) -> Any:
    return prop(in_1_0(old_message(headers=[("a", Tagged(code, item))])), "a")


def shown_in_0_10(code: int, item: Any) -> Tagged | None:
    return Seen(new_message(application=[(s("a"), Tagged(code, item))])).headers.get("a")


@row("values.bin", TO_1_0)
def fixed_octets_are_a_binary() -> None:
    assert shown_in_1_0(old.BIN40, b"12345") == (new.BINARY, b"12345")
    assert shown_in_1_0(0x03, b"1") == (new.BINARY, b"1")


@row("values.char", TO_1_0, TO_0_10)
def a_char_is_text_in_0_10() -> None:
    assert shown_in_1_0(old.CHAR, "\u20ac") == (new.CHAR, "\u20ac")
    assert shown_in_0_10(new.CHAR, "\U0001f600") == Tagged(old.STR16, "\U0001f600")


@row("values.datetime", TO_1_0, TO_0_10)
def a_datetime_is_a_timestamp() -> None:
    assert shown_in_1_0(old.DATETIME, 5) == (new.TIMESTAMP, 5000)
    assert shown_in_1_0(old.DATETIME, 1_700_000_000_001) == (new.TIMESTAMP, 1_700_000_000_001)
    assert shown_in_0_10(new.TIMESTAMP, 5001) == Tagged(old.DATETIME, 5)
    java = new_message(application=[(s("a"), Tagged(new.TIMESTAMP, 5001))])
    assert Seen(java, context(java=True)).headers["a"] == Tagged(old.DATETIME, 5001)


@row("values.charset", TO_1_0)
def other_charsets_are_decoded() -> None:
    assert shown_in_1_0(old.STR8_LATIN, "\u20ac") == (new.STRING, "\u20ac")
    assert shown_in_1_0(old.STR16_UTF16, "\U0001f600") == (new.STRING, "\U0001f600")
    assert shown_in_1_0(old.STR16_UTF16, b"\xd8\0") == (new.BINARY, b"\xd8\0")


@row("values.decimal", TO_1_0, TO_0_10)
def decimals_are_exact_in_1_0() -> None:
    # 1.25 as decimal64: coefficient 125, exponent -2, bias 398, binary integer encoding.
    bits = (398 - 2) << 53 | 125
    assert shown_in_1_0(old.DEC32, (2, 125)) == (new.DECIMAL64, bits.to_bytes(8, "big"))
    bits = 1 << 127 | 6176 << 113 | 2**63
    assert shown_in_1_0(old.DEC64, (0, -(2**63))) == (new.DECIMAL128, bits.to_bytes(16, "big"))
    assert shown_in_0_10(new.DECIMAL32, b"\0\0\0\0") is None


@row("values.compound", TO_1_0, TO_0_10)
def compounds_are_no_properties() -> None:
    assert shown_in_1_0(old.LIST, []) is None
    assert shown_in_1_0(old.STRUCT32, Struct32(1, b"")) is None
    assert shown_in_0_10(new.LIST, []) is None


@row("values.symbol", TO_0_10)
def a_symbol_is_text() -> None:
    assert shown_in_0_10(new.SYMBOL, "sym") == Tagged(old.STR16, "sym")


@row("values.described", TO_0_10)
def described_values_are_kept() -> None:
    assert shown_in_0_10(new.DESCRIBED, new.Described(sym("d"), s("v"))) is None


@row("headers.key", TO_0_10)
def odd_names_are_kept() -> None:
    pairs = [(s("k" * 256), s("v")), (Tagged(new.INT, 1), s("w"))]
    message = new_message(application=pairs)
    seen = Seen(message)
    assert list(seen.headers) == ["x-amqp-1.0"]
    again = in_1_0(message_0_10(seen.dp, seen.mp, seen.body))
    assert again["application"] == view_1_0(message.payload)["application"]


@loses("headers.key")
def a_long_name() -> Message:
    return new_message(to="q", application=[(s("k" * 256), s("v"))])


def _old_header(code: int, item: Any) -> Callable[[], Message]:
    return lambda: old_message(headers=[("a", Tagged(code, item))])


def _new_property(code: int, item: Any) -> Callable[[], Message]:
    return lambda: new_message(to="q", application=[(s("a"), Tagged(code, item))])


LOSSES["values.boolean"] = _old_header(old.BIT, True)
LOSSES["values.bin"] = _old_header(old.BIN8, b"1")
LOSSES["values.char"] = _new_property(new.CHAR, "c")
LOSSES["values.datetime"] = _new_property(new.TIMESTAMP, 1)
LOSSES["values.string"] = _new_property(new.STRING, "s" * 70_000)
LOSSES["values.charset"] = _old_header(old.STR8_LATIN, "l")
LOSSES["values.decimal"] = _new_property(new.DECIMAL32, b"1234")
LOSSES["values.compound"] = _old_header(old.ARRAY, Array(old.INT8, [1]))
LOSSES["values.symbol"] = _new_property(new.SYMBOL, "s")
LOSSES["values.described"] = _new_property(new.DESCRIBED, new.Described(sym("d"), s("v")))
