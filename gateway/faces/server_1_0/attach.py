"""Attaching links of 1.0 clients: what a terminus names, and what is answered.

A source is a queue (consumed or browsed), or an exchange, for which a subscription queue is made
and bound; a target is a queue, an exchange, or nothing: the anonymous terminus. Either may ask for
a node to be made. What cannot be is refused with a null terminus (2.6.3). A source at an upstream
is answered when that has answered, and a target when it is known to have it.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Attach, Coordinator, Source, Unsettled
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import KeptThere, QueueSettings, SubscribeOptions, Subscriber
from gateway.faces.arguments.of_nodes import wish_of
from gateway.faces.features import EXCHANGES, Feature
from gateway.faces.leaving import DELIVERY_OCTETS
from gateway.faces.outcomes import default_of, error_of, outcome_of
from gateway.faces.placed import JMS_SELECTOR, is_remote_exchange, is_remote_queue, selector_of
from gateway.faces.server_1_0 import on_demand, permissions
from gateway.faces.server_1_0.approach import Approach, answer_producer
from gateway.faces.server_1_0.consumer import Asked, Consumer
from gateway.faces.server_1_0.lasting_source import Lasting, is_durable, kept_s
from gateway.faces.server_1_0.links import Links
from gateway.faces.server_1_0.node_access import hidden_refusal
from gateway.faces.server_1_0.suspended import key_of
from gateway.faces.server_1_0.terminus import made_by, told
from gateway.faces.source_filters import Wanted, binding_key, read_filters
from gateway.message import MODIFIED_FAILED, Condition, Kind, Refusal
from gateway.permissions.actions import Action
from gateway.translate.addresses import (
    Capability,
    Node,
    capability_of,
    resolve,
    resolve_target,
    without_host,
)
from gateway.wire.accounts import weigh
from gateway.wire.tagged import Tagged

SHARED: Final = "shared"
TOO_MUCH: Final = Refusal(
    Condition.RESOURCE_LIMIT_EXCEEDED, "the connection has too much that is kept for it"
)


def attach_producer(links: Links, link: Link, attach: Attach) -> Refusal | None:
    """A client wants to send: answer its attach, or say why not."""
    target = attach.target
    if isinstance(target, Coordinator):
        links.attach_control(link, attach)
        return None
    if target is None:
        return Refusal(Condition.INVALID_ARGUMENT, "an attach of a sender without a target")
    asked = target.capabilities or []
    unsettled = attach.unsettled
    made = ""
    node: Node | None = None
    if target.dynamic is True:
        created = _make(links, attach, target.address, target.dynamic_node_properties, asked)
        if isinstance(created, Refusal):
            return created
        node = created
        made = node.queue or node.exchange
    elif target.address is not None:
        capability = capability_of(asked)
        address = without_host(target.address)
        node = resolve_target(address, capability, links.client.nodes)
        if node is not None and node.exchange and capability == Capability.QUEUE:
            capability = Capability.ANY
        refusal = permissions.name_refusal(links, address, node, capability)
        if refusal is None and node is not None:
            refusal = hidden_refusal(links.client, Action.PUBLISH, address, node)
        if refusal is not None:
            return refusal
        if on_demand.wants(target, node):
            created = on_demand.make(links, target, address)
            if isinstance(created, Refusal):
                return created
            node = created
        if node is None:
            return permissions.not_found(links, Action.PUBLISH, address, capability)
    refusal = permissions.producer_refusal(links, node) or _closed_to_senders(links, node)
    if refusal is not None:
        return _unmade(links, made, refusal)
    if node is not None and node.exchange in EXCHANGES:
        _count(links, EXCHANGES[node.exchange])
    if node is not None and node.queue and not made:
        approach = Approach(links, link, attach, node)
        if is_remote_queue(links.client.host, node.queue) and not _keep_all(link, unsettled):
            return TOO_MUCH
        if links.client.host.reaching.reach(node.queue, approach, 0):
            link.context = approach
            links.add_approach(link)
            return None
    answer_producer(links, link, attach, node, unsettled, made)
    return None


def _keep_all(link: Link, unsettled: Unsettled | None) -> bool:
    """Keep what is needed of the attach to answer it later; whether there is room for that."""
    return link.keep(DELIVERY_OCTETS * len(unsettled or {})) and link.keep_decoded()


def _closed_to_senders(links: Links, node: Node | None) -> Refusal | None:
    """A durable subscription gets what its exchange has for it, and from nobody by its name."""
    queue = None if node is None else links.client.host.topology.queues.get(node.queue)
    if queue is None or queue.settings.subscriber is None:
        return None
    return links.client.publish_access.closed_refusal(queue)


def _make(
    links: Links,
    attach: Attach,
    address: str | None,
    properties: Fields | None,
    asked: list[str],
) -> Node | Refusal:
    """A node for a dynamic terminus."""
    if address is not None:
        return Refusal(Condition.INVALID_ARGUMENT, "a dynamic terminus with an address")
    capability = capability_of(asked)
    topic = capability == Capability.TOPIC
    wish = wish_of(properties, topic=topic)
    if isinstance(wish, Refusal):
        return wish
    name = links.dynamics.name(links.client.container, attach.name)
    refusal = permissions.name_refusal(links, name, None, capability)
    if refusal is None:
        refusal = permissions.creation_refusal(links, name, wish)
    if refusal is not None:
        return refusal
    made = links.dynamics.make(name, wish, links.owner)
    links.client.making.created()
    if isinstance(made, Refusal):
        return made
    if wish.ignored:
        links.client.uses.ignore(wish.ignored)
    if topic:
        return Node(exchange=made.name, key=None, row=0)
    return Node(queue=made.name, key=None, row=0)


def attach_consumer(links: Links, link: Link, attach: Attach) -> Refusal | None:
    """A client wants to receive: answer its attach, or say why not."""
    source = attach.source
    if source is None:
        return _recover(links, link, attach)
    asked = source.capabilities or []
    if SHARED in asked:
        links.client.uses.refuse(Feature.SHARED_SUBSCRIPTION)
        return Refusal(Condition.NOT_IMPLEMENTED, "shared subscriptions are not offered here")
    made = ""
    if source.dynamic is True:
        created = _make(links, attach, source.address, source.dynamic_node_properties, asked)
        if isinstance(created, Refusal):
            return created
        node = created
        made = node.queue or node.exchange
    else:
        named = _named(links, source, capability_of(asked))
        if isinstance(named, Refusal):
            return named
        node = named
    consumer = _consumer(links, link, attach, source, node, made)
    refusal: Refusal | None  # mypyc infers none
    if node.queue:
        refusal = _consume(links, consumer, node.queue, source)
    else:
        refusal = _subscribe(links, consumer, node, attach, source)
    return refusal if refusal is None else _unmade(links, made, refusal)


def _named(links: Links, source: Source, capability: Capability) -> Node | Refusal:
    """The node of a source's address, if the client may hear of it."""
    address = without_host(source.address or "")
    node = resolve(address, capability, links.client.nodes)
    refusal = permissions.name_refusal(links, address, node, capability)
    copies = source.distribution_mode == _spec.DISTRIBUTION_COPY
    action = Action.BROWSE if copies else Action.CONSUME
    if refusal is None and node is not None:
        refusal = hidden_refusal(links.client, action, address, node)
    if refusal is None and on_demand.wants(source, node):
        return on_demand.make(links, source, address)
    if refusal is None and node is None:
        refusal = permissions.not_found(links, action, address, capability)
    if refusal is not None:
        return refusal
    assert node is not None
    return node


