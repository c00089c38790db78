"""Which header asks for what, and what the others are answered."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from support.rules import rule

from gateway.net.listening.first_octets import HTTP_ANSWER, HTTP_HEAD, HTTP_METHODS, Ask, choose

A = b"AMQP"


@rule("1.0", "2.2", "unsupported-version-gets-a-supported-one")
@rule("1.0", "2.2", "unreadable-header-gets-a-supported-one")
@pytest.mark.parametrize(
    ("header", "ask", "answer"),
    [
        (A + bytes([1, 1, 0, 10]), Ask.SERVE_0_10, b""),
        (A + bytes([0, 1, 0, 0]), Ask.SERVE_1_0, b""),
        (A + bytes([3, 1, 0, 0]), Ask.SERVE_1_0, b""),
        (A + bytes([2, 1, 0, 0]), Ask.START_TLS, b""),
        (A + bytes([1, 1, 0, 9]), Ask.REFUSE, A + bytes([1, 1, 0, 10])),
        (A + bytes([1, 1, 8, 0]), Ask.REFUSE, A + bytes([1, 1, 0, 10])),
        (A + bytes([0, 0, 9, 1]), Ask.REFUSE, A + bytes([0, 1, 0, 0])),
        (A + bytes([0, 1, 1, 0]), Ask.REFUSE, A + bytes([0, 1, 0, 0])),
        (b"GETHTTP/", Ask.REFUSE, A + bytes([0, 1, 0, 0])),
        (b"GET / HT", Ask.REFUSE, HTTP_ANSWER),
        (b"OPTIONS ", Ask.REFUSE, HTTP_ANSWER),
        (b"HEAD / H", Ask.REFUSE, HTTP_ANSWER.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"),
    ],
)
def test_an_open_door(header: bytes, ask: Ask, answer: bytes) -> None:
    assert choose(header, tls_possible=True, anonymous_allowed=True) == (ask, answer)


@rule("1.0", "2.2", "unacceptable-protocol-id-gets-an-acceptable-one")
def test_where_authentication_is_required_unknown_and_plain_1_0_are_pointed_to_sasl() -> None:
    sasl = A + bytes([3, 1, 0, 0])
    for header in (A + bytes([0, 1, 0, 0]), b"\x16\x03\x01\x02\x00\x01\x00\x01"):
        got = choose(header, tls_possible=True, anonymous_allowed=False)
        assert got == (Ask.REFUSE, sasl)
    assert choose(sasl, tls_possible=True, anonymous_allowed=False) == (Ask.SERVE_1_0, b"")


def test_tls_where_there_is_none_is_an_unknown_header() -> None:
    tls = A + bytes([2, 1, 0, 0])
    assert choose(tls, tls_possible=False, anonymous_allowed=True)[0] is Ask.REFUSE


@given(st.binary(min_size=8, max_size=8), st.booleans(), st.booleans())
def test_a_refusal_answers_a_header_that_would_be_served(
    header: bytes, tls: bool, anonymous: bool
) -> None:
    ask, answer = choose(header, tls_possible=tls, anonymous_allowed=anonymous)
    if header.startswith(HTTP_METHODS):
        whole = HTTP_HEAD if header.startswith(b"HEAD ") else HTTP_ANSWER
        assert (ask, answer) == (Ask.REFUSE, whole)
    elif ask is Ask.REFUSE:
        again, _ = choose(answer, tls_possible=tls, anonymous_allowed=anonymous)
        assert again in (Ask.SERVE_0_10, Ask.SERVE_1_0)
    else:
        assert answer == b""
