"""An application's message-id as the digest that the audit log has of it.

That is of the id as an encoded value of AMQP 1.0 (`translate.original_ids`), which the jobs cannot
import: a cluster is given plain Python. `xxhash` is what a worker needs besides for this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final
from uuid import UUID

ULONG_MAX: Final = (1 << 64) - 1
ULONG_DIGITS: Final = 20
PREFIX: Final = "ID:"  # with which JMS shows what is no string of the application's
_SHORT_MAX: Final = 255  # octets, of the short form of an encoded value
_UUID: Final = b"\x98"
_STRINGS: Final = (b"\xa1", b"\xb1")  # constructors: short, long
_BINARIES: Final = (b"\xa0", b"\xb0")
_ULONG_0: Final = b"\x44"
_SMALL_ULONG: Final = b"\x53"
_ULONG: Final = b"\x80"


def encoded(id_type: str, text: str | None, octets: bytes | None = None) -> bytes | None:
    """An id of a ledger as a value of AMQP 1.0; `None`: it is no id of that type.

    `text`: as it stands there, a uuid and a ulong with `ID:` in front or not, a binary in hex
    digits; `octets`: of a column of octets.
    """
    try:
        if id_type == "string":
            return _variable(_STRINGS, octets if text is None else text.encode())
        if id_type == "binary":
            return _variable(_BINARIES, octets if text is None else bytes.fromhex(text))
        bare = (text or "").removeprefix(PREFIX)
        if id_type == "uuid":
            return _UUID + (UUID(bare).bytes if octets is None else UUID(bytes=octets).bytes)
        return _ulong(bare) if id_type == "ulong" else None
    except ValueError:
        return None


def _variable(constructors: tuple[bytes, bytes], octets: bytes | None) -> bytes | None:
    if octets is None:
        return None
    if len(octets) <= _SHORT_MAX:
        return constructors[0] + bytes((len(octets),)) + octets
    return constructors[1] + len(octets).to_bytes(4, "big") + octets


def _ulong(text: str) -> bytes | None:
    if not (text.isascii() and text.isdecimal() and len(text) <= ULONG_DIGITS):
        return None
    value = int(text)
    if value > ULONG_MAX:
        return None
    if value == 0:
        return _ULONG_0
    if value <= _SHORT_MAX:
        return _SMALL_ULONG + bytes((value,))
    return _ULONG + value.to_bytes(8, "big")


@cache
def _xxh3() -> Callable[[bytes], bytes]:
    from xxhash import xxh3_64_digest  # of the driver and workers that read a ledger, no others

    return xxh3_64_digest


def digest_of(octets: bytes) -> int:
    """As a record of the log has it."""
    return int.from_bytes(_xxh3()(octets), "big", signed=True)


def digest_in(id_type: str, text: str | None, octets: bytes | None) -> int | None:
    """Of what stands in a line of a ledger: 0 where there is no id, `None` where it is none."""
    if not text and not octets:
        return 0
    value = encoded(id_type, text, octets)
    return None if value is None else digest_of(value)
