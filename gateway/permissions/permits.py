"""What one user may, in one virtual host: decisions, remembered for what it publishes.

A decision is made once for each exchange and routing key; one that depends on what the node is
like, as long as it is like that, which is looked up each time. What is remembered has a limit in
octets, beyond which all of it is forgotten; other rules are another `Permits`.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.permissions.asked import Asked, publishing
from gateway.permissions.rules import UNRESTRICTED, AccessRules, Decision

REMEMBERED_OCTETS: Final = 64 * 1024  # of one connection
ENTRY_OCTETS: Final = 128  # what remembering one costs beside its text


class Nodes(Protocol):
    """Who knows the queues and exchanges that there are."""

    def look_up(self, asked: Asked) -> None:
        """Tell what the object is like, as far as whoever asks did not."""


@final
class Depending:
    """A decision that holds for what the node was like: see `Asked.facts`."""

    __slots__ = ("decision", "facts")

    def __init__(self, facts: int, decision: Decision) -> None:
        self.facts = facts
        self.decision = decision


@final
class Permits:
    """The decisions about one connection.

    Attributes:
        asks_access: to attach a link is a question of its own.
        open: nobody needs to be asked for what is published.
        hides: see `AccessRules`.
        octets: what is remembered.
        rules: those that decide; `None`: there are none.
    """

    __slots__ = (
        "_address",
        "_by_exchange",
        "_depending",
        "_host",
        "_nodes",
        "_user",
        "asks_access",
        "hides",
        "octets",
        "open",
        "rules",
    )

    def __init__(
        self,
        rules: AccessRules | None,
        user: str,
        host: str,
        address: str,
        nodes: Nodes | None = None,
    ) -> None:
        self.rules = rules
        self._nodes = nodes
        self._user = user
        self._host = host
        self._address = address
        self._by_exchange: dict[str, dict[str, Decision]] = {}
        self._depending: dict[str, dict[str, Depending]] = {}
        self.octets = 0
        self.open = rules is None or rules.publish_unchecked()
        self.asks_access = rules is not None and rules.asks_access()
        self.hides = rules is not None and rules.hides()

    def may(self, asked: Asked) -> Decision:
        """Decide."""
        rules = self.rules
        if rules is None:
            return UNRESTRICTED
        if self._nodes is not None:
            self._nodes.look_up(asked)
        return rules.may(self._user, self._host, self._address, asked)

    def may_of(self, user: str, asked: Asked) -> Decision:
        """The same of another user, who comes from the same address; nothing is looked up."""
        rules = self.rules
        return UNRESTRICTED if rules is None else rules.may(user, self._host, self._address, asked)

    def may_publish(self, exchange: str, key: str) -> Decision:
        """The same for a publish."""
        by_key = self._by_exchange.get(exchange)
        if by_key is not None:
            decision = by_key.get(key)
            if decision is not None:
                return decision
        return self._decide(exchange, key)

    def may_publish_any(self) -> Decision:
        """The same for whatever it may publish: there may be something, or there is nothing."""
        rules = self.rules
        if rules is None or self.open:
            return UNRESTRICTED
        return rules.may_publish_any(self._user, self._host, self._address)

    def _decide(self, exchange: str, key: str) -> Decision:
        rules = self.rules
        if rules is None:
            return UNRESTRICTED
        asked = publishing(exchange, key)
        if self._nodes is not None:
            self._nodes.look_up(asked)
        by_key = self._depending.get(exchange)
        known = None if by_key is None else by_key.get(key)
        facts = asked.facts()
        if known is not None and known.facts == facts and asked.properties is None:
            return known.decision
        decision = rules.may(self._user, self._host, self._address, asked)
        if known is not None:
            known.facts = facts
            known.decision = decision
        elif self._has_room(len(exchange) + len(key) + ENTRY_OCTETS):
            if asked.looked:
                depending = Depending(facts, decision)
                self._depending.setdefault(exchange, {})[key] = depending
            else:
                self._by_exchange.setdefault(exchange, {})[key] = decision
        return decision

    def _has_room(self, octets: int) -> bool:
        """Whether so much more may be remembered, if need be instead of all else."""
        if self.octets + octets > REMEMBERED_OCTETS:
            self._by_exchange = {}
            self._depending = {}
            self.octets = 0
        if octets > REMEMBERED_OCTETS:
            return False
        self.octets += octets
        return True
