"""Keys by which copies belong together: a header's value as text."""

from __future__ import annotations

from uuid import UUID

from gateway.message import Message


def key_of(message: Message, header: str) -> str:
    """As qpidd has it: 1 and "1" are the same.

    What is no text, whole number, octets or uuid, or is not there, is "".
    """
    found = message.header(header)
    value = None if found is None else found.value
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return "" if isinstance(value, bool) or not isinstance(value, (str, int)) else str(value)
