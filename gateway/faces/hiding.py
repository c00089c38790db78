"""What a new node would take from 1.0 clients: addresses that mean an exchange until it is made.

A queue wins its own name over the exchange of that name, or over the exchange and the key which the
name is as an address; an exchange wins in the same way, and a topic's name, which is a key of
`amq.topic` otherwise (`translate.addresses`). So whoever makes such a node reads what others
publish there, and speaks for them: it needs leave to make what it hides, too. A qpidd lets a queue
hide the exchange of its name and does not ask; addresses with a key it has none.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.bridge.queues.queue import Queue
from gateway.faces.access.client_access import ClientAccess
from gateway.faces.access.who import NOBODY
from gateway.faces.host_nodes import HostNodes
from gateway.message import Condition, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import NO, YES, Asked, binding, publishing
from gateway.permissions.permits import Permits
from gateway.translate.addresses import TOPIC_EXCHANGE, TOPIC_NAME, Capability, resolve
from gateway.wire.work import LOOK, WORK

SLASH: Final = "/"


class Exchanges(Protocol):
    """The names of a virtual host, as addresses are resolved by, and its exchanges."""

    def is_queue(self, name: str) -> bool:
        """Whether there is a queue of that name."""

    def is_exchange(self, name: str) -> bool:
        """Whether there is an exchange of that name."""

    def upstream_of(self, exchange: str, key: str) -> str:
        """See `translate.context.Nodes`."""

    def to_hide(self, exchange: str) -> Asked:
        """The question whether somebody may make an exchange that is there."""


@final
class Needed:
    """What else a client needs leave for, to make a node: for all of it.

    Attributes:
        what: why.
        questions: these.
    """

    __slots__ = ("questions", "what")

    def __init__(self, what: str, questions: list[Asked]) -> None:
        self.what = f"{what} from 1.0 clients"
        self.questions = questions


def needed_for_queue(permits: Permits, nodes: Exchanges, name: str) -> Needed | None:
    """What making a queue of that name needs beside leave to make it; `None`: nothing."""
    if permits.rules is None:
        return None
    node = resolve(name, Capability.ANY, nodes)
    if node is None or not node.exchange:
        return None
    if node.key is None and not permits.hides:
        return None
    return _to_hide(nodes, node.exchange, f"queue {name!r}")


def needed_for_exchange(permits: Permits, nodes: Exchanges, asked: Asked) -> Needed | None:
    """The same of an exchange, which is to be declared so."""
    if permits.rules is None:
        return None
    name = asked.name
    node = resolve(name, Capability.TOPIC, nodes)
    if node is None or node.key is None:
        return None
    if node.row != TOPIC_NAME:
        return _to_hide(nodes, node.exchange, f"exchange {name!r}")
    return _for_topic(permits, nodes, asked) if permits.hides else None


def _to_hide(nodes: Exchanges, exchange: str, what: str) -> Needed:
    return Needed(f"{what} would hide exchange {exchange!r}", [nodes.to_hide(exchange)])


def _for_topic(permits: Permits, nodes: Exchanges, asked: Asked) -> Needed | None:
    """An exchange takes a topic's name: it needs leave by name, or to publish and listen there.

    A rule that says which exchanges it is for has given the name away.
    """
    if permits.may(asked).named or permits.may(nodes.to_hide(TOPIC_EXCHANGE)).allowed:
        return None
    topic = asked.name
    listen = binding(Action.BIND, TOPIC_EXCHANGE, "", topic)
    return Needed(
        f"exchange {topic!r} would take the topic of that name",
        [publishing(TOPIC_EXCHANGE, topic), listen],
    )


def queue_refusal(access: ClientAccess, nodes: HostNodes, name: str) -> Refusal | None:
    """Why a client may not make a queue of that name, which it may make otherwise."""
    return _refusal(access, needed_for_queue(access.permits, nodes, name))


def exchange_refusal(access: ClientAccess, nodes: HostNodes, asked: Asked) -> Refusal | None:
    """The same of an exchange, which it wants to declare so."""
    if access.permits.rules is None:
        return None
    refusal = _refusal(access, needed_for_exchange(access.permits, nodes, asked))
    if refusal is not None or not access.permits.hides:
        return refusal
    node = resolve(asked.name, Capability.TOPIC, nodes)
    takes_topic = node is not None and node.row == TOPIC_NAME
    return _hider(access, nodes, asked) if takes_topic else None


def _refusal(access: ClientAccess, needed: Needed | None) -> Refusal | None:
    if needed is None:
        return None
    for question in needed.questions:
        refusal = access.refusal(question)
        if refusal is not None:
            return Refusal(refusal.condition, f"{needed.what}: {refusal.description}")
    return None


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
    access.belongings.look_up(own)
    if own.own == YES:
        return True
    same = asked.as_(Action.CREATE)
    same.own = NO
    return access.permits.may_of("" if maker == NOBODY else maker, same).allowed
