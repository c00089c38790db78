"""Message and correlation ids: 0-10 has a uuid and octets, 1.0 a uuid, ulong, binary or string.

A uuid of another id is name-based (version 5, RFC 9562) in the gateway's own namespace, so that
every gateway makes the same one.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Final, cast

from gateway.amqp_1_0 import types
from gateway.errors import DecodeError
from gateway.wire.tagged import Tagged

NAMESPACE: Final = bytes.fromhex("c0a0010f4d5a4e0b9d6f0a100a100001")
ID_CODES: Final = frozenset((types.UUID, types.STRING, types.BINARY, types.ULONG))
PREFIX: Final = "ID:"


def uuid_from_text(text: str) -> bytes | None:
    """The uuid that a text spells, with or without "ID:" before it; `None` if it spells none."""
    digits = text[3:] if text.startswith(PREFIX) else text
    if len(digits) != 36 or digits.count("-") != 4:
        return None
    if digits[8] != "-" or digits[13] != "-" or digits[18] != "-" or digits[23] != "-":
        return None
    try:
        uuid = bytes.fromhex(digits.replace("-", ""))
    except ValueError:
        return None
    return uuid if len(uuid) == 16 else None


def text_of_uuid(uuid: bytes) -> str:
    """The canonical spelling of a uuid."""
    digits = uuid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def uuid_of(message_id: Tagged) -> bytes:
    """The 0-10 message-id of a 1.0 one."""
    if message_id.code == types.UUID:
        return cast(bytes, message_id.value)
    if message_id.code == types.STRING:
        spelt = uuid_from_text(cast(str, message_id.value))
        if spelt is not None:
            return spelt
    named = bytearray(sha1(NAMESPACE + types.to_bytes(message_id)).digest()[:16])
    named[6] = named[6] & 0x0F | 0x50
    named[8] = named[8] & 0x3F | 0x80
    return bytes(named)


def is_name_based(uuid: bytes) -> bool:
    """Whether a uuid is one of version 5, as those that `uuid_of` makes."""
    return uuid[6] >> 4 == 5 and uuid[8] >> 6 == 2


def uuid_in(correlation_id: bytes) -> bytes | None:
    """The uuid that a 0-10 correlation-id is, raw or spelt; `None` if it is none."""
    size = len(correlation_id)
    if size == 16:
        return correlation_id
    if size != 36 and size != 39:
        return None
    try:
        return uuid_from_text(correlation_id.decode("ascii"))
    except UnicodeDecodeError:
        return None


def octets_of(correlation_id: Tagged) -> bytes:
    """The 0-10 correlation-id of a 1.0 one."""
    code = correlation_id.code
    if code == types.STRING:
        return cast(str, correlation_id.value).encode("utf-8")
    if code == types.ULONG:
        return b"%d" % cast(int, correlation_id.value)
    if code == types.UUID:
        return text_of_uuid(cast(bytes, correlation_id.value)).encode("ascii")
    return cast(bytes, correlation_id.value)


def text_or_octets(octets: bytes) -> Tagged:
    """A string where the octets are UTF-8, else a binary: what 1.0 makes of 0-10 octets."""
    try:
        return Tagged(types.STRING, octets.decode("utf-8"))
    except UnicodeDecodeError:
        return Tagged(types.BINARY, octets)


def decode_id(octets: bytes) -> Tagged | None:
    """A message-id as the reply table keeps it."""
    try:
        value = types.from_bytes(octets)
    except DecodeError:
        return None
    return value if value.code in ID_CODES else None