def _unmade(links: Links, made: str, refusal: Refusal) -> Refusal:
    """The link that a node was made for comes to nothing: the node goes, too."""
    if made:
        links.dynamics.on_attached(made)
        links.dynamics.on_detached(made, creator=True)
    return refusal


def _consumer(
    links: Links, link: Link, attach: Attach, source: Source, node: Node | None, made: str
) -> Consumer:
    default = outcome_of(default_of(source.default_outcome))
    return Consumer(
        links.client,
        links.transactions,
        links.dynamics,
        links,
        link,
        node_name="" if node is None else node.queue or node.exchange,
        dynamic=made,
        properties=made_by(source) if made else told(links.client.host, node, source),
        settled=attach.snd_settle_mode == _spec.SND_SETTLED,
        acquire=source.distribution_mode != _spec.DISTRIBUTION_COPY,
        default_outcome=MODIFIED_FAILED if default is None else default,
        jms=capability_of(source.capabilities or []) != Capability.ANY,
    )


def _consume(links: Links, consumer: Consumer, queue: str, source: Source) -> Refusal | None:
    """Consume or browse a queue."""
    refusal = permissions.consumer_refusal(links, queue, acquire=consumer.acquire)
    if refusal is not None:
        return refusal
    remote = is_remote_queue(links.client.host, queue)
    wanted = _filters(links, consumer.link, source, None, remote=remote)
    if isinstance(wanted, Refusal):
        return wanted
    bridged = links.client.host.subscribing.subscribe(
        queue,
        consumer,
        links.owner,
        SubscribeOptions(
            acquire=consumer.acquire,
            settled=consumer.settled,
            filter=wanted.filter,
            selector=wanted.selector if remote else "",
            no_local=wanted.no_local,
        ),
    )
    if isinstance(bridged, Refusal):
        return bridged
    links.add_consumer(consumer)
    if bridged.attaching:
        consumer.subscription = bridged
        consumer.asked = Asked(source, wanted)
        return None
    _outlive(links, consumer, queue, source, may=consumer.acquire and not remote)
    consumer.answer(bridged, source, wanted)
    return None


