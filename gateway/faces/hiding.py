"""What a new node would take from 1.0 clients: addresses that mean an exchange until it is made.

A queue wins its own name over the exchange of that name, or over the exchange and the key which the
name is as an address; an exchange wins in the same way, and a topic's name, which is a key of
`amq.topic` otherwise (`translate.addresses`). So whoever makes such a node reads what others
publish there, and speaks for them: it needs leave to make what it hides, too. A qpidd lets a queue
hide the exchange of its name and does not ask; addresses with a key it has none.
"""

from __future__ import annotations

from typing import Final

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.queue import Queue
from gateway.faces import asking
from gateway.faces.access import NOBODY, ClientAccess
from gateway.faces.host_nodes import HostNodes
from gateway.message import Condition, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import NO, YES, Asked, binding, publishing
from gateway.translate.addresses import TOPIC_EXCHANGE, TOPIC_NAME, Capability, resolve
from gateway.wire.work import LOOK, WORK

SLASH: Final = "/"


def queue_refusal(access: ClientAccess, nodes: HostNodes, name: str) -> Refusal | None:
    """Why a client may not make a queue of that name, which it may make otherwise."""
    if access.permits.rules is None:
        return None
    node = resolve(name, Capability.ANY, nodes)
    if node is None or not node.exchange:
        return None
    if node.key is None and not access.permits.hides:
        return None
    return _hidden_refusal(access, nodes, node.exchange, f"queue {name!r}")


def exchange_refusal(access: ClientAccess, nodes: HostNodes, asked: Asked) -> Refusal | None:
    """The same of an exchange, which it wants to declare so."""
    if access.permits.rules is None:
        return None
    name = asked.name
    node = resolve(name, Capability.TOPIC, nodes)
    if node is None or node.key is None:
        return None
    if node.row != TOPIC_NAME:
        return _hidden_refusal(access, nodes, node.exchange, f"exchange {name!r}")
    if not access.permits.hides:
        return None
    return _topic_refusal(access, nodes, asked) or _hider(access, nodes, asked)


def _hidden_refusal(
    access: ClientAccess, nodes: HostNodes, exchange: str, what: str
) -> Refusal | None:
    found = nodes.host.topology.find_exchange(exchange)
    assert found is not None  # since the address means it
    refusal = access.refusal(to_hide(found))
    return None if refusal is None else _told(refusal, f"{what} would hide exchange {exchange!r}")


def to_hide(exchange: Exchange) -> Asked:
    """The question whether somebody may make an exchange that is there."""
    asked = asking.to_declare_exchange(
        Action.CREATE,
        exchange.name,
        exchange.type,
        exchange.alternate_exchange,
        durable=exchange.durable,
        auto_delete=exchange.auto_delete,
    )
    asking.look_up_exchange(asked, exchange)
    return asked


def _topic_refusal(access: ClientAccess, nodes: HostNodes, asked: Asked) -> Refusal | None:
    """An exchange takes a topic's name: it needs leave by name, or to publish and listen there.

    A rule that says which exchanges it is for has given the name away.
    """
    if access.permits.may(asked).named:
        return None
    hidden = nodes.host.topology.find_exchange(TOPIC_EXCHANGE)
    if hidden is not None and access.may(to_hide(hidden)):
        return None
    topic = asked.name
    refusal = access.refusal(publishing(TOPIC_EXCHANGE, topic))
    if refusal is None:
        refusal = access.refusal(binding(Action.BIND, TOPIC_EXCHANGE, "", topic))
    if refusal is None:
        return None
    return _told(refusal, f"exchange {topic!r} would take the topic of that name")


def _told(refusal: Refusal, what: str) -> Refusal:
    return Refusal(refusal.condition, f"{what} from 1.0 clients: {refusal.description}")


def _hider(access: ClientAccess, nodes: HostNodes, asked: Asked) -> Refusal | None:
    """A queue of somebody else that hides the exchange from its first moment."""
    queues = nodes.host.topology.queues
    WORK.units += LOOK * len(queues)
    name = asked.name
    before_key = name + SLASH
    for queue in queues.values():
        if not queue.name.startswith(name):
            continue
        if queue.name != name and not queue.name.startswith(before_key):
            continue
        if not _may_hide(access, queue, asked):
            text = f"queue {queue.name!r} would hide exchange {name!r} from 1.0 clients, and its"
            return Refusal(Condition.NOT_ALLOWED, f"{text} maker may not create that exchange")
    return None


def _may_hide(access: ClientAccess, queue: Queue, asked: Asked) -> bool:
    """Whether whoever has made a queue may make the exchange, too; or it is the client's own."""
    maker = queue.settings.maker
    if queue.placement is not None or (not maker and queue.settings.durable):
        return True  # the operators', as far as anybody knows
    own = Asked(Action.ACCESS, ObjectKind.QUEUE, queue.name)
    access.look_up(own)
    if own.own == YES:
        return True
    same = asked.as_(Action.CREATE)
    same.own = NO
    return access.permits.may_of("" if maker == NOBODY else maker, same).allowed
