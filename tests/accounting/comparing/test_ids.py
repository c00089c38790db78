"""Message-ids of ledgers, held against the digest that the gateway makes of them."""

from uuid import UUID

import pytest

from gateway.accounting.comparing.ids import digest_in
from gateway.amqp_1_0 import types
from gateway.translate.original_ids import digest_of, digest_of_uuid
from gateway.wire.tagged import Tagged

TEXT = "8c79d4bf-09b3-350a-9cd3-127a4be2ac36"


@pytest.mark.parametrize("text", ["order-17", "Grüße", "ID:a", "x" * 255, "x" * 256, "x" * 70_000])
def test_a_string_has_the_digest_that_the_log_has(text):
    assert digest_in("string", text, None) == digest_of(Tagged(types.STRING, text))
    assert digest_in("string", None, text.encode()) == digest_of(Tagged(types.STRING, text))


@pytest.mark.parametrize("value", [0, 1, 255, 256, 1 << 63, (1 << 64) - 1])
def test_so_has_a_ulong(value):
    wanted = digest_of(Tagged(types.ULONG, value))
    assert digest_in("ulong", str(value), None) == wanted
    assert digest_in("ulong", f"ID:{value}", None) == wanted


def test_so_has_a_uuid_of_either_protocol():
    wanted = digest_of(Tagged(types.UUID, UUID(TEXT).bytes))
    assert digest_of_uuid(UUID(TEXT).bytes) == wanted
    for text in (TEXT, TEXT.upper(), f"ID:{TEXT}"):
        assert digest_in("uuid", text, None) == wanted
    assert digest_in("uuid", None, UUID(TEXT).bytes) == wanted


@pytest.mark.parametrize("octets", [b"\0\xff", b"x" * 300])
def test_so_has_a_binary(octets):
    wanted = digest_of(Tagged(types.BINARY, octets))
    assert digest_in("binary", None, octets) == digest_in("binary", octets.hex(), None) == wanted


def test_a_line_without_an_id_has_none():
    assert digest_in("string", None, None) == digest_in("uuid", "", None) == 0


@pytest.mark.parametrize(
    ("id_type", "text", "octets"),
    [
        ("uuid", "order-17", None),
        ("uuid", None, b"short"),
        ("ulong", "-1", None),
        ("ulong", "1" * 21, None),
        ("ulong", str(1 << 64), None),
        ("ulong", "²", None),
        ("ulong", None, b"1"),
        ("binary", "xyz", None),
        ("int", "1", None),
        ("string", "\ud800", None),
    ],
)
def test_what_is_no_id_of_its_type_is_told_as_that(id_type, text, octets):
    assert digest_in(id_type, text, octets) is None
