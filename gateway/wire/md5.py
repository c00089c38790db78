"""MD5 (RFC 1321) that goes on from a state, as an HMAC needs that is kept without its key.

A state is what the digest of whole blocks comes to: sixteen octets. The keys of CRAM-MD5 are kept
as the two states of an HMAC behind its first block (RFC 2104, 4), from which the password cannot be
computed; `hashlib` begins at the beginning only.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Final

BLOCK: Final = 64
STATE: Final = 16
_WORD: Final = 0xFFFFFFFF
_BEGIN: Final = struct.pack("<4I", 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_SINES: Final = [int(abs(math.sin(step + 1)) * 2**32) for step in range(BLOCK)]
_TURNS: Final = [
    turns[step % 4]
    for turns in ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
    for step in range(16)
]
_INNER: Final = 0x36
_OUTER: Final = 0x5C


def hmac_states(key: bytes) -> bytes:
    """The states of an HMAC with that key behind its inner and its outer block."""
    short = hashlib.md5(key, usedforsecurity=False).digest() if len(key) > BLOCK else key
    whole = short.ljust(BLOCK, b"\0")
    inner, outer = (bytes([each ^ pad for each in whole]) for pad in (_INNER, _OUTER))
    return _blocks(_BEGIN, inner) + _blocks(_BEGIN, outer)


def hmac_of(states: bytes, message: bytes) -> bytes:
    """The HMAC of a message, by what `hmac_states` has made of the key."""
    return _ended(states[STATE:], _ended(states[:STATE], message))


def _ended(state: bytes, message: bytes) -> bytes:
    """The digest of one block, of which `state` is, and the message behind it."""
    octets = BLOCK + len(message)
    padding = b"\x80" + bytes((BLOCK - 9 - len(message)) % BLOCK)
    return _blocks(state, message + padding + struct.pack("<Q", 8 * octets))


def _blocks(state: bytes, octets: bytes) -> bytes:
    """RFC 1321, 3.4, over whole blocks."""
    for start in range(0, len(octets), BLOCK):
        state = _block(state, octets[start : start + BLOCK])
    return state


def _block(state: bytes, block: bytes) -> bytes:
    words = struct.unpack("<16I", block)
    first, second, third, fourth = struct.unpack("<4I", state)
    a: int = first
    b: int = second
    c: int = third
    d: int = fourth
    for step in range(BLOCK):
        if step < 16:
            mixed, at = (b & c) | (~b & d), step
        elif step < 32:
            mixed, at = (d & b) | (~d & c), (5 * step + 1) % 16
        elif step < 48:
            mixed, at = b ^ c ^ d, (3 * step + 5) % 16
        else:
            mixed, at = c ^ (b | (~d & _WORD)), (7 * step) % 16
        turned = (a + mixed + _SINES[step] + words[at]) & _WORD
        turns = _TURNS[step]
        a, d, c = d, c, b
        b = (b + ((turned << turns) | (turned >> (32 - turns)))) & _WORD
    return struct.pack(
        "<4I", (first + a) & _WORD, (second + b) & _WORD, (third + c) & _WORD, (fourth + d) & _WORD
    )
