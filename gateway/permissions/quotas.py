"""How many connections and queues each user has.

Queues are known by virtual host, name and number. Who has as many as allowed has those that are
gone taken out first: nobody needs to tell when a queue ends, in whichever way it does.
"""

from __future__ import annotations

from typing import Protocol, final


class LivingQueues(Protocol):
    """The queues of all virtual hosts."""

    def lives(self, host: str, name: str, number: int) -> bool:
        """Whether that queue is there, and no other one of its name."""


@final
class Quotas:
    """What all users have."""

    __slots__ = ("_connections", "_queues")

    def __init__(self) -> None:
        self._connections: dict[str, int] = {}
        self._queues: dict[str, dict[tuple[str, str], int]] = {}

    def connections(self, user: str) -> int:
        """How many connections a user has."""
        return self._connections.get(user, 0)

    def connected(self, user: str) -> None:
        """One more."""
        self._connections[user] = self._connections.get(user, 0) + 1

    def disconnected(self, user: str) -> None:
        """One less."""
        left = self._connections[user] - 1
        if left:
            self._connections[user] = left
        else:
            del self._connections[user]

    def has_room(self, user: str, limit: int, living: LivingQueues) -> bool:
        """Whether a user may make one more queue; below 0 there is no limit."""
        if limit < 0:
            return True
        queues = self._queues.get(user)
        if queues is None or len(queues) < limit:
            return limit > 0
        for (host, name), number in list(queues.items()):
            if not living.lives(host, name, number):
                del queues[(host, name)]
        return len(queues) < limit

    def made(self, user: str, host: str, name: str, number: int) -> None:
        """A user has made a queue."""
        queues = self._queues.setdefault(user, {})
        queues[(host, name)] = number
