"""Addresses that a rule about connections is for: one, a network, or a range of them.

As numbers, IPv4 and IPv6 apart. An IPv4 address that came as an IPv6 one is the former.
"""

from __future__ import annotations

import ipaddress
from typing import Final, final

LOCALHOST: Final = ("127.0.0.1", "::1")


@final
class Hosts:
    """From the first address to the last."""

    __slots__ = ("first", "last", "version")

    def __init__(self, version: int, first: int, last: int) -> None:
        self.version = version
        self.first = first
        self.last = last


def number_of(address: str) -> tuple[int, int]:
    """Its version and its number; version 0: that is no address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return 0, 0
    if found.version == 6:
        mapped = found.ipv4_mapped
        if mapped is not None:
            return 4, int(mapped)
    return found.version, int(found)


def network(text: str) -> Hosts | None:
    """One address, or a network in the form 10.0.0.0/8; `None`: it is neither."""
    try:
        found = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    return Hosts(found.version, int(found.network_address), int(found.broadcast_address))


def hosts_of(text: str) -> list[Hosts] | None:
    """As qpidd has them: an address, or two with a comma between; `None`: a name, or no range."""
    if text == "localhost":
        return [one for address in LOCALHOST if (one := network(address)) is not None]
    first, comma, last = text.partition(",")
    version, low = number_of(first)
    other, high = number_of(last) if comma else (version, low)
    if version == 0 or version != other or low > high:
        return None
    return [Hosts(version, low, high)]


def among(hosts: list[Hosts], version: int, number: int) -> bool:
    """Whether an address, as its version and number, is one of them."""
    return any([each.version == version and each.first <= number <= each.last for each in hosts])


@final
class Numbered:
    """The address that was asked about last, as a number: to read one takes longer than a rule."""

    __slots__ = ("_address", "number", "version")

    def __init__(self) -> None:
        self._address = ""
        self.version = 0
        self.number = 0

    def read(self, address: str) -> None:
        """From now on it is this one."""
        if address != self._address:
            self._address = address
            self.version, self.number = number_of(address)
