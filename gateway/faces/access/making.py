"""Nodes that a client declares: whether it may, and that they are its own from then on."""

from __future__ import annotations

from typing import final

from gateway.faces.access.client_access import ClientAccess
from gateway.faces.access.in_force import InForce
from gateway.message import Refusal
from gateway.permissions.actions import ObjectKind
from gateway.permissions.asked import Asked


@final
class Making:
    """Those of one client."""

    __slots__ = ("_access", "_asked", "_in_force")

    def __init__(self, in_force: InForce, access: ClientAccess) -> None:
        self._in_force = in_force
        self._access = access
        self._asked: Asked | None = None  # what it was allowed last

    def refusal(self, asked: Asked) -> Refusal | None:
        """Why it may not declare a node; `None`: it may, and `created` follows if it does."""
        refusal = self._access.refusal(asked)
        if refusal is not None or asked.exists:
            return refusal
        topology = self._access.who.host.topology
        if asked.kind == ObjectKind.EXCHANGE:
            self._asked = None if asked.name in topology.exchanges else asked
            return None
        if asked.name in topology.queues:
            self._asked = None
            return None
        refusal = self._over_quota(asked)
        if refusal is None:
            self._asked = asked
        return refusal

    def _over_quota(self, asked: Asked) -> Refusal | None:
        access = self._access
        user = access.who.user
        limit = self._in_force.queues_max(user)
        if self._in_force.quotas.has_room(user, limit, access.belongings):
            return None
        text = f"{user!r} may have made {limit} queues at a time"
        return access.denials.deny_over_quota(asked, text)

    def created(self) -> None:
        """What it was allowed to declare last has been declared, or was not."""
        asked = self._asked
        if asked is None:
            return
        self._asked = None
        if asked.kind == ObjectKind.EXCHANGE:
            self._created_exchange(asked.name)
        else:
            self._created_queue(asked.name)

    def created_again(self, name: str) -> None:
        """A queue of its own was deleted and, for something else, made under the same name."""
        self._created_queue(name)

    def _created_queue(self, name: str) -> None:
        who = self._access.who
        topology = who.host.topology
        queue = topology.queues.get(name)
        if queue is None or queue.placement is not None or queue.settings.maker:
            return
        queue.settings.maker = who.user
        queue.settings.made_by = who.connection
        topology.rows.store_queue(queue)
        self._in_force.count_queue(who.host.name, queue)

    def _created_exchange(self, name: str) -> None:
        who = self._access.who
        topology = who.host.topology
        exchange = topology.exchanges.get(name)
        if exchange is None or exchange.placement is not None or exchange.maker:
            return
        exchange.maker = who.user
        exchange.made_by = who.connection
        topology.rows.store_exchange(exchange)
