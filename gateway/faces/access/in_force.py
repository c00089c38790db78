"""What is in force for all clients: the access rules, whose file they are, and the quotas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol, final

from gateway.bridge.host import VirtualHost
from gateway.bridge.queues.queue import Queue
from gateway.permissions.quotas import Quotas
from gateway.permissions.rules import AccessRules, Decision

REALM: Final = "QPID"  # what a qpidd gives everybody, unless it is told otherwise


class DecisionTeller(Protocol):
    """Who writes the operators' log."""

    def tell_decision(
        self, user: str, connection: int, address: str, what: str, decision: str
    ) -> None:
        """A user was refused something, or has done what is to be told of."""


@final
class InForce:
    """What counts now.

    Attributes:
        rules: those in force; `None`: everybody may everything.
        file: where they stand.
        realm: of users whose names have none.
        quotas: how much of what each user has.
        teller: `None`: nobody is told.
    """

    __slots__ = ("file", "quotas", "realm", "rules", "teller")

    def __init__(self) -> None:
        self.rules: AccessRules | None = None
        self.file = ""
        self.realm = REALM
        self.quotas = Quotas()
        self.teller: DecisionTeller | None = None

    def rule(self, decision: Decision) -> str:
        """Which rule has decided, for people."""
        return f"{self.file}:{decision.line}" if decision.line else decision.rule

    def connections_max(self, user: str) -> int:
        """How many connections a user may have at a time; below 0 there is no limit."""
        return -1 if self.rules is None else self.rules.connections_max(user)

    def queues_max(self, user: str) -> int:
        """How many queues a user may have made; below 0 there is no limit."""
        return -1 if self.rules is None else self.rules.queues_max(user)

    def count_queue(self, host: str, queue: Queue) -> None:
        """A queue is there: its maker's, who may have only so many."""
        maker = queue.settings.maker
        if maker and self.queues_max(maker) >= 0:
            self.quotas.made(maker, host, queue.name, queue.number)

    def count_queues(self, hosts: Iterable[VirtualHost]) -> None:
        """The queues that there are by now; those that were made under other rules, too."""
        for host in hosts:
            for queue in host.topology.queues.values():
                self.count_queue(host.name, queue)
