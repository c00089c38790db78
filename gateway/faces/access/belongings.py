"""Which queues and exchanges are a client's own: rules may be about those, or about all others."""

from __future__ import annotations

from typing import final

from gateway.bridge.bridge import Bridge
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import REJECTED_QUEUE
from gateway.faces import asking
from gateway.faces.access.who import NOBODY, Who
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import ITSELF, NO, UNKNOWN, YES, Asked


@final
class Belongings:
    """Those of one client. Implements `LivingQueues`, `Nodes`."""

    __slots__ = ("_bridge", "_who")

    def __init__(self, bridge: Bridge, who: Who) -> None:
        self._bridge = bridge
        self._who = who

    def look_up(self, asked: Asked) -> None:
        """See `Nodes`. What is to be made will be its own."""
        topology = self._who.host.topology
        if asked.meant != ITSELF:
            asking.look_up_binding(asked, topology.exchanges.get(asked.name))
        known = asked.durable != UNKNOWN and asked.action != Action.ACCESS and not asked.exists
        if asked.kind == ObjectKind.QUEUE or asked.queue:
            queue = topology.queues.get(asked.queue or asked.name)
            if queue is not None:
                asked.own = YES if self.owns_queue(queue) else NO
                if not known and asked.kind == ObjectKind.QUEUE:
                    asking.look_up_queue(asked, queue)
                return
        elif asked.kind == ObjectKind.EXCHANGE:
            exchange = topology.exchanges.get(asked.name)
            if exchange is not None:
                asked.own = YES if self._owns_exchange(exchange) else NO
                if not known:
                    asking.look_up_exchange(asked, exchange)
                return
        if asked.action == Action.CREATE:
            rejected = asked.name == REJECTED_QUEUE and asked.kind == ObjectKind.QUEUE
            asked.own = NO if rejected else YES  # the gateway's, whoever is first
        elif asked.action == Action.ACCESS:
            asked.durable = asked.exclusive = asked.temporary = UNKNOWN

    def is_anothers(self, asked: Asked) -> bool:
        """Whether it is about a durable subscription of another user: that is by no rule."""
        name = asked.name if asked.kind == ObjectKind.QUEUE else asked.queue
        queue = self._who.host.topology.queues.get(name) if name else None
        if queue is None or queue.settings.subscriber is None:
            return False
        return not self.owns_queue(queue)

    def owns_queue(self, queue: Queue) -> bool:
        """Whether it has made the queue, or has it for itself."""
        who = self._who
        settings = queue.settings
        if queue.name == REJECTED_QUEUE:
            return False
        if settings.subscriber is not None:
            return settings.subscriber.user == who.login
        owner = queue.owner
        if owner is not None and who.connection and owner.connection_id() == who.connection:
            return True
        return self._made(settings.maker, settings.made_by)

    def _owns_exchange(self, exchange: Exchange) -> bool:
        return self._made(exchange.maker, exchange.made_by)

    def _made(self, maker: str, connection: int) -> bool:
        """Clients without a login have what they made by the same connection, and no more."""
        who = self._who
        if connection and connection == who.connection:
            return True
        return maker != "" and maker == who.login and maker != NOBODY

    def lives(self, host: str, name: str, number: int) -> bool:
        """Whether a queue is there still."""
        found = self._bridge.hosts.get(host)
        queue = None if found is None else found.topology.queues.get(name)
        return queue is not None and queue.number == number
