"""Keys by which copies belong together: a header's value as text, or what stands for a long one."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final
from uuid import UUID

from gateway.message import Message

LONG: Final = 64  # characters: a longer key is its digest, as keys outlive the message's octets


def key_of(message: Message, header: str) -> str:
    """As qpidd has it: 1 and "1" are the same, and so are text and its octets.

    What is no text, whole number, octets or uuid, or is not there, is "".
    """
    key = _text_of(message, header)
    if len(key) <= LONG:
        return key
    octets = key.encode("utf-8", "surrogatepass")
    return "\0" + blake2b(octets, digest_size=LONG // 2).hexdigest()


def _text_of(message: Message, header: str) -> str:
    found = message.header(header)
    value = None if found is None else found.value
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(value, bytes):
        return _text_of_octets(value)
    return "" if isinstance(value, bool) or not isinstance(value, (str, int)) else str(value)


def _text_of_octets(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return "\0" + octets.decode("latin-1")  # no text's
