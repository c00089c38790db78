"""Messages of 1.0 that the gateway writes itself, from 0-10 (3.2)."""

import pytest
from support.rules import rule
from translate.cases import in_1_0, old_message

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10.encoding import write_map
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged


def encoded_map() -> bytes:
    writer = Writer()
    write_map(writer, [("n", Tagged(old.INT32, 1))])
    return writer.getvalue()


@rule("1.0", "3.2.4", "content-encoding-only-with-data")
@rule("1.0", "3.2.4", "content-type-only-with-data")
@pytest.mark.parametrize(
    ("content_type", "body", "told"),
    [
        ("amqp/map", encoded_map(), (None, None)),
        ("application/x-own", b"octets", ("application/x-own", "gzip")),
    ],
)
def test_content_type_and_encoding_are_told_beside_data_only(
    content_type: str, body: bytes, told: tuple[str | None, str | None]
) -> None:
    seen = in_1_0(old_message(body, content_type=content_type, content_encoding="gzip"))
    assert (seen["body"] == [body]) == (told[1] is not None)
    assert (seen["content_type"], seen["content_encoding"]) == told


@rule("1.0", "3.2.4", "identity-is-not-said")
@pytest.mark.parametrize("written", ["identity", "Identity"])
def test_a_body_that_is_not_encoded_has_no_content_encoding(written: str) -> None:
    assert in_1_0(old_message(b"octets", content_encoding=written))["content_encoding"] is None
