"""What a 1.0 link asks for, in the words of access rules.

As qpidd asks: for access to the node, and for what is to be done with it; a link from an exchange
makes, binds and consumes a queue. By which keys somebody publishes to an exchange, or whereto by
the anonymous terminus, each message says.
"""

from __future__ import annotations

from typing import Final

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.seams import QueueSettings
from gateway.faces import asking
from gateway.faces.arguments.of_nodes import NodeWish
from gateway.faces.arguments.of_queues import texts
from gateway.faces.server_1_0.consumer import Consumer
from gateway.faces.server_1_0.links import Links
from gateway.faces.server_1_0.node_access import access_refusal, hidden_refusal
from gateway.message import Condition, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import YES, Asked, binding, publishing
from gateway.translate.addresses import Capability, Node

RELAY: Final = "ANONYMOUS-RELAY"  # what qpidd calls the anonymous terminus
KINDS: Final = {
    Capability.ANY: (ObjectKind.EXCHANGE, ObjectKind.QUEUE),
    Capability.QUEUE: (ObjectKind.QUEUE,),
    Capability.TOPIC: (ObjectKind.EXCHANGE,),
}


def name_refusal(
    links: Links, address: str, node: Node | None, capability: Capability
) -> Refusal | None:
    """Why a client may not even name a node, whatever it is; of EXCHANGE/KEY it is the exchange.

    `node`: what there is of that address.
    """
    access = links.client.access
    if not access.permits.asks_access:
        return None
    if node is not None and node.key is not None:
        address = node.exchange
    for kind in KINDS[capability]:
        refusal = access.refusal(Asked(Action.ACCESS, kind, address, properties={}))
        if refusal is not None:
            return refusal
    return None


def not_found(links: Links, action: Action, address: str, capability: Capability) -> Refusal:
    """There is no such node; who may not ask about it does not hear that."""
    access = links.client.access
    kind = "queue" if capability == Capability.QUEUE else "node"  # there may be an exchange
    unknown = Refusal(Condition.NOT_FOUND, f"there is no {kind} {address!r}")
    if access.permits.hides:
        return hidden_refusal(links.client, action, address, None) or unknown
    exchange = Asked(Action.ACCESS, ObjectKind.EXCHANGE, address, properties={})
    refusal = None
    if not access.may(exchange):
        refusal = access.refusal(Asked(Action.ACCESS, ObjectKind.QUEUE, address, properties={}))
    return refusal or unknown


def producer_refusal(links: Links, node: Node | None) -> Refusal | None:
    """Why a client may not publish to a node; `None`: it may, or each message is asked for."""
    access = links.client.access
    permits = access.permits
    if not permits.asks_access and node is None:
        return None
    if node is None:
        return access.refusal(Asked(Action.ACCESS, ObjectKind.EXCHANGE, RELAY, properties={}))
    refusal = None
    if node.queue:
        refusal = access.refusal(publishing("", node.queue))
    elif not permits.open:
        asked = Asked(Action.PUBLISH, ObjectKind.EXCHANGE, node.exchange)
        if node.key is not None:
            asked = publishing(node.exchange, node.key)
        refusal = access.refusal(asked)
    return refusal or access_refusal(links.client, node)


def consumer_refusal(links: Links, queue: str, *, acquire: bool) -> Refusal | None:
    """Why a client may not receive from a queue."""
    found = links.client.host.topology.find_queue(queue)
    action = Action.CONSUME if acquire else Action.BROWSE
    refusal = links.client.access.refusal(asking.to_use_queue(action, queue, found))
    return refusal or access_refusal(links.client, Node(queue=queue, key=None, row=0))


def creation_refusal(links: Links, name: str, wish: NodeWish) -> Refusal | None:
    """Why no node may be made for a client."""
    settings = wish.settings
    alternate = settings.alternate_exchange
    if not wish.named:
        # It goes with the link, whatever it is declared as.
        settings = QueueSettings(
            auto_delete=True, exclusive=settings.exclusive, alternate_exchange=alternate
        )
    if not wish.topic:
        return _create_refusal(links, name, settings, texts(wish.arguments))
    asked = asking.to_declare_exchange(
        Action.CREATE,
        name,
        wish.type,
        alternate,
        durable=settings.durable,
        auto_delete=settings.auto_delete,
    )
    return links.client.making.refusal(asked)


def _create_refusal(
    links: Links, name: str, settings: QueueSettings, arguments: dict[str, str]
) -> Refusal | None:
    client = links.client
    exists = client.host.topology.find_queue(name) is not None
    size = client.bridge.queue_size_default
    asked = asking.to_create_queue(name, settings, arguments, size, exists)
    return client.making.refusal(asked)


def subscription_refusal(
    links: Links, exchange: Exchange, key: str, queue: str, settings: QueueSettings
) -> Refusal | None:
    """Why a client may not receive from an exchange, by a queue of its own."""
    access = links.client.access
    bound = binding(Action.BIND, exchange.name, queue, key)
    bound.own = YES  # as it will be
    refusal = access.refusal(bound)
    if refusal is None:
        node = Node(exchange=exchange.name, key=None, row=0)
        refusal = access_refusal(links.client, node)
    # The link has it for itself.
    settings = QueueSettings(
        durable=settings.durable, exclusive=True, auto_delete=settings.auto_delete
    )
    if refusal is None:
        asked = asking.about_queue(Action.CONSUME, queue, settings, None)
        asked.own = YES
        refusal = access.refusal(asked)
    return refusal or _create_refusal(links, queue, settings, {})


def review(links: Links, consumer: Consumer) -> Refusal | None:
    """Why a link that receives may not go on, by other rules."""
    subscription = consumer.subscription
    if subscription is None:
        return None
    queue = links.client.host.topology.find_queue(subscription.queue_name)
    if queue is None:
        return None
    refusal = consumer_refusal(links, queue.name, acquire=consumer.acquire)
    if refusal is not None or consumer.unsettled.node_name == queue.name:
        return refusal
    for exchange, key in queue.bound_to():
        asked = binding(Action.BIND, exchange, queue.name, key)
        refusal = links.client.access.refusal(asked)
        if refusal is not None:
            return refusal
    return None
