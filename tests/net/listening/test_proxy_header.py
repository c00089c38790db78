"""PROXY protocol, version 2: whose connection a load balancer passes on."""

import contextlib
import ipaddress

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gateway.errors import DecodeError
from gateway.net.listening.proxy_header import (
    OCTETS_MAX,
    SIGNATURE,
    ProxyHeader,
    read_proxy_header,
    shown,
)

PORTS = (4711).to_bytes(2, "big") + (5672).to_bytes(2, "big")
TCP4, TCP6, UDP4, UNIX = 0x11, 0x21, 0x12, 0x31
LOCAL, PROXY = 0x20, 0x21


def header(command: int, family: int, rest: bytes) -> bytes:
    return SIGNATURE + bytes((command, family)) + len(rest).to_bytes(2, "big") + rest


def tcp4(address: str, extensions: bytes = b"") -> bytes:
    packed = ipaddress.ip_address(address).packed + bytes((10, 0, 0, 1)) + PORTS
    return header(PROXY, TCP4, packed + extensions)


def test_the_address_is_the_source_of_tcp4_and_of_tcp6() -> None:
    assert read_proxy_header(tcp4("192.0.2.7")) == ProxyHeader("192.0.2.7", 4711, 28)
    source = ipaddress.ip_address("2001:db8::7").packed
    six = header(PROXY, TCP6, source + bytes(16) + (40000).to_bytes(2, "big") + bytes(2))
    assert read_proxy_header(six) == ProxyHeader("2001:db8::7", 40000, 52)


def test_ipv4_that_came_as_ipv6_is_ipv4() -> None:
    source = ipaddress.ip_address("::ffff:192.0.2.7").packed
    read = read_proxy_header(header(PROXY, TCP6, source + bytes(16) + PORTS))
    assert read == ProxyHeader("192.0.2.7", 4711, 52)
    assert [shown(each) for each in ("::ffff:10.0.0.1", "10.0.0.1", "::1", "unknown")] == [
        "10.0.0.1",
        "10.0.0.1",
        "::1",
        "unknown",
    ]


def test_extensions_are_passed_over() -> None:
    read = read_proxy_header(tcp4("192.0.2.7", b"\x04\x00\x03abc") + b"AMQP")
    assert read == ProxyHeader("192.0.2.7", 4711, 34)


@pytest.mark.parametrize("octets", [header(LOCAL, 0, b""), header(LOCAL, TCP4, bytes(12))])
def test_a_connection_of_the_proxy_itself_has_no_other_address(octets: bytes) -> None:
    assert read_proxy_header(octets) == ProxyHeader("", 0, len(octets))


def test_an_unspecified_family_is_the_proxys_address() -> None:
    assert read_proxy_header(header(PROXY, 0, b"")) == ProxyHeader("", 0, 16)


@given(st.integers(0, 27))
def test_part_of_a_header_needs_more(cut: int) -> None:
    assert read_proxy_header(tcp4("192.0.2.7")[:cut]) is None


@pytest.mark.parametrize(
    "octets",
    [
        b"AMQP\x01\x01\x00\x0a",
        b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n",
        header(0x11, TCP4, bytes(12)),
        header(0x22, TCP4, bytes(12)),
        header(PROXY, UDP4, bytes(12)),
        header(PROXY, UNIX, bytes(216)),
        header(PROXY, TCP4, bytes(11)),
        header(PROXY, TCP6, bytes(35)),
        header(PROXY, TCP4, bytes(OCTETS_MAX))[:16],
    ],
)
def test_anything_else_is_refused(octets: bytes) -> None:
    with pytest.raises(DecodeError):
        read_proxy_header(octets)


@given(st.binary(max_size=64))
def test_no_octets_break_it(octets: bytes) -> None:
    with contextlib.suppress(DecodeError):
        read_proxy_header(SIGNATURE + octets)
