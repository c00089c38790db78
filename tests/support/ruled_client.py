"""One client under access rules, without a protocol: what it may, and what is told of that."""

from __future__ import annotations

from support.bridge_world import World
from support.own_rules import own_rules

from gateway.audit.schema import Kind
from gateway.faces.access.book import AccessBook
from gateway.faces.access.client_access import ClientAccess
from gateway.faces.counts import FaceCounts
from gateway.faces.leaving import GONE
from gateway.translate.view import READER


class RuledClient:
    """A client that has opened the virtual host, as the first connection of its user.

    It is also its book's `DecisionTeller`; `told`: what was done, and the decision.
    """

    def __init__(self, *rules: str, user: str = "alice", proved: bool = True) -> None:
        self.world = World(reader=READER)
        self.book = AccessBook()
        self.counts = FaceCounts()
        self.told: list[tuple[str, str]] = []
        self.in_force = self.book.in_force
        self.in_force.rules = own_rules(*rules)
        self.in_force.file = "access.yaml"
        self.in_force.teller = self
        self.access = ClientAccess(
            self.in_force, self.counts, self.world.bridge, 7, "10.0.0.7", GONE
        )
        login = user if proved else ""
        assert self.book.admit(self.access, user, login, self.world.host) is None

    def tell_decision(
        self, user: str, connection: int, address: str, what: str, decision: str
    ) -> None:
        self.told.append((what, decision))

    def recorded(self) -> list[tuple[object, ...]]:
        """Of what it was refused: actor, action, object, rule, connection and message."""
        self.world.turn()
        keys = ("actor", "exchange", "node", "peer", "connection", "message")
        records = [each for each in self.world.blocks.raw() if each["kind"] == Kind.ACCESS_REFUSED]
        return [tuple(each[key] for key in keys) for each in records]
