"""Attaching links of 1.0 clients: what a terminus names, and what is answered.

A source is a queue (consumed or browsed), or an exchange, for which a subscription queue is made
and bound; a target is a queue, an exchange, or nothing: the anonymous terminus. Either may ask for
a node to be made. What cannot be is refused with a null terminus (2.6.3). A source at an upstream
is answered when that has answered us, and a target when it is known to have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Attach, Coordinator, Modified, Source, Target
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import QueueSettings, SubscribeOptions
from gateway.faces.dynamic import policy_of, policy_properties
from gateway.faces.features import EXCHANGES, Feature
from gateway.faces.filters import Wanted, binding_key, read_filters
from gateway.faces.outcomes import OUTCOMES, error_of, outcome_of
from gateway.faces.placed import JMS_SELECTOR, is_remote_exchange, is_remote_queue, selector_of
from gateway.faces.server_1_0.approach import Approach10
from gateway.faces.server_1_0.consumer import Asked, Consumer10
from gateway.faces.server_1_0.producer import Producer10
from gateway.message import MODIFIED_FAILED, Condition, Kind, Refusal
from gateway.translate.addresses import Capability, Node, capability_of, resolve
from gateway.wire.tagged import Tagged

if TYPE_CHECKING:
    from gateway.faces.server_1_0.session import ServerSession10

OFFERED: Final = frozenset(("queue", "topic", "temporary-queue", "temporary-topic"))
SHARED: Final = "shared"
DEFAULT_OUTCOME: Final = Modified(delivery_failed=True)


def attach_producer(session: ServerSession10, link: Link, attach: Attach) -> Refusal | None:
    """A client wants to send: answer its attach, or say why not."""
    target = attach.target
    if isinstance(target, Coordinator):
        session.attach_control(link, attach)
        return None
    if target is None:
        return Refusal(Condition.INVALID_ARGUMENT, "an attach of a sender without a target")
    asked = target.capabilities or []
    made = ""
    node: Node | None = None
    if target.dynamic is True:
        created = _make(session, attach, target.address, target.dynamic_node_properties, asked)
        if isinstance(created, Refusal):
            return created
        node = created
        made = node.queue or node.exchange
    elif target.address is not None:
        node = resolve(target.address, capability_of(asked), session.nodes)
        if node is None:
            return Refusal(Condition.NOT_FOUND, f"there is no node {target.address!r}")
    if node is not None and node.exchange in EXCHANGES:
        _count(session, EXCHANGES[node.exchange])
    if node is not None and node.queue and not made:
        approach = Approach10(session, link, attach, node)
        if session.approach(approach):
            return None
    answer_producer(session, link, attach, node, made)
    return None


def answer_producer(
    session: ServerSession10, link: Link, attach: Attach, node: Node | None, made: str = ""
) -> None:
    """Attach a client's sender to a node that is there; `None`: the anonymous terminus."""
    target = attach.target
    assert isinstance(target, Target)
    asked = target.capabilities or []
    producer = Producer10(session, link, node, asked, made)
    session.add_producer(producer)
    link.send_attach(
        source=attach.source,
        target=Target(
            address=made or target.address,
            dynamic=True if made else None,
            dynamic_node_properties=_made_by(target.dynamic_node_properties) if made else None,
            capabilities=_granted(asked),
        ),
        snd_settle_mode=_snd_settle_mode(attach),
        rcv_settle_mode=attach.rcv_settle_mode or _spec.RCV_FIRST,
    )
    producer.start()


def _snd_settle_mode(attach: Attach) -> int:
    return _spec.SND_MIXED if attach.snd_settle_mode is None else attach.snd_settle_mode


def _granted(asked: list[str]) -> list[str] | None:
    return [capability for capability in asked if capability in OFFERED] or None


def _made_by(properties: Fields | None) -> Fields:
    return policy_properties(policy_of(properties))


def _make(
    session: ServerSession10,
    attach: Attach,
    address: str | None,
    properties: Fields | None,
    asked: list[str],
) -> Node | Refusal:
    """A node for a dynamic terminus."""
    if address is not None:
        return Refusal(Condition.INVALID_ARGUMENT, "a dynamic terminus with an address")
    topic = capability_of(asked) == Capability.TOPIC
    made = session.dynamics.make(
        session.face.container, attach.name, policy_of(properties), session, topic=topic
    )
    if isinstance(made, Refusal):
        return made
    if topic:
        return Node(exchange=made.name, key=None, row=0)
    return Node(queue=made.name, key=None, row=0)


