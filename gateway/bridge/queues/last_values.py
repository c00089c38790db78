"""The newest copy of each key, of a queue that keeps last values."""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.queues.places import Entry
from gateway.message import Message

NO_POSITION: Final = -1


@final
class LastValues:
    """Keys and positions.

    A key is a header's value as text: who publishes 1 and "1" means the same (qpidd has it so, and
    a message without the header has the key "").
    """

    __slots__ = ("_header", "_keys", "_newest")

    def __init__(self, header: str) -> None:
        self._header = header
        self._newest: dict[str, int] = {}
        self._keys: dict[int, str] = {}

    def key_of(self, message: Message) -> str:
        """By which one takes the place of another."""
        found = message.header(self._header)
        return "" if found is None or found.value is None else str(found.value)

    def put(self, entry: Entry) -> int:
        """It is the newest of its key; where the one before is, or was, or `NO_POSITION`."""
        key = self.key_of(entry.message)
        older = self._newest.get(key, NO_POSITION)
        self._newest[key] = entry.position
        self._keys[entry.position] = key
        return older

    def remove(self, entry: Entry) -> None:
        """A copy leaves, for whatever reason."""
        key = self._keys.pop(entry.position)
        if self._newest.get(key) == entry.position:
            del self._newest[key]
