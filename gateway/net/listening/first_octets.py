"""What the first eight octets of a connection ask for.

0-10: version 0-10 specification, 4.3.2 (an unsupported version is answered with a supported header
and the connection is closed). 1.0: part 2, 2.2 and part 5, 5.2.1 and 5.3.2. A client that speaks
HTTP is told so in HTTP.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

HEADER_OCTETS: Final = 8
HEADER_0_10: Final = b"AMQP\x01\x01\x00\x0a"
HEADER_1_0: Final = b"AMQP\x00\x01\x00\x00"
HEADER_1_0_TLS: Final = b"AMQP\x02\x01\x00\x00"
HEADER_1_0_SASL: Final = b"AMQP\x03\x01\x00\x00"


HTTP_METHODS: Final = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS ", b"CONNECT ")
HTTP_TOLD: Final = (
    b"This is the AMQP port of an AMQP gateway, which does not speak HTTP. Metrics and health are"
    b" on its admin port.\n"
)
HTTP_HEAD: Final = (
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    b"Content-Length: %d\r\n\r\n" % len(HTTP_TOLD)
)
HTTP_ANSWER: Final = HTTP_HEAD + HTTP_TOLD


class Ask(IntEnum):
    """What to do with a connection whose header was read."""

    SERVE_0_10 = 0
    SERVE_1_0 = 1
    START_TLS = 2
    REFUSE = 3


def choose(header: bytes, *, tls_possible: bool, anonymous_allowed: bool) -> tuple[Ask, bytes]:
    """What the header asks for; for `REFUSE`, what to answer before closing: a header, mostly."""
    if header == HEADER_0_10:
        return Ask.SERVE_0_10, b""
    if header == HEADER_1_0_SASL or (header == HEADER_1_0 and anonymous_allowed):
        return Ask.SERVE_1_0, b""
    if header == HEADER_1_0_TLS and tls_possible:
        return Ask.START_TLS, b""
    if header.startswith(HTTP_METHODS):
        return Ask.REFUSE, HTTP_HEAD if header.startswith(b"HEAD ") else HTTP_ANSWER
    if header[:6] == HEADER_0_10[:6]:
        return Ask.REFUSE, HEADER_0_10
    return Ask.REFUSE, HEADER_1_0 if anonymous_allowed else HEADER_1_0_SASL