def attach_consumer(session: ServerSession10, link: Link, attach: Attach) -> Refusal | None:
    """A client wants to receive: answer its attach, or say why not."""
    source = attach.source
    if source is None:
        return _recover(session, link, attach)
    asked = source.capabilities or []
    if SHARED in asked:
        session.face.uses.refuse(Feature.SHARED_SUBSCRIPTION)
        return Refusal(Condition.NOT_IMPLEMENTED, "shared subscriptions are not offered here")
    made = ""
    if source.dynamic is True:
        created = _make(session, attach, source.address, source.dynamic_node_properties, asked)
        if isinstance(created, Refusal):
            return created
        node = created
        made = node.queue or node.exchange
    else:
        found = resolve(source.address or "", capability_of(asked), session.nodes)
        if found is None:
            return Refusal(Condition.NOT_FOUND, f"there is no node {source.address!r}")
        node = found
    consumer = _consumer(session, link, attach, source)
    consumer.dynamic = made
    consumer.node_name = node.queue or node.exchange
    if node.queue:
        refusal = _consume(session, consumer, node.queue, source)
    else:
        refusal = _subscribe(session, consumer, node, attach, source)
    if refusal is not None and made:
        session.dynamics.on_attached(made)
        session.dynamics.on_detached(made, creator=True)
    return refusal


def _consumer(session: ServerSession10, link: Link, attach: Attach, source: Source) -> Consumer10:
    default = outcome_of(source.default_outcome)
    return Consumer10(
        session,
        link,
        settled=attach.snd_settle_mode == _spec.SND_SETTLED,
        acquire=source.distribution_mode != _spec.DISTRIBUTION_COPY,
        default_outcome=MODIFIED_FAILED if default is None else default,
    )


