"""The header by which a load balancer tells whose connection it passes on (PROXY protocol, 2).

Source: "The PROXY protocol, versions 1 & 2" (HAProxy), 2.2. A listener that is configured for it
takes nothing without one; one that is not never looks for it, since whoever connects could lie.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

from gateway.errors import DecodeError

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
FIXED_OCTETS: Final = 16
MAPPED: Final = "::ffff:"
OCTETS_MAX: Final = 4096  # of a header with its extensions (TLVs), which are passed over

_VERSION_2: Final = 0x20
_LOCAL: Final = 0
_PROXY: Final = 1
_UNSPECIFIED: Final = 0x00
# Octets of an address, by the octet that says family and transport; no others are taken.
_ADDRESS_OCTETS: Final = {0x11: 4, 0x21: 16}


@dataclass(frozen=True, slots=True)
class ProxyHeader:
    """One header.

    Attributes:
        address: the client's; "" where it is the proxy's own connection (LOCAL, or unspecified).
        port: the client's, or 0.
        octets: how long the header is.
    """

    address: str
    port: int
    octets: int


def shown(address: str) -> str:
    """An address as people and rules know it: IPv4 that came as IPv6 is IPv4."""
    if not address.startswith(MAPPED):
        return address
    mapped = ipaddress.IPv6Address(address).ipv4_mapped
    return address if mapped is None else str(mapped)


def read_proxy_header(data: bytes) -> ProxyHeader | None:
    """The header at the beginning of `data`; `None`: more octets are needed.

    Raises:
        DecodeError: this is none, or none that is taken.
    """
    if data[: len(SIGNATURE)] != SIGNATURE[: len(data)]:
        raise DecodeError("no PROXY protocol header")
    if len(data) < FIXED_OCTETS:
        return None
    octets = FIXED_OCTETS + int.from_bytes(data[14:16], "big")
    command = data[12] - _VERSION_2
    if command not in (_LOCAL, _PROXY):
        raise DecodeError(f"version and command 0x{data[12]:02x}")
    if octets > OCTETS_MAX:
        raise DecodeError(f"a header of {octets} octets")
    if len(data) < octets:
        return None
    family = data[13]
    if command == _LOCAL or family == _UNSPECIFIED:
        return ProxyHeader("", 0, octets)
    size = _ADDRESS_OCTETS.get(family)
    if size is None:
        raise DecodeError(f"address family and transport 0x{family:02x}")
    if octets < FIXED_OCTETS + 2 * size + 4:
        raise DecodeError("a header without room for its addresses")
    at = FIXED_OCTETS + 2 * size
    address = shown(str(ipaddress.ip_address(data[FIXED_OCTETS : FIXED_OCTETS + size])))
    return ProxyHeader(address, int.from_bytes(data[at : at + 2], "big"), octets)
