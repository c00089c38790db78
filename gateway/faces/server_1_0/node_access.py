"""Whether a client may come near a node, and send it one message: what links ask, and messages.

By qpidd's rules access to a node is a question of its own (`AccessRules.asks_access`).
"""

from __future__ import annotations

from gateway.faces import asking
from gateway.faces.client import Client
from gateway.message import Refusal
from gateway.permissions.actions import Action
from gateway.translate.addresses import Node


def message_refusal(client: Client, node: Node, key: str, *, relayed: bool) -> Refusal | None:
    """Why a message may not go to a node; `relayed`: it names that itself."""
    access = client.access
    if relayed:
        refusal = access_refusal(client, node)
        if refusal is not None:
            return refusal
    if access.permits.open and node.exchange:
        return None
    return access.publish_refusal(node.exchange, key)


def access_refusal(client: Client, node: Node) -> Refusal | None:
    """Why a client may not come near a node that is there."""
    topology = client.host.topology
    access = client.access
    if not access.permits.asks_access:
        return None
    if node.queue:
        queue = topology.find_queue(node.queue)
        return None if queue is None else access.refusal(asking.to_attach_queue(queue))
    exchange = topology.find_exchange(node.exchange)
    if exchange is None:
        return None
    return access.refusal(asking.about_exchange(Action.ACCESS, exchange))
