"""Octets of TLS that have not been opened yet, cut into pieces by what it costs to open them.

A record may have one octet of content: 23 on the wire, and as much work as one of 16 KiB. So each
has a price, and octets have another (`wire.work`). Until the handshake is over records are taken
one by one, each when it is whole, and its messages that are in clear are looked at: OpenSSL makes
room for as much as a message says that it will be, and a hello may say 128 KiB.

RFC 8446, 5.1 (records), 4 (messages of the handshake); RFC 5246, 6.2.1 and 7.4.
"""

from __future__ import annotations

from typing import Final, final

from gateway.wire.work import OCTETS_OPENED, TLS_RECORD

HEAD: Final = 5  # octets: type, version, length
RECORD_MAX: Final = (1 << 14) + 2048  # of TLS 1.2, the larger one
CHANGE_CIPHER_SPEC: Final = 20
HANDSHAKE: Final = 22
APPLICATION_DATA: Final = 23
MAJOR: Final = 3
MESSAGE_HEAD: Final = 4  # octets: type, length
CLIENT_HELLO: Final = 1
HELLO_MAX: Final = 16 * 1024  # octets: what OpenSSL has for it in any case; most have 500 to 2,000


@final
class Records:
    """What has come of one connection and is not opened."""

    __slots__ = ("_at", "_data", "_next")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0  # what is before it has been opened
        self._next = 0  # where the next record begins, which may not have come

    @property
    def octets(self) -> int:
        """How many there are."""
        return len(self._data) - self._at

    @property
    def ready(self) -> bool:
        """There is a piece: the rest of a record, or the head of one."""
        came = len(self._data)
        return self._at < min(self._next, came) or self._next + HEAD <= came

    def add(self, data: bytes) -> None:
        """These have come."""
        if self._at < len(self._data):
            data = self._data[self._at :] + data
        self._next -= self._at
        self._at = 0
        self._data = data

    def clear(self) -> None:
        """Nobody wants them."""
        self._data = b""
        self._at = self._next = 0

    def piece(self, units: int) -> tuple[bytes, int]:
        """Records until they cost `units`, the last may not be whole; and what they cost."""
        data = self._data
        came = len(data)
        following = self._next
        cost = 0
        while following + HEAD <= came and cost < units:
            cost += TLS_RECORD
            following += HEAD + (data[following + 3] << 8 | data[following + 4])
        piece = self._take(min(following, came))
        self._next += following - min(following, came)
        return piece, cost + len(piece) // OCTETS_OPENED

    @property
    def has_whole(self) -> bool:
        """There is a record that is whole, or something that is none."""
        return 0 < self._end() <= len(self._data)

    def whole(self) -> bytes:
        """The next record, which is whole; all there is where that is none."""
        return self._take(self._end())

    def _end(self) -> int:
        """Where the next record ends; 0: its head has not come."""
        data, at = self._data, self._at
        if at + HEAD > len(data):
            return 0
        length = data[at + 3] << 8 | data[at + 4]
        if not is_record(data[at : at + HEAD]) or length > RECORD_MAX:
            return len(data)
        return at + HEAD + length

    def _take(self, end: int) -> bytes:
        """All before `end`, where the next record begins."""
        data = self._data
        if end < len(data):
            taken = data[self._at : end]
            self._at = self._next = end
            return taken
        taken = data[self._at :] if self._at else data
        self._data = b""
        self._at = self._next = 0
        return taken


def is_record(head: bytes) -> bool:
    """Whether that is the head of one, of a type that a handshake has."""
    return CHANGE_CIPHER_SPEC <= head[0] <= APPLICATION_DATA and head[1] == MAJOR


@final
class ClearMessages:
    """The messages of a handshake that are in clear.

    Args:
        octets_max: of each; a hello has at most `HELLO_MAX`.
    """

    __slots__ = ("_head", "_left", "_octets_max")

    def __init__(self, octets_max: int) -> None:
        self._octets_max = octets_max
        self._head = b""
        self._left = 0  # octets of the message under way

    def too_large(self, record: bytes) -> bool:
        """Whether a message that begins in a record says that it will be too large."""
        at, end = HEAD, len(record)
        while at < end:
            if self._left:
                passed = min(self._left, end - at)
                self._left -= passed
                at += passed
                continue
            more = record[at : at + MESSAGE_HEAD - len(self._head)]
            self._head += more
            at += len(more)
            if len(self._head) < MESSAGE_HEAD:
                return False
            self._left = int.from_bytes(self._head[1:])
            hello = self._head[0] == CLIENT_HELLO
            self._head = b""
            if self._left > (HELLO_MAX if hello else self._octets_max):
                return True
        return False
