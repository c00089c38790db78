"""Nodes that a 1.0 client had made: named by the gateway, deleted by their lifetime policy (3.5.9).

One `DynamicNodes` a virtual host, shared by all faces: links of any connection count. Anybody may
send to such a node; while the link that it was made for lives, it serves consumers of that
connection only, as JMS has it of temporary destinations.
"""

from __future__ import annotations

import secrets
from typing import Final, final

from gateway.amqp_1_0 import _spec
from gateway.bridge.host import VirtualHost
from gateway.bridge.seams import Owner
from gateway.faces.arguments.of_nodes import NodeWish
from gateway.faces.arguments.of_queues import encoded
from gateway.message import Refusal

NAME_PART_MAX: Final = 64
TAG_OCTETS: Final = 12


@final
class DynamicNode:
    """One such node.

    Attributes:
        policy: its lifetime policy's descriptor.
        topic: it is an exchange, else a queue.
        links: how many links it has now.
        created_by_alive: the link that it was made for still is.
    """

    __slots__ = ("created_by_alive", "links", "name", "policy", "topic")

    def __init__(self, name: str, policy: int, topic: bool) -> None:
        self.name = name
        self.policy = policy
        self.topic = topic
        self.links = 0
        self.created_by_alive = True


@final
class DynamicNodes:
    """Those of one virtual host."""

    __slots__ = ("_nodes", "host")

    def __init__(self, host: VirtualHost) -> None:
        self.host = host
        self._nodes: dict[str, DynamicNode] = {}

    def name(self, container: str, link: str) -> str:
        """A name that nothing has, and that tells whom the node is for.

        Nobody guesses it: who knows it was told, by whoever the node is for.
        """
        topology = self.host.topology
        whom = f"{container[:NAME_PART_MAX]}.{link[:NAME_PART_MAX]}".replace("/", "_")
        while True:
            name = f"{whom}.{secrets.token_hex(TAG_OCTETS)}"
            if name not in topology.queues and name not in topology.exchanges:
                return name

    def make(self, name: str, wish: NodeWish, owner: Owner) -> DynamicNode | Refusal:
        """A new queue, or exchange, of a name that is fresh."""
        if wish.topic:
            exchange = self.host.declaring.declare_exchange(
                name,
                wish.type,
                alternate_exchange=wish.settings.alternate_exchange,
                arguments=encoded(wish.marks.told()),
                numbers=wish.marks.numbers,
                remembers=wish.marks.remembers,
            )
            if isinstance(exchange, Refusal):
                return exchange
            exchange.dynamic = True
            exchange.serves = owner.connection_id()
        else:
            queue = self.host.declaring.declare_queue(name, wish.settings, owner)
            if isinstance(queue, Refusal):
                return queue
            queue.settings.dynamic = True
            queue.settings.serves = owner.connection_id()
        node = DynamicNode(name, wish.policy, wish.topic)
        self._nodes[name] = node
        return node

    def on_attached(self, name: str) -> None:
        """A link has this node as its source or target."""
        node = self._nodes.get(name)
        if node is not None:
            node.links += 1

    def on_detached(self, name: str, *, creator: bool) -> None:
        """Such a link is gone; `creator`: the one that the node was made for."""
        node = self._nodes.get(name)
        if node is not None:
            node.links -= 1
            if creator:
                node.created_by_alive = False
                self._open(node)
            self._review(node)

    def on_settled(self, name: str) -> None:
        """Messages may have left the node."""
        node = self._nodes.get(name)
        if node is not None:
            self._review(node)

    def _open(self, node: DynamicNode) -> None:
        """Whoever it was made for is gone: what is in it may be anybody's."""
        queue = self.host.topology.find_queue(node.name)
        exchange = self.host.topology.find_exchange(node.name)
        if node.topic and exchange is not None:
            exchange.serves = 0
        elif not node.topic and queue is not None:
            queue.settings.serves = 0

    def _review(self, node: DynamicNode) -> None:
        if node.created_by_alive:
            return  # never shorter than the link that caused it
        queue = None if node.topic else self.host.topology.find_queue(node.name)
        empty = queue is None or queue.depth == 0
        over = True
        if node.policy in (_spec.DELETE_ON_NO_LINKS, _spec.DELETE_ON_NO_LINKS_OR_MESSAGES):
            over = node.links <= 0
        if node.policy in (_spec.DELETE_ON_NO_MESSAGES, _spec.DELETE_ON_NO_LINKS_OR_MESSAGES):
            over = over and empty
        if over:
            del self._nodes[node.name]
            if node.topic:
                self.host.declaring.delete_exchange(node.name)
            elif queue is not None:
                self.host.declaring.delete_queue(node.name, queue.owner)
