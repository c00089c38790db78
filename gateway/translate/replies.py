"""The reply table of a virtual host: the uuid that a 0-10 client was shown -> the request's own id.

A 0-10 message-id is a uuid and a 0-10 responder answers with correlation-id = that uuid; a 1.0
requester waits for the id that it gave. Written when a request is delivered to a 0-10 client.
Bounded by number and by age. Entries are plain octets, so that the durable store can keep them:
`take_new` hands over what came since the last call, `restore` puts them back at start.
"""

from __future__ import annotations

from typing import Final, final

ENTRIES_MAX: Final = 100_000
AGE_MAX_MS: Final = 24 * 3600 * 1000


@final
class ReplyTable:
    """uuid (16 octets) -> the encoded AMQP 1.0 message-id, oldest first."""

    __slots__ = ("_age_max_ms", "_entries", "_entries_max", "_keep_new", "_new", "evicted")

    def __init__(
        self,
        *,
        entries_max: int = ENTRIES_MAX,
        age_max_ms: int = AGE_MAX_MS,
        keep_new: bool = False,
    ) -> None:
        self._entries: dict[bytes, tuple[int, bytes]] = {}
        self._entries_max = entries_max
        self._age_max_ms = age_max_ms
        self._keep_new = keep_new
        self._new: list[tuple[bytes, int, bytes]] = []
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._entries)

    def remember(self, uuid: bytes, message_id: bytes, now_ms: int, durable: bool = False) -> None:
        """Note the id behind a uuid; the oldest entries make room."""
        if uuid in self._entries:
            del self._entries[uuid]
        self._entries[uuid] = (now_ms, message_id)
        if durable and self._keep_new:
            self._new.append((uuid, now_ms, message_id))
        self._trim(now_ms)

    def _trim(self, now_ms: int) -> None:
        while self._entries:
            oldest = next(iter(self._entries))
            too_many = len(self._entries) > self._entries_max
            if not too_many and now_ms - self._entries[oldest][0] <= self._age_max_ms:
                return
            del self._entries[oldest]
            self.evicted += 1

    def find(self, uuid: bytes, now_ms: int) -> bytes | None:
        """The encoded message-id behind a uuid; `None` if it is not known, or no longer."""
        entry = self._entries.get(uuid)
        if entry is None or now_ms - entry[0] > self._age_max_ms:
            return None
        return entry[1]

    def take_new(self) -> list[tuple[bytes, int, bytes]]:
        """What durable requests added since the last call: uuid, time, encoded message-id."""
        new = self._new
        self._new = []
        return new

    def restore(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        """Put back what `take_new` handed out, in any order."""
        for uuid, at_ms, message_id in sorted(entries, key=_when):
            self._entries[uuid] = (at_ms, message_id)


def _when(entry: tuple[bytes, int, bytes]) -> int:
    return entry[1]
