"""Who has the exclusive queues, scoped bindings and subscriptions of a session.

Apart from the session itself, which holds those who declare and subscribe for it: what is held both
ways is memory that only the cycle collector gives back, and late (`service.collecting`).
"""

from __future__ import annotations

from typing import final

from gateway.faces.client import Client


@final
class SessionOwner:
    """Implements `Owner`.

    Attributes:
        number: unique among the living owners.
    """

    __slots__ = ("_client", "number")

    def __init__(self, client: Client) -> None:
        self._client = client
        self.number = client.bridge.numbers.next_owner()

    def move(self, client: Client) -> None:
        """The session has another connection."""
        self._client = client

    def owner_id(self) -> int:
        """Whose they are."""
        return self.number

    def connection_id(self) -> int:
        """The number that the session's messages carry as publisher."""
        return self._client.peer.connection_id

    def user(self) -> str:
        """Whose the connection is; "" without a login."""
        return self._client.user()