def _outlive(links: Links, consumer: Consumer, queue: str, source: Source, *, may: bool) -> None:
    """What is unsettled may outlive a link that consumes a queue which is here, for itself."""
    lasting: Lasting | None = None
    if may and kept_s(links.client, source) and not consumer.settled:
        lasting = Lasting(links.client, consumer.link, queue, source)
    consumer.outlive(lasting)


def _subscriber(links: Links, attach: Attach) -> Subscriber:
    client = links.client
    return Subscriber(client.user(), client.container, attach.name)


def _subscribe(
    links: Links, consumer: Consumer, node: Node, attach: Attach, source: Source
) -> Refusal | None:
    """Receive from an exchange: by a queue of the link's own, bound by its filter or address."""
    host = links.client.host
    exchange = host.topology.find_exchange(node.exchange)
    if exchange is None:
        return Refusal(Condition.NOT_FOUND, f"there is no exchange {node.exchange!r}")
    remote = is_remote_exchange(host, exchange.name)
    wanted = _filters(links, consumer.link, source, exchange.type, remote=remote)
    if isinstance(wanted, Refusal):
        return wanted
    key = binding_key(wanted, exchange.type, node.key)
    if isinstance(key, Refusal):
        return key
    arguments = _arguments(wanted)
    durable = is_durable(source)
    if durable and remote and not host.topology.local_nodes:
        return _subscribe_there(links, consumer, exchange, key, attach, source, wanted)
    if durable:
        declared = _durable_queue(links, consumer, attach, exchange, key, arguments)
    else:
        declared = _own_queue(links, attach, exchange, key)
    if isinstance(declared, Refusal):
        return declared
    queue = declared.name
    consumer.acquire = True  # it has the queue for itself, whatever mode it asked for
    bridged = host.subscribing.subscribe(
        queue,
        consumer,
        links.owner,
        SubscribeOptions(exclusive=True, settled=consumer.settled, filter=wanted.filter),
    )
    if isinstance(bridged, Refusal):
        return _undo(links, consumer, queue, durable, bridged)
    if durable:
        _rebind(links, declared, exchange, key, arguments)
    refusal = host.bindings.bind(queue, exchange.name, key, arguments, b"", links.owner)
    if refusal is not None:
        bridged.cancel()
        return _undo(links, consumer, queue, durable, refusal)
    consumer.durable_queue = queue if durable else ""
    links.add_consumer(consumer)
    _outlive(links, consumer, queue, source, may=durable)
    if host.reaching.reach_binding(queue, exchange.name, key, consumer, 0):
        consumer.subscription = bridged
        consumer.asked = Asked(source, wanted, local=True)
    else:
        consumer.answer(bridged, source, wanted)
    return None


