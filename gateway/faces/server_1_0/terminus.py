"""What is answered to an attach, the same for the sources and the targets of 1.0 clients."""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Attach, Source, Target
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.bridge.host import VirtualHost
from gateway.faces.arguments.of_nodes import DURABLE, told_of_exchange, told_of_queue, wish_of
from gateway.message import Refusal
from gateway.translate.addresses import Capability, Node, capability_of

OF_QUEUES: Final = frozenset(("queue", "temporary-queue"))
OFFERED: Final = OF_QUEUES | {"topic", "temporary-topic", "create-on-demand"}


def snd_settle_mode(attach: Attach) -> int:
    """The client's, or mixed."""
    return _spec.SND_MIXED if attach.snd_settle_mode is None else attach.snd_settle_mode


def granted(asked: list[str], properties: Fields | None, *, queue: bool = True) -> list[str] | None:
    """Those of the capabilities asked for that a terminus has; `None` for none.

    `properties`: those of its node that the client is told; `queue`: it may be one.
    """
    offered = OFFERED if queue else OFFERED - OF_QUEUES
    durable = (properties or {}).get(DURABLE)
    if durable is not None and durable.value is True:
        offered |= {DURABLE}  # as clients of qpid::messaging have it, beside the property
    return [capability for capability in asked if capability in offered] or None


def made_by(terminus: Source | Target) -> Fields:
    """The dynamic-node-properties of a node that was made for a terminus."""
    topic = capability_of(terminus.capabilities or []) == Capability.TOPIC
    wish = wish_of(terminus.dynamic_node_properties, topic=topic)
    assert not isinstance(wish, Refusal)
    return wish.in_place(terminus.dynamic_node_properties or {})


def told(host: VirtualHost, node: Node | None, terminus: Source | Target) -> Fields | None:
    """The properties that a node has, of those that a terminus names."""
    asked = terminus.dynamic_node_properties
    if not asked or node is None:
        return None
    if node.queue:
        queue = host.topology.find_queue(node.queue)
        return None if queue is None else told_of_queue(queue.settings, asked)
    exchange = host.topology.find_exchange(node.exchange)
    return None if exchange is None else told_of_exchange(exchange, asked)
