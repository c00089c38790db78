"""Whether a client may come near a node, and send it one message: what links ask, and messages.

By qpidd's rules access to a node is a question of its own (`AccessRules.asks_access`).
"""

from __future__ import annotations

from gateway.faces import asking
from gateway.faces.client import Client
from gateway.message import Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked
from gateway.translate.addresses import Node


def message_refusal(client: Client, node: Node, key: str, relayed: str) -> Refusal | None:
    """Why a message may not go to a node; `relayed`: it names that itself, so."""
    access = client.access
    if relayed:
        refusal = access_refusal(client, node)
        if refusal is not None:
            return refusal
    if access.permits.open and node.exchange:
        return None
    return client.publish_access.refusal(node.exchange, key, relayed)


def hidden_refusal(
    client: Client, action: Action, address: str, node: Node | None
) -> Refusal | None:
    """Why a client may not hear of a node that it names, or that there is none.

    In the same words for each: who may do nothing with it hears neither that it is nor what.
    """
    access = client.access
    if not access.permits.hides:
        return None
    queue, exchange = ("", "") if node is None else (node.queue, node.exchange)
    if access.sees(address, queue, exchange):
        return None
    return access.refusal(Asked(action, ObjectKind.QUEUE, address))


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
