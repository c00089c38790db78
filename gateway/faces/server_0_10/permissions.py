"""What a 0-10 command asks for, in the words of access rules; messages are asked for apart.

As qpidd asks: before anything is looked at. By its rules what is to be deleted has to be there: who
must not delete a node hears that it does not exist, if it does not. By the gateway's own rules
nobody hears of a node that it may do nothing with, be it there or not.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.decoding import read_map
from gateway.amqp_0_10.types import Command
from gateway.bridge.seams import QueueSettings
from gateway.faces import asking, hiding
from gateway.faces.arguments.of_queues import texts
from gateway.faces.client import Client
from gateway.faces.host_nodes import HostNodes
from gateway.message import Condition, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, binding
from gateway.wire.buffers import Reader

RESERVED_BY_QPIDD: Final = ("amq.", "qpid.")
DECLARES: Final = (spec.QueueDeclare.CODE, spec.ExchangeDeclare.CODE)
BINDS: Final = (Action.BIND, Action.UNBIND)


@final
class Permissions:
    """Asks for the commands of one session."""

    __slots__ = ("_access", "_host", "_making", "_nodes", "_size_default")

    def __init__(self, client: Client) -> None:
        self._access = client.access
        self._making = client.making
        self._host = client.host
        self._nodes = HostNodes(client.host)
        self._size_default = client.bridge.queue_size_default  # of queues declared without

    def refusal(self, command: Command) -> Refusal | None:
        """Why the client may not do that; `None`: it may, or nobody has to be asked."""
        if isinstance(command, spec.QueueDeclare) and not command.passive:
            return self._queue_refusal(command)
        if isinstance(command, spec.ExchangeDeclare):
            told = self._told_by_qpidd(command)
            if told is not None or not command.passive:
                return told or self._exchange_refusal(command)
        if isinstance(command, spec.ExchangeBound) and self._access.permits.hides:
            return self._bound_refusal(command)
        asked = self._asked(command)
        return None if asked is None else self._access.refusal(asked)

    def _queue_refusal(self, command: spec.QueueDeclare) -> Refusal | None:
        refusal = self._alternate_refusal(command)
        if refusal is None:
            refusal = self._making.refusal(self._to_create(command))
        name = command.queue or ""
        if refusal is not None or name in self._host.topology.queues:
            return refusal
        return hiding.queue_refusal(self._access, self._nodes, name)

    def _exchange_refusal(self, command: spec.ExchangeDeclare) -> Refusal | None:
        asked = self._to_declare(command)
        refusal = self._exchange_alternate_refusal(command) or self._making.refusal(asked)
        if refusal is not None or asked.exists:
            return refusal
        return hiding.exchange_refusal(self._access, self._nodes, asked)

    def _told_by_qpidd(self, command: spec.ExchangeDeclare) -> Refusal | None:
        """What qpidd, by its rules, says before it asks them.

        It says of all reserved names that they are; here whoever may declare an exchange may also
        declare one that is there.
        """
        if not self._access.permits.asks_access:
            return None
        alternate = command.alternate_exchange or ""
        if alternate and self._host.topology.find_exchange(alternate) is None:
            return Refusal(Condition.NOT_FOUND, f"there is no exchange {alternate!r}")
        name = command.exchange or ""
        if command.passive or not name.startswith(RESERVED_BY_QPIDD):
            return None
        if self._access.may(self._to_declare(command)):
            return None
        return Refusal(Condition.NOT_ALLOWED, f"exchange name {name!r} is reserved")

    def _alternate_refusal(self, command: spec.QueueDeclare) -> Refusal | None:
        alternate = command.alternate_exchange or ""
        queue = self._host.topology.queues.get(command.queue or "")
        if queue is not None and queue.settings.alternate_exchange == alternate:
            return None
        return self._access.alternate_refusal(alternate)

    def _exchange_alternate_refusal(self, command: spec.ExchangeDeclare) -> Refusal | None:
        alternate = command.alternate_exchange or ""
        exchange = self._host.topology.exchanges.get(command.exchange or "")
        if exchange is not None and exchange.alternate_exchange == alternate:
            return None
        return self._access.alternate_refusal(alternate)

    def _bound_refusal(self, command: spec.ExchangeBound) -> Refusal | None:
        """Who may ask about one of the two hears of that one (`unseen`)."""
        no_exchange, no_queue = self.unseen(command)
        if (command.exchange and not no_exchange) or (command.queue and not no_queue):
            return None
        return self._access.refusal(self._binding(Action.ACCESS, command))

    def unseen(self, command: spec.ExchangeBound) -> tuple[bool, bool]:
        """Whether it must not hear of the exchange, and of the queue, that it asks about."""
        access = self._access
        exchange, queue = command.exchange or "", command.queue or ""
        if not access.permits.hides:
            return False, False
        key = command.binding_key or ""
        if any([access.may(binding(each, exchange, queue, key)) for each in BINDS]):
            return False, False
        return (
            bool(exchange) and not access.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, exchange)),
            bool(queue) and not access.may(Asked(Action.ACCESS, ObjectKind.QUEUE, queue)),
        )

    def carried_out(self, command: Command) -> None:
        """It is done, or has failed."""
        if command.CODE in DECLARES:
            self._making.created()

    def acquire_refusal(self, queue: str) -> Refusal | None:
        """Why what was browsed in a queue may not be taken from it."""
        return self._access.refusal(self._to_subscribe(queue, acquire=True))

    def review(self, queue: str, *, acquire: bool) -> Refusal | None:
        """Why a subscription may not go on."""
        return self._access.refusal(self._to_subscribe(queue, acquire=acquire))

    def _asked(self, command: Command) -> Asked | None:
        if isinstance(command, spec.MessageSubscribe):
            takes = command.acquire_mode != spec.AcquireMode.NOT_ACQUIRED or command.exclusive
            return self._to_subscribe(command.queue or "", acquire=takes)
        if isinstance(command, spec.ExchangeBind):
            return self._binding(Action.BIND, command)
        if isinstance(command, spec.ExchangeUnbind):
            return self._binding(Action.UNBIND, command)
        if isinstance(command, spec.ExchangeBound):
            return self._binding(Action.ACCESS, command)
        if command.CODE >> 8 == spec.QueueDeclare.CODE >> 8:
            return self._about_queue(command)
        return self._about_exchange(command)

    def _about_queue(self, command: Command) -> Asked | None:
        if isinstance(command, spec.QueueDeclare):
            name, settings = command.queue or "", settings_of(command)
            return asking.to_check_queue(name, settings, texts(command.arguments or []))
        if isinstance(command, spec.QueueQuery):
            return self._to_use(Action.ACCESS, command.queue or "")
        if isinstance(command, spec.QueuePurge):
            return self._to_use(Action.PURGE, command.queue or "")
        if isinstance(command, spec.QueueDelete):
            queue = self._host.topology.find_queue(command.queue or "")
            if queue is not None:
                return asking.to_delete_queue(queue, policy_of(queue.settings))
            if self._access.permits.hides:
                return Asked(Action.DELETE, ObjectKind.QUEUE, command.queue or "")
        return None

    def _about_exchange(self, command: Command) -> Asked | None:
        if isinstance(command, spec.ExchangeDeclare):
            return self._to_declare(command)
        if isinstance(command, spec.ExchangeQuery):
            return Asked(Action.ACCESS, ObjectKind.EXCHANGE, command.name or "")
        if isinstance(command, spec.ExchangeDelete):
            exchange = self._host.topology.find_exchange(command.exchange or "")
            if exchange is not None:
                return asking.about_exchange(Action.DELETE, exchange)
            if self._access.permits.hides:
                return Asked(Action.DELETE, ObjectKind.EXCHANGE, command.exchange or "")
        return None

    def _to_declare(self, command: spec.ExchangeDeclare) -> Asked:
        name = command.exchange or ""
        asked = asking.to_declare_exchange(
            Action.ACCESS if command.passive else Action.CREATE,
            name,
            command.type or "",
            command.alternate_exchange or "",
            durable=command.durable,
            auto_delete=command.auto_delete,
        )
        asked.exists = name in self._host.topology.exchanges
        return asked

    def _to_create(self, command: spec.QueueDeclare) -> Asked:
        name = command.queue or ""
        return asking.to_create_queue(
            name,
            settings_of(command),
            texts(command.arguments or []),
            self._size_default,
            exists=self._host.topology.find_queue(name) is not None and not command.exclusive,
        )

    def _to_use(self, action: Action, name: str) -> Asked:
        return asking.to_use_queue(action, name, self._host.topology.find_queue(name))

    def _to_subscribe(self, queue: str, *, acquire: bool) -> Asked:
        return self._to_use(Action.CONSUME if acquire else Action.BROWSE, queue)

    def _binding(
        self,
        action: Action,
        command: spec.ExchangeBind | spec.ExchangeUnbind | spec.ExchangeBound,
    ) -> Asked:
        key = command.binding_key or ""
        return binding(action, command.exchange or "", command.queue or "", key)


def settings_of(command: spec.QueueDeclare) -> QueueSettings:
    """What rules look at of a queue that is to be declared."""
    return QueueSettings(
        durable=command.durable,
        exclusive=command.exclusive,
        auto_delete=command.auto_delete,
        alternate_exchange=command.alternate_exchange or "",
    )


def policy_of(settings: QueueSettings) -> str:
    """The policy that a queue was declared with; "" for none."""
    octets = settings.arguments
    return texts(read_map(Reader(octets))).get("policy_type", "") if octets else ""
