"""Octets of TLS that have not been opened yet, cut into pieces by what it costs to open them.

A record may have one octet of content: 23 on the wire, and as much work as one of 16 KiB. So each
has a price, and octets have another (`wire.work`). Until the handshake is over records are taken
one by one, each when it is whole, and its messages that are in clear are looked at: OpenSSL makes
room for as much as a message says that it will be, and a hello may say 128 KiB.

Afterwards a record of TLS 1.3 may bring new keys in the place of content (KeyUpdate): that is as
much work as ten records, and nothing of its outside says so. But what it held cannot be content.

RFC 8446, 5 (records), 4 (messages of the handshake), 4.6.3 (KeyUpdate); RFC 5246, 6.2.1 and 7.4.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from gateway.wire.work import OCTETS_OPENED, TLS_RECORD

HEAD: Final = 5  # octets: type, version, length
RECORD_MAX: Final = (1 << 14) + 2048  # of TLS 1.2, the larger one
CHANGE_CIPHER_SPEC: Final = 20
HANDSHAKE: Final = 22
APPLICATION_DATA: Final = 23
MAJOR: Final = 3
MESSAGE_HEAD: Final = 4  # octets: type, length
CLIENT_HELLO: Final = 1
SEALED: Final = 17  # octets of a record of TLS 1.3 beside its content: its type, and the seal
KEY_UPDATE_OCTETS: Final = 5  # the message, which has a record of its own, or ends one
HELLO_MAX: Final = 16 * 1024  # octets: what OpenSSL has for it in any case; most have 500 to 2,000


class Piece(NamedTuple):
    """Some records.

    Attributes:
        data: the records; the last may not be whole.
        units: what they cost, if all they hold is content.
        whole: how many of them are whole with this.
        content_most: octets that those have, at most, in TLS 1.3.
    """

    data: bytes
    units: int
    whole: int
    content_most: int

    def key_updates(self, content: int) -> int:
        """How many there are at most, if they had so much content."""
        return min(self.whole, max(0, self.content_most - content) // KEY_UPDATE_OCTETS)


@final
class Records:
    """What has come of one connection and is not opened."""

    __slots__ = ("_at", "_begun", "_data", "_next")

    def __init__(self) -> None:
        self._begun = -1  # octets that the record has of which the rest has not come
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
        self._begun = -1

    def piece(self, units: int) -> Piece:
        """Records until they cost `units`."""
        data = self._data
        came = len(data)
        following = self._next
        cost = whole = most = 0
        begun, self._begun = self._begun, -1
        while True:
            if begun >= 0:
                if following > came:
                    self._begun = begun
                    break
                whole += 1
                most += begun - SEALED
            if following + HEAD > came or cost >= units:
                break
            cost += TLS_RECORD
            begun = data[following + 3] << 8 | data[following + 4]
            following += HEAD + begun
        piece = self._take(min(following, came))
        self._next += following - min(following, came)
        return Piece(piece, cost + len(piece) // OCTETS_OPENED, whole, most)

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
