"""Nodes that are made where a link finds none of the name: capability create-on-demand.

No specification has it: clients of qpid::messaging ask for it ("create: always"), and a qpidd does
it. Whoever may declare the same by 0-10 may; what is there stays as it is, and whoever asks for its
properties is told those that it has.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0._spec import Source, Target
from gateway.faces.arguments.of_nodes import NodeWish, wish_of
from gateway.faces.arguments.of_queues import encoded
from gateway.faces.server_1_0 import permissions
from gateway.faces.server_1_0.links import Links
from gateway.message import Refusal
from gateway.translate.addresses import TOPIC_NAME, Capability, Node, capability_of

ON_DEMAND: Final = "create-on-demand"


def wants(terminus: Source | Target, found: Node | None) -> bool:
    """Whether a node is to be made; a topic that is nothing but a name is none that is there."""
    if ON_DEMAND not in (terminus.capabilities or []):
        return False
    return found is None or found.row == TOPIC_NAME


def make(links: Links, terminus: Source | Target, address: str) -> Node | Refusal:
    """A node of that name, which the client has asked for."""
    topic = capability_of(terminus.capabilities or []) == Capability.TOPIC
    wish = wish_of(terminus.dynamic_node_properties, topic=topic, named=True)
    if isinstance(wish, Refusal):
        return wish
    refusal = permissions.creation_refusal(links, address, wish)
    if refusal is not None:
        return refusal
    refusal = _declare(links, wish, address)
    links.client.making.created()
    if refusal is not None:
        return refusal
    if wish.ignored:
        links.client.uses.ignore(wish.ignored)
    if topic:
        return Node(exchange=address, key=None, row=0)
    return Node(queue=address, key=None, row=0)


def _declare(links: Links, wish: NodeWish, name: str) -> Refusal | None:
    declaring = links.client.host.declaring
    settings = wish.settings
    if not wish.topic:
        queue = declaring.declare_queue(name, settings, links.owner)
        return queue if isinstance(queue, Refusal) else None
    exchange = declaring.declare_exchange(
        name,
        wish.type,
        durable=settings.durable,
        auto_delete=settings.auto_delete,
        alternate_exchange=settings.alternate_exchange,
        arguments=encoded(wish.marks.told()),
        numbers=wish.marks.numbers,
        remembers=wish.marks.remembers,
    )
    return exchange if isinstance(exchange, Refusal) else None
