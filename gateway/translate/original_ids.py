"""The message-id that a message's first publisher gave it, as both ends of the gateway name it.

Its digest is of one form, an encoded value of 1.0, whichever protocol it came or leaves by: so one
message has one digest in the audit logs of all gateways that it crosses. An id that 0-10 has no
type for goes there as a uuid with the id in escrow; where that is lost, the uuid is all there is.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64 as int64

from gateway.amqp_0_10.decoding import read_map
from gateway.amqp_1_0 import types
from gateway.audit.digests import digest
from gateway.errors import DecodeError
from gateway.translate.escrow import HEADER, digest_octets, open_escrow
from gateway.translate.ids import ID_CODES
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

PATH: Final = "properties.message-id"  # of the escrow
NO_ID: Final = 0
ESCROW_MAX: Final = 65_535
DEPTH_MAX: Final = 32
_UUID: Final = bytes((types.UUID,))
_HEADER: Final = HEADER.encode()


def digest_of(message_id: Tagged | None) -> int64:
    """That of a 1.0 message-id; `NO_ID` if there is none."""
    return NO_ID if message_id is None else digest(types.to_bytes(message_id))


def digest_of_uuid(uuid: bytes | None) -> int64:
    """That of a 0-10 message-id by itself."""
    return NO_ID if uuid is None else digest(_UUID + uuid)


def digest_in(headers: Reader, uuid: bytes | None) -> int64:
    """That of a 0-10 message-id, given the application headers, encoded: they may have escrow.

    Headers that do not decode have none, as for whoever translates them.
    """
    start: int = headers.pos
    if headers.buf.find(_HEADER, start, headers.end) < 0:
        return digest_of_uuid(uuid)
    try:
        entry = None
        for name, value in read_map(headers, DEPTH_MAX):
            if name == HEADER:
                text = value.value
                found = open_escrow(text, ESCROW_MAX, DEPTH_MAX) if isinstance(text, str) else None
                entry = None if found is None else found.entries.get(PATH)
    except DecodeError:
        return digest_of_uuid(uuid)
    if entry is None or entry.visible != digest_octets(uuid):
        return digest_of_uuid(uuid)
    if not entry.present:
        return NO_ID
    return digest_of(entry.value) if entry.value.code in ID_CODES else digest_of_uuid(uuid)
