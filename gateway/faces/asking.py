"""Questions about nodes of the bridge, in the words of access rules.

What qpidd looks up for each is `permissions.qpidd_lookups`; its values for what a queue was
declared without are those of its own defaults, but for the size: a queue is as large here as the
gateway's configuration says.
"""

from __future__ import annotations

from typing import Final

from gateway.bridge.exchanges.exchange import DIRECT, TOPIC, Exchange
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import ALL, ITSELF, NO, PATTERN, YES, Asked, flag

NO_LIMIT: Final = str(2**64 - 1)
FILE_COUNT: Final = "8"
FILE_SIZE: Final = "24"
REJECT: Final = "reject"


def _yes(value: bool) -> int:
    return YES if value else NO


def _settings(settings: QueueSettings) -> dict[str, str]:
    return {
        "alternate": settings.alternate_exchange,
        "durable": flag(settings.durable),
        "exclusive": flag(settings.exclusive),
        "autodelete": flag(settings.auto_delete),
    }


def is_temporary(settings: QueueSettings) -> bool:
    """Whether a queue goes with its client, or with its last consumer."""
    passing = settings.exclusive and not settings.durable
    return settings.auto_delete or settings.dynamic or passing


def look_up_queue(asked: Asked, queue: Queue) -> None:
    """What a question about a queue leaves open, the queue says."""
    settings = queue.settings
    asked.durable = _yes(settings.durable)
    asked.exclusive = _yes(settings.exclusive)
    asked.temporary = _yes(is_temporary(settings))


def look_up_exchange(asked: Asked, exchange: Exchange) -> None:
    """The same of an exchange."""
    asked.durable = _yes(exchange.durable)
    asked.temporary = _yes(exchange.auto_delete or exchange.dynamic)


def look_up_binding(asked: Asked, exchange: Exchange | None) -> None:
    """What the key of a question about a binding is for.

    Where there is no exchange it is a pattern: so it will be if a rule makes one that lives at an
    upstream. Such a one that was declared as a direct exchange is of the type that it has there.
    """
    if exchange is None or (exchange.placement is not None and exchange.type == DIRECT):
        asked.meant = PATTERN
    else:
        asked.meant = meant_by(exchange.type)


def meant_by(type: str) -> int:
    """Which messages a binding's key is for, by the type of the exchange."""
    if type == DIRECT:
        return ITSELF
    return PATTERN if type == TOPIC else ALL


def about_queue(
    action: Action, name: str, settings: QueueSettings, properties: dict[str, str] | None
) -> Asked:
    """A question about a queue that is there, or is to be."""
    return Asked(
        action,
        ObjectKind.QUEUE,
        name,
        durable=_yes(settings.durable),
        exclusive=_yes(settings.exclusive),
        temporary=_yes(is_temporary(settings)),
        properties=properties,
    )


def to_create_queue(
    name: str, settings: QueueSettings, arguments: dict[str, str], size_default: int, exists: bool
) -> Asked:
    """To declare a queue; `arguments`: those of qpidd's that are given, without their prefix."""
    properties = _settings(settings)
    properties["policytype"] = arguments.get("policy_type", REJECT)
    properties["paging"] = arguments.get("paging", flag(False))
    if "max_count" in arguments:
        properties["maxqueuecount"] = _limit(arguments["max_count"])
    properties["maxqueuesize"] = _limit(arguments.get("max_size", str(size_default)))
    if settings.durable:
        properties["maxfilecount"] = arguments.get("file_count", FILE_COUNT)
        properties["maxfilesize"] = arguments.get("file_size", FILE_SIZE)
    asked = about_queue(Action.CREATE, name, settings, properties)
    asked.exists = exists
    return asked


def _limit(value: str) -> str:
    return NO_LIMIT if value == "0" else value


def to_check_queue(name: str, settings: QueueSettings, arguments: dict[str, str]) -> Asked:
    """To declare a queue passively."""
    properties = _settings(settings)
    properties["policytype"] = arguments.get("policy_type", "")
    properties["maxqueuecount"] = arguments.get("max_count", "0")
    properties["maxqueuesize"] = arguments.get("max_size", "0")
    return Asked(Action.ACCESS, ObjectKind.QUEUE, name, properties=properties)


def to_delete_queue(queue: Queue, policy_type: str) -> Asked:
    """To delete a queue."""
    return to_delete_declared(queue.name, queue.settings, policy_type, queue.owner is not None)


def to_delete_declared(
    name: str, settings: QueueSettings, policy_type: str, exclusive: bool
) -> Asked:
    """To delete a queue that was declared so; `exclusive`: somebody has it for itself now."""
    properties = _settings(settings)
    properties["exclusive"] = flag(exclusive)
    properties["policytype"] = policy_type or REJECT
    if not settings.alternate_exchange:
        del properties["alternate"]
    return about_queue(Action.DELETE, name, settings, properties)


def to_use_queue(action: Action, name: str, queue: Queue | None) -> Asked:
    """To consume, browse, purge or ask about a queue, by its name."""
    if queue is None:
        return Asked(action, ObjectKind.QUEUE, name)
    return about_queue(action, name, queue.settings, None)


def to_attach_queue(queue: Queue) -> Asked:
    """To attach a link to a queue: to ask about it, as qpidd sees it."""
    properties = _settings(queue.settings)
    properties["exclusive"] = flag(queue.owner is not None)
    if not queue.settings.alternate_exchange:
        del properties["alternate"]
    return about_queue(Action.ACCESS, queue.name, queue.settings, properties)


def to_declare_exchange(
    action: Action, name: str, type: str, alternate: str, *, durable: bool, auto_delete: bool
) -> Asked:
    """To declare an exchange, or to do so passively (`ACCESS`)."""
    properties = {
        "type": type,
        "alternate": alternate,
        "durable": flag(durable),
        "autodelete": flag(auto_delete),
    }
    return Asked(
        action,
        ObjectKind.EXCHANGE,
        name,
        durable=_yes(durable),
        temporary=_yes(auto_delete),
        properties=properties,
    )


def to_hide(exchange: Exchange) -> Asked:
    """The question whether somebody may make an exchange that is there."""
    asked = to_declare_exchange(
        Action.CREATE,
        exchange.name,
        exchange.type,
        exchange.alternate_exchange,
        durable=exchange.durable,
        auto_delete=exchange.auto_delete,
    )
    look_up_exchange(asked, exchange)
    return asked


def about_exchange(action: Action, exchange: Exchange) -> Asked:
    """To delete an exchange, or to attach a link to it (`ACCESS`)."""
    properties = {"type": exchange.type, "durable": flag(exchange.durable)}
    if action == Action.DELETE and exchange.alternate_exchange:
        properties["alternate"] = exchange.alternate_exchange
    return Asked(
        action,
        ObjectKind.EXCHANGE,
        exchange.name,
        durable=_yes(exchange.durable),
        temporary=_yes(exchange.auto_delete or exchange.dynamic),
        properties=properties,
    )
