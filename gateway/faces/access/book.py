"""The clients that have opened a virtual host, and other rules for all of them.

One `AccessBook`, shared by all server faces; each client has its `ClientAccess`.
"""

from __future__ import annotations

from typing import Protocol, final

from gateway.bridge.host import VirtualHost
from gateway.faces.access.client_access import CONNECT, ClientAccess
from gateway.faces.access.in_force import InForce
from gateway.message import Refusal
from gateway.permissions.rules import AccessRules
from gateway.wire.work import COMMAND, WORK


class Spreading(Protocol):
    """Who does over several turns what is too much for one: `bridge.spread.spread.Spread`."""

    def begin(self, work: Review) -> bool:
        """Do it, or what this turn has room for."""


@final
class AccessBook:
    """Who is there.

    Attributes:
        in_force: the rules by which they are.
    """

    __slots__ = ("_absent", "_clients", "in_force")

    def __init__(self) -> None:
        self.in_force = InForce()
        self._clients: dict[int, ClientAccess] = {}
        self._absent: list[ClientAccess] = []  # those without a connection

    def adopt(self, rules: AccessRules | None, file: str, spread: Spreading) -> None:
        """From now on these rules count, also for who is connected.

        What clients have and may have no longer ends at once, or, of very many, soon.
        """
        self.in_force.rules = rules
        self.in_force.file = file
        clients = [*self._clients.values(), *self._absent]
        for client in clients:
            client.renew()
        spread.begin(Review(self, clients))

    def admit(
        self, client: ClientAccess, user: str, login: str, host: VirtualHost
    ) -> Refusal | None:
        """A client wants to open a virtual host; why it may not. For `user` and `login` see `Who`.

        One that is admitted is there until it is dismissed.
        """
        client.identify(user, login, host)
        refusal = client.refusal(CONNECT) or self._over_quota(client)
        if refusal is None:
            self.in_force.quotas.connected(user)
            client.counted = True
            self._clients[client.who.connection] = client
        return refusal

    def _over_quota(self, client: ClientAccess) -> Refusal | None:
        user = client.who.user
        limit = self.in_force.connections_max(user)
        if limit < 0 or self.in_force.quotas.connections(user) < limit:
            return None
        text = f"{user!r} may have {limit} connections at a time"
        return client.denials.deny_over_quota(CONNECT, text)

    def remember(self, client: ClientAccess) -> None:
        """It has no connection just now, and other rules concern it all the same."""
        client.absent = True
        self._absent.append(client)

    def forget(self, client: ClientAccess) -> None:
        """It has one again, or is gone."""
        self._absent.remove(client)

    def dismiss(self, client: ClientAccess) -> None:
        """Its connection is over."""
        connection = client.who.connection
        if self.client(connection) is client:
            self.vacate(connection)
            del self._clients[connection]

    def vacate(self, connection: int) -> None:
        """Its transport is gone, though it is not over: its user may have another one."""
        client = self.client(connection)
        if client is not None and client.counted:
            client.counted = False
            self.in_force.quotas.disconnected(client.who.user)

    def client(self, connection: int) -> ClientAccess | None:
        """The client that has that connection, if it is there and has a virtual host."""
        return self._clients.get(connection)


@final
class Review:
    """Whether clients may have what they have, by other rules. Implements `Piecework`."""

    __slots__ = ("_book", "_clients")

    def __init__(self, book: AccessBook, clients: list[ClientAccess]) -> None:
        self._book = book
        self._clients = clients

    def who(self) -> str:
        """See `Piecework`."""
        return "connections, by other access rules"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        while self._clients:
            if WORK.units > end:
                return False
            client = self._clients.pop()
            WORK.units += COMMAND
            # It may have gone meanwhile; who has no connection hears nothing then.
            if client.absent or self._book.client(client.who.connection) is client:
                client.on_rules_changed()
        return True
