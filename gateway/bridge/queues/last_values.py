"""The newest copy of each key, of a queue that keeps last values."""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.queues.keys import key_of
from gateway.bridge.queues.places import Entry

NO_POSITION: Final = -1


@final
class LastValues:
    """Keys and positions."""

    __slots__ = ("_header", "_keys", "_newest")

    def __init__(self, header: str) -> None:
        self._header = header
        self._newest: dict[str, int] = {}
        self._keys: dict[int, str] = {}

    def put(self, entry: Entry) -> int:
        """It is the newest of its key; where the one before is, or was, or `NO_POSITION`."""
        key = key_of(entry.message, self._header)
        older = self._newest.get(key, NO_POSITION)
        self._newest[key] = entry.position
        self._keys[entry.position] = key
        return older

    def is_last(self, entry: Entry) -> bool:
        """Whether there is none that came after it."""
        key = self._keys.get(entry.position)
        return key is None or self._newest.get(key, entry.position) == entry.position

    def remove(self, position: int) -> None:
        """A copy leaves, for whatever reason; it is none of them if it came while all went on."""
        key = self._keys.pop(position, None)
        if key is not None and self._newest.get(key) == position:
            del self._newest[key]
