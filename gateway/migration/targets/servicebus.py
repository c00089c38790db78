"""Azure Service Bus: a template of Azure Resource Manager, by Microsoft's documents."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import ClassVar, Final, final

from gateway.bridge.queues.discipline import Policy
from gateway.migration.planned_nodes import PlannedNodes, PlannedQueue
from gateway.migration.targets.target import Taken, Target, notes, unlike_any

SCHEMA: Final = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
TYPE: Final = "Microsoft.ServiceBus/namespaces/queues"
VERSION: Final = "2021-11-01"
NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?")
MEBIBYTE: Final = 1024 * 1024
SIZES: Final = (1024, 2048, 3072, 4096, 5120)  # in MiB, of which a queue may have one


@final
class ServiceBus(Target):
    """See `Target`."""

    profile: ClassVar[str] = "azure-service-bus"
    host: ClassVar[str] = "amqps://NAMESPACE.servicebus.windows.net:5671"
    file: ClassVar[str] = "servicebus.json"
    how: ClassVar[str] = (
        "az deployment group create --resource-group GROUP --template-file servicebus.json"
        " --parameters namespace=NAMESPACE"
    )

    def problem(self, planned: PlannedQueue) -> str:
        """See `Target`."""
        settings = planned.fates.settings
        discipline = settings.discipline
        lacking = {
            "its name": not NAME.fullmatch(planned.name),
            "a ring": discipline.policy == Policy.RING,
            "a limit of messages": settings.max_count > 0,
            f"a size of more than {SIZES[-1]} MiB": settings.max_size > SIZES[-1] * MEBIBYTE,
            "priorities": discipline.levels > 0,
            "last values": discipline.last_value_key != "",
            "browsing": discipline.browse_only,
            "a filter of what enters": discipline.filter != "",
        }
        return next((what for what, lacks in lacking.items() if lacks), unlike_any(planned))

    def take(self, planned: PlannedQueue, nodes: PlannedNodes) -> Taken:
        """See `Target`."""
        largest = planned.fates.settings.max_size
        size = next(each for each in SIZES if largest <= each * MEBIBYTE)
        told = notes(planned)
        if largest:
            told.append(f"it may hold {size} MiB there, the next size that there is")
        if planned.queue.alternate_exchange:
            dead = f"{planned.name}/$deadletterqueue"
            told.append(f"what consumers reject goes to {dead}, not to its alternate")
        made = {"maxSizeInMegabytes": size, "deadLetteringOnMessageExpiration": False}
        return Taken(planned, made, told)

    def written(self, taken: Sequence[Taken], nodes: PlannedNodes) -> str:
        """See `Target`."""
        template = {
            "$schema": SCHEMA,
            "contentVersion": "1.0.0.0",
            "parameters": {"namespace": {"type": "string"}},
            "resources": [
                {
                    "type": TYPE,
                    "apiVersion": VERSION,
                    "name": f"[concat(parameters('namespace'), '/{_inside(each)}')]",
                    "properties": each.made,
                }
                for each in taken
            ],
        }
        return json.dumps(template, indent=2) + "\n"


def _inside(taken: Taken) -> str:
    """A slash in an entity's name is a tilde in that of a resource."""
    return taken.planned.name.replace("/", "~")