def _subscribe_there(
    links: Links,
    consumer: Consumer,
    exchange: Exchange,
    key: str,
    attach: Attach,
    source: Source,
    wanted: Wanted,
) -> Refusal | None:
    """A durable subscription in a group of gateways: the upstream keeps it, for all of them."""
    host = links.client.host
    subscriber = _subscriber(links, attach)
    name = host.durable_subscriptions.free_name(subscriber)
    settings = QueueSettings(durable=True, subscriber=subscriber)
    refusal = permissions.subscription_refusal(links, exchange, key, name, settings)
    if refusal is not None:
        return refusal
    arguments = _arguments(wanted)
    consumer.kept_there = KeptThere(exchange.name, key, arguments, subscriber.key())
    consumer.acquire = True
    bridged = host.subscribing.subscribe_there(
        exchange,
        consumer,
        links.owner,
        SubscribeOptions(
            exclusive=True,
            settled=consumer.settled,
            selector=wanted.selector,
            no_local=wanted.no_local,
            kept_there=consumer.kept_there,
        ),
    )
    if isinstance(bridged, Refusal):
        return bridged
    links.add_consumer(consumer)
    consumer.subscription = bridged
    consumer.asked = Asked(source, wanted)
    return None


def _undo(links: Links, consumer: Consumer, queue: str, durable: bool, refusal: Refusal) -> Refusal:
    """A subscription has come to nothing: so has the queue that was made for it."""
    if durable and not consumer.found:
        links.client.host.declaring.delete_queue(queue, links.owner)
    return refusal


def _own_queue(links: Links, attach: Attach, exchange: Exchange, key: str) -> Queue | Refusal:
    """A queue that goes with the link."""
    name = links.dynamics.name(links.client.container, attach.name)
    settings = QueueSettings(auto_delete=True)
    refusal = permissions.subscription_refusal(links, exchange, key, name, settings)
    if refusal is not None:
        return refusal
    host = links.client.host
    declared = host.declaring.declare_queue(name, settings, links.owner, private=True)
    links.client.making.created()
    if isinstance(declared, Queue):
        host.owners.give(declared, links.owner)  # nobody else binds, empties or deletes it
    return declared


def _durable_queue(
    links: Links,
    consumer: Consumer,
    attach: Attach,
    exchange: Exchange,
    key: str,
    arguments: dict[str, Tagged],
) -> Queue | Refusal:
    """The queue of the client's subscription of that name, made now if it has none.

    With another topic or selector it is another subscription: as if the one before had been deleted
    (JMS 2.0, 8.3.3). So its queue is, with what waits in it, over several turns if that is much.
    """
    client = links.client
    subscriptions = client.host.durable_subscriptions
    subscriber = _subscriber(links, attach)
    queue = subscriptions.find(subscriber)
    if queue is None:
        queue = subscriptions.old(subscriber, exchange.name, key, arguments)
    name = subscriptions.free_name(subscriber) if queue is None else queue.name
    settings = QueueSettings(durable=True, subscriber=subscriber)
    refusal = permissions.subscription_refusal(links, exchange, key, name, settings)
    if refusal is not None:
        return refusal
    consumer.found = queue is not None
    if queue is None:
        made = subscriptions.make(name, subscriber, links.owner)
        client.making.created()
        return made
    if not queue.users.subscriptions and _is_for_another(queue, exchange, key, arguments):
        suspended = client.settings.kept.links.get(key_of(client, attach.name, not attach.role))
        if suspended is not None:
            suspended.end(Reason.LINK_DETACHED)
        client.host.declaring.delete_queue(name, links.owner)
        made = subscriptions.make(name, subscriber, links.owner)
        client.making.created_again(name)
        return made
    if queue.settings.subscriber is None:
        subscriptions.give(queue, subscriber)
    return queue


