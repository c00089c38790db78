"""What brokers that take the queues over can do, and what is to be made at them.

target        what each target says
artemis       broker.xml
rabbitmq      definitions
servicebus    a template of Azure Resource Manager

A queue that a target cannot make as it is stays in the gateway's own store, with its discipline.
"""

from __future__ import annotations

from typing import Final

from gateway.migration.targets.artemis import Artemis
from gateway.migration.targets.rabbitmq import RabbitMQ
from gateway.migration.targets.servicebus import ServiceBus
from gateway.migration.targets.target import Target

LOCAL: Final = "local"
OLD: Final = "old"  # the broker that was surveyed, in front of which the gateway stands first
TARGETS: Final[dict[str, type[Target]]] = {
    "artemis": Artemis,
    "rabbitmq": RabbitMQ,
    "servicebus": ServiceBus,
}
NAMES: Final = (LOCAL, OLD, *TARGETS)
