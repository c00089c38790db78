"""What messages and queues are compared by: digests of octets, checksums of copies. Compiled."""

from __future__ import annotations

from typing import Final

from librt.strings import read_i64_be
from mypy_extensions import i64 as int64
from xxhash import xxh3_64_digest

from gateway.audit.shares import SHARES

COPIED_MAX: Final = 64 * 1024
_DIGEST: Final = xxh3_64_digest  # compiled code looks for what is imported in a dict each time
_LOW: Final = 0x7FFF_FFFF
_SHARE: Final = 0xFFFF_FFFF
_K1: Final = 0x5851_F42D
_K2: Final = 0x4C95_7F2D
_K3: Final = 0x6A09_E667


def digest(octets: bytes) -> int64:
    """xxh3-64 as a signed number, the form that messages and records carry."""
    return read_i64_be(_DIGEST(octets), 0)


def digest_part(octets: bytes, start: int, end: int) -> int64:
    """The digest of `octets[start:end]`, which are not copied where they are many, or all."""
    if start == 0 and end == len(octets):
        return read_i64_be(_DIGEST(octets), 0)
    if end - start > COPIED_MAX:
        return read_i64_be(_DIGEST(memoryview(octets)[start:end]), 0)
    return read_i64_be(_DIGEST(octets[start:end]), 0)


def is_in_share(id_digest: int64, share: int64) -> bool:
    """Whether a message is in a share: by its id, so that whoever knows that says the same.

    Without an id it is in that of all alone.
    """
    if share >= SHARES:
        return True
    return id_digest != 0 and (id_digest & _SHARE) < share


def entry_mix(message: int64, position: int64) -> int64:
    """A copy's share of its queue's checksum: order-free under XOR, below 2**62.

    Products stay within 62 bits, so that compiled code, plain Python and 64-bit columns agree.
    """
    mixed: int64 = ((message & _LOW) * _K1) ^ ((((message >> 31) ^ position) & _LOW) * _K2)
    mixed ^= mixed >> 31
    return ((mixed & _LOW) * _K3) ^ (mixed >> 16)
