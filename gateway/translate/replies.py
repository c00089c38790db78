"""The reply table of a virtual host: the uuid that a request goes by -> its id as who asked has it.

A 0-10 message-id is a uuid and a 0-10 responder answers with correlation-id = that uuid; a 1.0
requester waits for the id that it gave. Written when a request is delivered to a 0-10 client. The
other way, a 1.0 responder answers with the uuid by itself, and the Java client waits for a text
with "ID:" in front: written when its request is delivered to a 1.0 client.
Bounded by number, octets and age. Entries are plain octets, so that the durable store can keep
them: `take_new` hands over what came since the last call, `restore` puts them back at start.
"""

from __future__ import annotations

from typing import Final, final

ENTRIES_MAX: Final = 100_000
OCTETS_MAX: Final = 32 * 1024 * 1024
AGE_MAX_MS: Final = 24 * 3600 * 1000
# What is delivered again and again is handed over again only when it has aged by this part.
AGED: Final = 24
NEVER_HANDED_OVER: Final = -1


@final
class Request:
    """One entry: the encoded AMQP 1.0 message-id, when it was shown, and when last handed over."""

    __slots__ = ("at_ms", "handed_over_ms", "message_id")

    def __init__(self, message_id: bytes, at_ms: int, handed_over_ms: int) -> None:
        self.message_id = message_id
        self.at_ms = at_ms
        self.handed_over_ms = handed_over_ms


@final
class ReplyTable:
    """uuid (16 octets) -> the encoded AMQP 1.0 message-id, oldest first.

    Attributes:
        octets: what the message-ids take.
        evicted: entries that became too many or too old.
    """

    __slots__ = (
        "_age_max_ms",
        "_entries",
        "_entries_max",
        "_keep_new",
        "_new",
        "_octets_max",
        "evicted",
        "octets",
    )

    def __init__(
        self,
        *,
        entries_max: int = ENTRIES_MAX,
        octets_max: int = OCTETS_MAX,
        age_max_ms: int = AGE_MAX_MS,
        keep_new: bool = False,
    ) -> None:
        self._entries: dict[bytes, Request] = {}
        self._entries_max = entries_max
        self._octets_max = octets_max
        self._age_max_ms = age_max_ms
        self._keep_new = keep_new
        self._new: list[tuple[bytes, int, bytes]] = []
        self.octets = 0
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._entries)

    def remember(self, uuid: bytes, message_id: bytes, now_ms: int, durable: bool = False) -> None:
        """Note the id behind a uuid; the oldest entries make room."""
        handed_over_ms = NEVER_HANDED_OVER
        before = self._entries.get(uuid)
        if before is not None and before.message_id == message_id:
            handed_over_ms = before.handed_over_ms
        if durable and self._keep_new and self._due(handed_over_ms, now_ms):
            self._new.append((uuid, now_ms, message_id))
            handed_over_ms = now_ms
        self._put(uuid, Request(message_id, now_ms, handed_over_ms))
        self._trim(now_ms)

    def _due(self, handed_over_ms: int, now_ms: int) -> bool:
        if handed_over_ms == NEVER_HANDED_OVER:
            return True
        return now_ms - handed_over_ms > self._age_max_ms // AGED

    def _put(self, uuid: bytes, request: Request) -> None:
        before = self._entries.pop(uuid, None)
        if before is not None:
            self.octets -= len(before.message_id)
        self._entries[uuid] = request
        self.octets += len(request.message_id)

    def _trim(self, now_ms: int) -> None:
        while self._entries:
            oldest = next(iter(self._entries))
            request = self._entries[oldest]
            too_many = len(self._entries) > self._entries_max or self.octets > self._octets_max
            if not too_many and now_ms - request.at_ms <= self._age_max_ms:
                return
            del self._entries[oldest]
            self.octets -= len(request.message_id)
            self.evicted += 1

    def find(self, uuid: bytes, now_ms: int) -> bytes | None:
        """The encoded message-id behind a uuid; `None` if it is not known, or no longer."""
        request = self._entries.get(uuid)
        if request is None or now_ms - request.at_ms > self._age_max_ms:
            return None
        return request.message_id

    def take_new(self) -> list[tuple[bytes, int, bytes]]:
        """What durable requests added since the last call: uuid, time, encoded message-id."""
        new = self._new
        self._new = []
        return new

    def restore(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        """Put back what `take_new` handed out, in any order; the bounds hold as ever."""
        latest_ms = 0
        for uuid, at_ms, message_id in sorted(entries, key=_when):
            self._put(uuid, Request(message_id, at_ms, at_ms))
            latest_ms = at_ms
        self._trim(latest_ms)


def _when(entry: tuple[bytes, int, bytes]) -> int:
    return entry[1]
