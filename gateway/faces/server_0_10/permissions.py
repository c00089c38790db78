"""What a 0-10 command asks for, in the words of access rules; messages are asked for apart.

As qpidd asks: before anything is looked at, but that what is to be deleted has to be there. Who
must not delete a node hears that it does not exist, if it does not.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.decoding import read_map
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.bridge.host import VirtualHost
from gateway.bridge.seams import QueueSettings
from gateway.faces import asking
from gateway.faces.access import ClientAccess
from gateway.message import Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, binding
from gateway.wire.buffers import Reader

PREFIX: Final = "qpid."


@final
class Permissions:
    """Asks for the commands of one session. `size_default`: that of queues declared without."""

    __slots__ = ("_access", "_host", "_size_default")

    def __init__(self, access: ClientAccess, host: VirtualHost, size_default: int) -> None:
        self._access = access
        self._host = host
        self._size_default = size_default

    def refusal(self, command: Command) -> Refusal | None:
        """Why the client may not do that; `None`: it may, or nobody has to be asked."""
        if isinstance(command, spec.QueueDeclare) and not command.passive:
            return self._access.create_refusal(self._to_create(command))
        asked = self._asked(command)
        return None if asked is None else self._access.refusal(asked)

    def carried_out(self, command: Command) -> None:
        """It is done, or has failed."""
        if command.CODE == spec.QueueDeclare.CODE:
            self._access.created()

    def review(self, queue: str, *, acquire: bool) -> Refusal | None:
        """Why a subscription may not go on."""
        return self._access.refusal(self._to_subscribe(queue, acquire=acquire))

    def _asked(self, command: Command) -> Asked | None:
        if isinstance(command, spec.MessageSubscribe):
            acquire = command.acquire_mode != spec.AcquireMode.NOT_ACQUIRED
            return self._to_subscribe(command.queue or "", acquire=acquire)
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
        return None

    def _about_exchange(self, command: Command) -> Asked | None:
        if isinstance(command, spec.ExchangeDeclare):
            return asking.to_declare_exchange(
                Action.ACCESS if command.passive else Action.CREATE,
                command.exchange or "",
                command.type or "",
                command.alternate_exchange or "",
                durable=command.durable,
                auto_delete=command.auto_delete,
            )
        if isinstance(command, spec.ExchangeQuery):
            return Asked(Action.ACCESS, ObjectKind.EXCHANGE, command.name or "")
        if isinstance(command, spec.ExchangeDelete):
            exchange = self._host.topology.find_exchange(command.exchange or "")
            if exchange is not None:
                return asking.about_exchange(Action.DELETE, exchange)
        return None

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


def texts(arguments: FieldTable) -> dict[str, str]:
    """Those arguments that qpidd has rules about, as it writes them."""
    found: dict[str, str] = {}
    for key, tagged in arguments:
        if key.startswith(PREFIX):
            value = tagged.value
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found[key[len(PREFIX) :]] = text
    return found


def policy_of(settings: QueueSettings) -> str:
    """The policy that a queue was declared with; "" for none."""
    octets = settings.arguments
    return texts(read_map(Reader(octets))).get("policy_type", "") if octets else ""
