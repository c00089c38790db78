"""Connections by the container that opened them: a client may ask to have the only one of its.

Of one user, to one virtual host, at this gateway. Whoever did not ask counts, too: detection is
strong. Source: AMQP Enforcing Connection Uniqueness 1.0.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.wire.work import COMMAND, WORK

# Enforcement policies; a connection that does not ask to be the only one has none.
UNASKED: Final = -1
REFUSE_CONNECTION: Final = 0
CLOSE_EXISTING: Final = 1

SOLE: Final = "sole-connection-for-container"  # the capability that asks for it

Name = tuple[str, str, str]  # virtual host, user, container-id


class Contained(Protocol):
    """A connection that has opened."""

    def make_way(self) -> None:
        """Another one of its container takes its place."""


@final
class MakingWay:
    """Connections in whose place there is another one. Implements `Piecework`."""

    __slots__ = ("_connections",)

    def __init__(self, connections: dict[Contained, int]) -> None:
        self._connections = connections

    def who(self) -> str:
        """See `Piecework`."""
        return "connections that make way for another one of their container"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        while self._connections:
            if WORK.units > end:
                return False
            WORK.units += COMMAND
            self._connections.popitem()[0].make_way()
        return True


@final
class Containers:
    """Those of all virtual hosts and users."""

    __slots__ = ("_connections",)

    def __init__(self) -> None:
        # With their policies: one that has any is alone.
        self._connections: dict[Name, dict[Contained, int]] = {}

    def enter(self, name: Name, connection: Contained, policy: int) -> MakingWay | None:
        """A connection opens: who makes way for it; `None`: it must not open.

        Where there is one that has asked, its policy counts.
        """
        others = self._connections.get(name, {})
        before = next(iter(others.values()), UNASKED)
        in_force = policy if before == UNASKED else before
        if not others or in_force == UNASKED:
            others[connection] = policy
            self._connections[name] = others
            return MakingWay({})
        if in_force == REFUSE_CONNECTION:
            return None
        self._connections[name] = {connection: policy}
        return MakingWay(others)

    def leave(self, name: Name, connection: Contained) -> None:
        """It is over, if it was there."""
        others = self._connections.get(name)
        if others is not None and others.pop(connection, None) is not None and not others:
            del self._connections[name]
