"""What one client may, by the rules that are in force. What it publishes: `PublishAccess`."""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.faces.access.belongings import Belongings
from gateway.faces.access.denials import Denials, undecided
from gateway.faces.access.in_force import InForce
from gateway.faces.access.who import Who
from gateway.faces.counts import FaceCounts
from gateway.faces.leaving import GONE
from gateway.message import Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked
from gateway.permissions.own_rules import OwnRules
from gateway.permissions.permits import Permits

CONNECT: Final = Asked(Action.CONNECT, ObjectKind.NOTHING)
NOTHING: Final = Permits(OwnRules([]), "", "", "")  # no rule fits


class Reviewed(Protocol):
    """A client's connection, as far as other rules concern it."""

    def on_rules_changed(self, now_ms: int) -> None:
        """End what the client has and may not have any longer."""


@final
class ClientAccess:
    """What one client may.

    Attributes:
        permits: decisions about it. Before it has opened a virtual host, it may all.
        who: who it is.
        belongings: what is its own.
        denials: what it is refused.
        counted: it is among the connections that its user has (`AccessBook`).
        absent: it stands for one that has no connection just now.
    """

    __slots__ = (
        "_bridge",
        "_counts",
        "_face",
        "_in_force",
        "absent",
        "belongings",
        "counted",
        "denials",
        "permits",
        "who",
    )

    def __init__(
        self,
        in_force: InForce,
        counts: FaceCounts,
        bridge: Bridge,
        connection: int,
        address: str,
        face: Reviewed,
    ) -> None:
        self._in_force = in_force
        self._counts = counts
        self._bridge = bridge
        self._face: Reviewed = face
        self.who = Who(connection, address, bridge.default_host)
        self.belongings = Belongings(bridge, self.who)
        self.denials = Denials(in_force, counts, bridge, self.who)
        self.counted = False
        self.absent = False
        self.permits = Permits(None, "", "", "")

    # The connection.

    def identify(self, user: str, login: str, host: VirtualHost) -> None:
        """From now on it is known who it is: see `Who`."""
        self.who.user = user
        self.who.login = login
        self.who.host = host
        self.renew()

    def renew(self) -> None:
        """Decide by the rules that are in force now."""
        rules, who = self._in_force.rules, self.who
        self.permits = Permits(rules, who.login, who.host.name, who.address, self.belongings)

    def keep_up(self) -> None:
        """The same for one that hears nothing of other rules, being in no book."""
        if self.permits.rules is not self._in_force.rules:
            self.renew()

    def stand_in(self, host: VirtualHost, user: str, login: str) -> ClientAccess:
        """Who decides as it would, also when it has gone; where it has, of whom is to be said."""
        other = ClientAccess(
            self._in_force, self._counts, self._bridge, self.who.connection, self.who.address, GONE
        )
        other.identify(user, login, host)
        return other

    def leave(self) -> None:
        """The connection is gone, and may nothing any more."""
        self._face = GONE
        self.permits = NOTHING

    def on_rules_changed(self) -> None:
        """Other rules are in force."""
        self.denials.reason = Reason.RULES_CHANGED
        self._face.on_rules_changed(self._bridge.now_ms)
        self.denials.reason = Reason.NOT_ALLOWED

    def may_stay(self) -> Refusal | None:
        """Whether the connection may go on, by other rules; quotas are for those that come."""
        return self.refusal(CONNECT)

    # What it asks to do.

    def refusal(self, asked: Asked) -> Refusal | None:
        """Why it may not do that; `None`: it may."""
        decision = self.permits.may(asked)
        if decision.allowed:
            if self.belongings.is_anothers(asked):
                return self.denials.deny_anothers(asked)
            if decision.logged:
                self.denials.tell(str(asked), str(decision))
            return None
        return undecided(decision) or self.denials.deny(asked, decision)

    def alternate_refusal(self, exchange: str) -> Refusal | None:
        """Why it may not have its nodes send on to an exchange: it must not publish there.

        What they send on has any key. A qpidd does not ask.
        """
        if not exchange or not self.permits.hides:
            return None
        return self.refusal(Asked(Action.PUBLISH, ObjectKind.EXCHANGE, exchange, every_key=True))

    def may(self, asked: Asked) -> bool:
        """Whether it may do that, for whoever has other questions, too: nobody is told."""
        return self.permits.may(asked).allowed and not self.belongings.is_anothers(asked)

    def sees(self, address: str, queue: str = "", exchange: str = "") -> bool:
        """Whether it may hear of the queue or exchange of an address; of neither: that none is."""
        if queue:
            return self.may(Asked(Action.ACCESS, ObjectKind.QUEUE, queue))
        if exchange:
            return self.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, exchange))
        return (
            self.may(Asked(Action.ACCESS, ObjectKind.QUEUE, address))
            or self.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, address))
            or self.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, address.partition("/")[0]))
        )
