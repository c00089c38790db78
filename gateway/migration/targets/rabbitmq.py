"""RabbitMQ: definitions, with the exchanges and bindings, too, for who uses them there later.

Bindings with selectors are left out: there they would be bindings to everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Final, final

from gateway.bridge.queues.discipline import Policy
from gateway.migration.arguments import known
from gateway.migration.document import Exchange
from gateway.migration.planned_nodes import PlannedNodes, PlannedQueue, selects
from gateway.migration.targets.target import Taken, Target, notes, unlike_any

VIRTUAL_HOST: Final = "/"
OVERFLOW: Final = {Policy.REJECT: "reject-publish", Policy.RING: "drop-head"}
RESERVED: Final = "amq."


@final
class RabbitMQ(Target):
    """See `Target`."""

    profile: ClassVar[str] = "rabbitmq4"
    host: ClassVar[str] = "amqp://new-broker:5672"
    file: ClassVar[str] = "rabbitmq-definitions.json"
    how: ClassVar[str] = "rabbitmqctl import_definitions rabbitmq-definitions.json"

    def problem(self, planned: PlannedQueue) -> str:
        """See `Target`."""
        discipline = planned.fates.settings.discipline
        if planned.name.startswith(RESERVED):
            return f"a name that begins with {RESERVED}"
        if discipline.last_value_key:
            return "last values"
        if discipline.browse_only:
            return "browsing"
        if discipline.filter:
            return "a filter of what enters"
        return unlike_any(planned)

    def take(self, planned: PlannedQueue, nodes: PlannedNodes) -> Taken:
        """See `Target`."""
        return Taken(planned, {"arguments": _arguments(planned)}, notes(planned))

    def written(self, taken: Sequence[Taken], nodes: PlannedNodes) -> str:
        """See `Target`."""
        queues = {each.planned.name for each in taken}
        definitions: dict[str, Any] = {  # Any: what JSON holds
            "vhosts": [{"name": VIRTUAL_HOST}],
            "queues": [
                {
                    "name": each.planned.name,
                    "vhost": VIRTUAL_HOST,
                    "durable": True,
                    "auto_delete": False,
                    "arguments": each.made["arguments"],
                }
                for each in taken
            ],
            "exchanges": [_exchange(each) for each in nodes.exchanges],
            "bindings": [
                {
                    "source": each.exchange,
                    "vhost": VIRTUAL_HOST,
                    "destination": each.queue,
                    "destination_type": "queue",
                    "routing_key": each.key,
                    "arguments": known(each.arguments),
                }
                for each in nodes.bindings
                if each.queue in queues and not selects(each.arguments)
            ],
        }
        return json.dumps(definitions, indent=2, ensure_ascii=False) + "\n"


def _arguments(planned: PlannedQueue) -> dict[str, object]:
    settings = planned.fates.settings
    discipline = settings.discipline
    found: dict[str, object] = {"x-queue-type": "classic"}
    if discipline.policy in OVERFLOW and (settings.max_count or settings.max_size):
        found["x-overflow"] = OVERFLOW[discipline.policy]
        if settings.max_count:
            found["x-max-length"] = settings.max_count
        if settings.max_size:
            found["x-max-length-bytes"] = settings.max_size
    if discipline.levels:
        found["x-max-priority"] = discipline.levels - 1
    if planned.queue.alternate_exchange:
        found["x-dead-letter-exchange"] = planned.queue.alternate_exchange
    return found


def _exchange(exchange: Exchange) -> dict[str, object]:
    arguments: dict[str, object] = {}
    if exchange.alternate_exchange:
        arguments["alternate-exchange"] = exchange.alternate_exchange
    return {
        "name": exchange.name,
        "vhost": VIRTUAL_HOST,
        "type": exchange.type,
        "durable": True,
        "auto_delete": False,
        "internal": False,
        "arguments": arguments,
    }