def _consume(
    session: ServerSession10, consumer: Consumer10, queue: str, source: Source
) -> Refusal | None:
    """Consume or browse a queue."""
    remote = is_remote_queue(session.host, queue)
    wanted = _filters(session, source, None, remote=remote)
    if isinstance(wanted, Refusal):
        return wanted
    bridged = session.host.subscribing.subscribe(
        queue,
        consumer,
        session,
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
    session.add_consumer(consumer)
    if bridged.attaching:
        consumer.subscription = bridged
        consumer.asked = Asked(source, wanted)
    else:
        _answer(session, consumer, bridged, source, wanted)
    return None


def answer_attached(session: ServerSession10, consumer: Consumer10) -> None:
    """The upstream has attached the source that a client asked for."""
    asked = consumer.asked
    subscription = consumer.subscription
    if asked is not None and subscription is not None:
        consumer.asked = None
        _answer(session, consumer, subscription, asked.source, asked.wanted)


def _is_durable(source: Source) -> bool:
    return bool(source.durable) or source.expiry_policy == _spec.EXPIRY_NEVER


def _durable_name(session: ServerSession10, attach: Attach) -> str:
    return f"{session.face.container}.{attach.name}".replace("/", "_")


def _subscribe(
    session: ServerSession10, consumer: Consumer10, node: Node, attach: Attach, source: Source
) -> Refusal | None:
    """Receive from an exchange: by a queue of the link's own, bound by its filter or address."""
    host = session.host
    exchange = host.topology.find_exchange(node.exchange)
    if exchange is None:
        return Refusal(Condition.NOT_FOUND, f"there is no exchange {node.exchange!r}")
    remote = is_remote_exchange(host, exchange.name)
    wanted = _filters(session, source, exchange.type, remote=remote)
    if isinstance(wanted, Refusal):
        return wanted
    key = binding_key(wanted, exchange.type, node.key)
    if isinstance(key, Refusal):
        return key
    durable = _is_durable(source)
    if durable:
        queue = _durable_name(session, attach)
        consumer.found = host.topology.find_queue(queue) is not None
        settings = QueueSettings(durable=True)
    else:
        queue = session.dynamics.name(session.face.container, attach.name)
        settings = QueueSettings(auto_delete=True)
    declared = host.declaring.declare_queue(queue, settings, session)
    if isinstance(declared, Refusal):
        return declared
    consumer.acquire = True  # it has the queue for itself, whatever mode it asked for
    bridged = host.subscribing.subscribe(
        queue,
        consumer,
        session,
        SubscribeOptions(exclusive=True, settled=consumer.settled, filter=wanted.filter),
    )
    if isinstance(bridged, Refusal):
        return bridged
    arguments = _arguments(wanted)
    _rebind(session, declared, exchange, key, arguments)
    refusal = host.bindings.bind(queue, exchange.name, key, arguments, b"", session)
    if refusal is not None:
        bridged.cancel()
        return refusal
    consumer.durable_queue = queue if durable else ""
    session.add_consumer(consumer)
    if host.reaching.reach_binding(queue, exchange.name, key, consumer, 0):
        consumer.subscription = bridged
        consumer.asked = Asked(source, wanted, here=True)
    else:
        _answer(session, consumer, bridged, source, wanted)
    return None


def _arguments(wanted: Wanted) -> dict[str, Tagged]:
    """The binding's arguments; a selector is among them under the name that 0-10 clients use."""
    arguments = dict(wanted.arguments or {})
    if wanted.selector:
        arguments[JMS_SELECTOR] = Tagged(Kind.STRING, wanted.selector)
    return arguments


def _rebind(
    session: ServerSession10,
    queue: Queue,
    exchange: Exchange,
    key: str,
    arguments: dict[str, Tagged],
) -> None:
    """A durable subscription that comes back for something else than before lets go the old.

    With another topic or selector it is another subscription (JMS 2.0, 8.3.3): what waits was for
    the one before.
    """
    bound = list(queue.bindings)
    goes_on = False
    for bound_exchange, bound_key in bound:
        if (bound_exchange, bound_key) == (exchange.name, key):
            before = exchange.bindings[(queue.name, key)].arguments
            goes_on = selector_of(before) == selector_of(arguments)
            if before == arguments:
                continue
        session.host.bindings.unbind(queue.name, bound_exchange, bound_key, session)
    if bound and not goes_on:
        session.host.declaring.purge_queue(queue.name, session)


def _recover(session: ServerSession10, link: Link, attach: Attach) -> Refusal | None:
    """An attach without source asks for the one that the link had: a durable subscription."""
    name = _durable_name(session, attach)
    queue = session.host.topology.find_queue(name)
    if queue is None:
        return Refusal(Condition.NOT_FOUND, "there is no subscription of that name")
    address = None
    for exchange, key in queue.bindings:
        address = f"{exchange}/{key}" if key else exchange
    source = Source(
        address=address,
        durable=_spec.DURABLE_CONFIGURATION,
        expiry_policy=_spec.EXPIRY_NEVER,
    )
    consumer = _consumer(session, link, attach, source)
    bridged = session.host.subscribing.subscribe(
        name,
        consumer,
        session,
        SubscribeOptions(exclusive=True, settled=consumer.settled),
    )
    if isinstance(bridged, Refusal):
        return bridged
    consumer.durable_queue = name
    consumer.found = True
    session.add_consumer(consumer)
    _answer(session, consumer, bridged, source, Wanted())
    return None


def _answer(
    session: ServerSession10,
    consumer: Consumer10,
    bridged: Subscription,
    source: Source,
    wanted: Wanted,
) -> None:
    link = consumer.link
    attach = link.attach
    assert attach is not None
    made = consumer.dynamic
    durable = bool(consumer.durable_queue)
    copy = _spec.DISTRIBUTION_COPY
    link.send_attach(
        source=Source(
            address=made or source.address,
            durable=_spec.DURABLE_CONFIGURATION if durable else None,
            expiry_policy=_spec.EXPIRY_NEVER if durable else _spec.EXPIRY_LINK_DETACH,
            dynamic=True if made else None,
            dynamic_node_properties=_made_by(source.dynamic_node_properties) if made else None,
            distribution_mode=(
                copy if source.distribution_mode == copy else _spec.DISTRIBUTION_MOVE
            ),
            filter=wanted.in_place or None,
            default_outcome=source.default_outcome or DEFAULT_OUTCOME,
            outcomes=OUTCOMES,
            capabilities=_granted(source.capabilities or []),
        ),
        target=attach.target,
        snd_settle_mode=_snd_settle_mode(attach),
        rcv_settle_mode=attach.rcv_settle_mode or _spec.RCV_FIRST,
        # What was unsettled went back to the queue when the link before this one ended.
        unsettled={} if consumer.found else None,
    )
    consumer.start(bridged)


def _count(session: ServerSession10, feature: Feature) -> None:
    session.face.uses.count(feature)


def _filters(
    session: ServerSession10, source: Source, exchange_type: str | None, *, remote: bool
) -> Wanted | Refusal:
    number = session.connection_id()
    wanted = read_filters(source.filter, exchange_type, number, remote=remote)
    if isinstance(wanted, Refusal) and wanted.condition == Condition.NOT_IMPLEMENTED:
        session.face.uses.refuse(Feature.FILTER)
    return wanted


def refuse(link: Link, refusal: Refusal) -> None:
    """Answer an attach with "no"."""
    link.refuse(error_of(refusal))
