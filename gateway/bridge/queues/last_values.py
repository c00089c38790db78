"""The newest copy of each key, of a queue that keeps last values."""

from __future__ import annotations

from typing import Final, final
from uuid import UUID

from gateway.bridge.queues.places import Entry
from gateway.message import Message

NO_POSITION: Final = -1


@final
class LastValues:
    """Keys and positions.

    A key is a header's value as text, as qpidd has it: 1 and "1" are the same, and all that is no
    text, whole number, octets or uuid, or is not there, has the key "".
    """

    __slots__ = ("_header", "_keys", "_newest")

    def __init__(self, header: str) -> None:
        self._header = header
        self._newest: dict[str, int] = {}
        self._keys: dict[int, str] = {}

    def key_of(self, message: Message) -> str:
        """By which one takes the place of another."""
        found = message.header(self._header)
        return "" if found is None else _text(found.value)

    def put(self, entry: Entry) -> int:
        """It is the newest of its key; where the one before is, or was, or `NO_POSITION`."""
        key = self.key_of(entry.message)
        older = self._newest.get(key, NO_POSITION)
        self._newest[key] = entry.position
        self._keys[entry.position] = key
        return older

    def is_last(self, entry: Entry) -> bool:
        """Whether there is none that came after it."""
        return self._newest.get(self._keys[entry.position], entry.position) == entry.position

    def remove(self, entry: Entry) -> None:
        """A copy leaves, for whatever reason."""
        key = self._keys.pop(entry.position)
        if self._newest.get(key) == entry.position:
            del self._newest[key]


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, bool) or not isinstance(value, (str, int, UUID)):
        return ""
    return str(value)