def _arguments(wanted: Wanted) -> dict[str, Tagged]:
    """The binding's arguments; a selector is among them under the name that 0-10 clients use."""
    arguments = dict(wanted.arguments or {})
    if wanted.selector:
        arguments[JMS_SELECTOR] = Tagged(Kind.STRING, wanted.selector)
    return arguments


def _rebind(
    links: Links,
    queue: Queue,
    exchange: Exchange,
    key: str,
    arguments: dict[str, Tagged],
) -> None:
    """A durable subscription that comes back lets go what it is not bound by any more."""
    for bound, bound_key in queue.bound_to():
        if (bound, bound_key) == (exchange.name, key):
            before = exchange.bindings[queue.name][key].arguments
            if before == arguments:
                continue
        links.client.host.bindings.unbind(queue.name, bound, bound_key, links.owner)


def _is_for_another(
    queue: Queue, exchange: Exchange, key: str, arguments: dict[str, Tagged]
) -> bool:
    """Whether what waits in the queue of a subscription was for another topic or selector."""
    bound = queue.bound_to()
    if (exchange.name, key) not in bound:
        return len(bound) > 0
    before = exchange.bindings[queue.name][key].arguments
    return selector_of(before) != selector_of(arguments)


def _recover(links: Links, link: Link, attach: Attach) -> Refusal | None:
    """An attach without source asks for the one that the link had: a durable subscription."""
    queue = links.client.host.durable_subscriptions.find(_subscriber(links, attach))
    if queue is None:
        return Refusal(Condition.NOT_FOUND, "there is no subscription of that name")
    refusal = permissions.consumer_refusal(links, queue.name, acquire=True)
    if refusal is not None:
        return refusal
    address = None
    for exchange, key in queue.bound_to():
        address = f"{exchange}/{key}" if key else exchange
    kept = key_of(links.client, link.name, link.role) in links.client.settings.kept.links
    source = Source(
        address=address,
        durable=_spec.DURABLE_UNSETTLED_STATE if kept else _spec.DURABLE_CONFIGURATION,
        expiry_policy=_spec.EXPIRY_NEVER,
    )
    consumer = _consumer(links, link, attach, source, None, "")
    bridged = links.client.host.subscribing.subscribe(
        queue.name,
        consumer,
        links.owner,
        SubscribeOptions(exclusive=True, settled=consumer.settled),
    )
    if isinstance(bridged, Refusal):
        return bridged
    consumer.durable_queue = queue.name
    consumer.found = True
    links.add_consumer(consumer)
    _outlive(links, consumer, queue.name, source, may=True)
    consumer.answer(bridged, source, Wanted())
    return None


def _count(links: Links, feature: Feature) -> None:
    links.client.uses.count(feature)


def _filters(
    links: Links, link: Link, source: Source, exchange_type: str | None, *, remote: bool
) -> Wanted | Refusal:
    """Understand the filters; what is kept of them is on the account from now on.

    While an upstream is asked, so are the termini.
    """
    number = links.client.peer.connection_id
    wanted = read_filters(source.filter, exchange_type, number, remote=remote)
    if isinstance(wanted, Refusal):
        if wanted.condition == Condition.NOT_IMPLEMENTED:
            links.client.uses.refuse(Feature.FILTER)
        return wanted
    if wanted.left_out:
        _count(links, Feature.FILTER)
    kept = weigh(wanted.selector) if remote else 0
    if wanted.filter is not None:
        kept += wanted.filter.octets
    unsettled = None if link.attach is None else link.attach.unsettled
    if not link.keep(kept) or (remote and not _keep_all(link, unsettled)):
        return TOO_MUCH
    return wanted


def refuse(link: Link, refusal: Refusal) -> None:
    """Answer an attach with "no"."""
    link.refuse(error_of(refusal))
