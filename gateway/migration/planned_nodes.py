"""Which exchanges, queues and bindings of a survey stand in the gateway's configuration.

Those that stay when their clients are gone. What clients make for themselves they make here, too,
and a queue that one client has for itself must not be there before it comes: it would be refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, final

from gateway.bridge.exchanges.exchange import FANOUT, HEADERS, TOPIC, TYPES
from gateway.bridge.exchanges.filters import SELECTOR_ARGUMENTS, binding_selector
from gateway.bridge.exchanges.headers import MATCH_ARGUMENT
from gateway.config.topology import PREDECLARED, RESERVED, field_table
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.features import EXCHANGES
from gateway.message import Refusal
from gateway.migration.arguments import Fates, fates_of, known
from gateway.migration.document import Binding, Exchange, Queue, Survey
from gateway.migration.findings import BRIDGE_QUEUE, is_durable_subscription, is_federated

Entry = dict[str, Any]  # Any: what YAML holds
MATCHES: Final = ("all", "any")
ALTERNATE_PREFIX: Final = "alternate."  # of exchanges in front of queues that are alternates
JMS_SEPARATOR: Final = ":"  # between client-id and subscription, in a queue of the Java client


@final
@dataclass(slots=True)
class PlannedQueue:
    """A queue, and what its arguments come to."""

    queue: Queue
    fates: Fates

    @property
    def name(self) -> str:
        """Its name."""
        return self.queue.name


@final
@dataclass(slots=True)
class PlannedNodes:
    """What stands in the configuration, in the order in which it can be made.

    Attributes:
        left: what cannot stand there, and why.
        told: what its reader has to know.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    queues: list[PlannedQueue] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def planned_nodes(survey: Survey) -> PlannedNodes:
    """All of them."""
    nodes = PlannedNodes()
    _plan_exchanges(nodes, survey.exchanges)
    types = PREDECLARED | {each.name: each.type for each in nodes.exchanges}
    _plan_queues(nodes, survey, types)
    _plan_bindings(nodes, survey.bindings, types)
    _plan_alternates(nodes)
    return nodes


def entry_of(exchange: Exchange) -> Entry:
    """An exchange as the configuration has it."""
    asked = AskedOfExchange(field_table(known(exchange.arguments)))
    without = asked.ignored(local=True)
    done = {name: each for name, each in known(exchange.arguments).items() if name not in without}
    return _entry(
        {"name": exchange.name, "type": exchange.type},
        durable=exchange.durable,
        alternate=exchange.alternate_exchange,
        arguments=done,
    )


def queue_entry_of(planned: PlannedQueue, *, remote: bool) -> Entry:
    """A queue as the configuration has it; one that lives at an upstream is what that makes it."""
    return _entry(
        {"name": planned.name},
        durable=planned.queue.durable or remote,
        alternate=planned.queue.alternate_exchange,
        arguments={} if remote else planned.fates.done,
    )


def binding_entry_of(binding: Binding) -> Entry:
    """A binding as the configuration has it."""
    entry: Entry = {"exchange": binding.exchange, "queue": binding.queue}
    if binding.key:
        entry["key"] = binding.key
    if binding.arguments:
        entry["arguments"] = known(binding.arguments)
    return entry


def selects(arguments: Iterable[str]) -> bool:
    """Whether a binding or a subscription has a selector, by the names of its arguments."""
    return any(name in SELECTOR_ARGUMENTS for name in arguments)


def _entry(entry: Entry, *, durable: bool, alternate: str, arguments: Entry) -> Entry:
    if not durable:
        entry["durable"] = False
    if alternate:
        entry["alternate_exchange"] = alternate
    if arguments:
        entry["arguments"] = arguments
    return entry


# Exchanges.


def _plan_exchanges(nodes: PlannedNodes, exchanges: Iterable[Exchange]) -> None:
    waiting: dict[str, Exchange] = {}
    for exchange in exchanges:
        if exchange.name in PREDECLARED or exchange.name in EXCHANGES:
            continue
        problem = _unplanned_exchange(exchange)
        if problem:
            nodes.left.append(f"exchange {exchange.name}: {problem}")
        elif exchange.auto_delete:
            nodes.told.append(f"exchange {exchange.name} goes with its last binding: clients' own")
        else:
            waiting[exchange.name] = exchange
    _put_in_order(nodes, waiting)


def _put_in_order(nodes: PlannedNodes, waiting: dict[str, Exchange]) -> None:
    """Each behind its alternate. Of those in a circle, and behind what is missing, none has one."""
    made = {*PREDECLARED}
    while waiting:
        ready = [
            each
            for each in waiting.values()
            if not each.alternate_exchange or each.alternate_exchange in made
        ]
        if not ready:
            first = next(iter(waiting.values()))
            told = f"exchange {first.name}: its alternate {first.alternate_exchange} is not planned"
            nodes.left.append(told)
            ready = [first.model_copy(update={"alternate_exchange": ""})]
        for each in ready:
            nodes.exchanges.append(each)
            made.add(each.name)
            del waiting[each.name]


def _unplanned_exchange(exchange: Exchange) -> str:
    if exchange.type not in TYPES:
        return f"the type {exchange.type} is not offered"
    return "its name is reserved" if exchange.name.startswith(RESERVED) else ""


# Queues.


def _plan_queues(nodes: PlannedNodes, survey: Survey, types: dict[str, str]) -> None:
    own: list[str] = []
    subscriptions: list[str] = []
    for queue in survey.queues:
        if queue.name.startswith(BRIDGE_QUEUE):
            continue  # of federation, which is told
        if is_durable_subscription(queue) or _looks_like_one(queue, survey, types):
            subscriptions.append(queue.name)
        elif queue.exclusive or queue.auto_delete:
            own.append(queue.name)
        else:
            _plan_queue(nodes, queue, types)
    if own:
        told = f"{len(own)} queues go with their clients, which make them: {_some(own)}"
        nodes.told.append(told)
    if subscriptions:
        told = "durable subscriptions are made by their clients, and must not be there before"
        then = f"connect each client once before publishers move: {_some(subscriptions)}"
        nodes.told.append(f"{len(subscriptions)} {told}; {then}")


def _plan_queue(nodes: PlannedNodes, queue: Queue, types: dict[str, str]) -> None:
    fates = fates_of(queue.arguments)
    if fates.refused:
        nodes.left.append(f"queue {queue.name}: {fates.refused}")
        return
    if queue.alternate_exchange and queue.alternate_exchange not in types:
        told = f"queue {queue.name}: its alternate {queue.alternate_exchange} is not planned"
        nodes.left.append(told)
        queue = queue.model_copy(update={"alternate_exchange": ""})
    for name, why in fates.without_effect.items():
        nodes.told.append(f"queue {queue.name}: {name} is left out; {why}")
    nodes.queues.append(PlannedQueue(queue, fates))


def _looks_like_one(queue: Queue, survey: Survey, types: dict[str, str]) -> bool:
    """Whether it is a durable subscription whose client is away: a broker does not tell then."""
    if not queue.durable or queue.auto_delete or JMS_SEPARATOR not in queue.name:
        return False
    bound = [each for each in survey.bindings if each.queue == queue.name]
    return bool(bound) and all(types.get(each.exchange) == TOPIC for each in bound)


def _plan_alternates(nodes: PlannedNodes) -> None:
    """An exchange in front of each queue that is others' alternate."""
    names = {each.name for each in nodes.queues}
    made: dict[str, str] = {}
    for each in nodes.queues:
        to = each.queue.alternate_queue
        if to and to not in names:
            nodes.left.append(f"queue {each.name}: its alternate {to} is not planned")
        elif to:
            name = made.setdefault(to, f"{ALTERNATE_PREFIX}{to}")
            each.queue = each.queue.model_copy(update={"alternate_exchange": name})
    for to, name in made.items():
        nodes.exchanges.append(Exchange(name=name, type=FANOUT, durable=True))
        nodes.bindings.append(Binding(exchange=name, queue=to))


def _some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} others" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Bindings.


def _plan_bindings(nodes: PlannedNodes, bindings: Iterable[Binding], types: dict[str, str]) -> None:
    queues = {each.name for each in nodes.queues}
    for binding in bindings:
        if binding.queue not in queues or binding.exchange in EXCHANGES:
            continue  # its queue is told
        problem = _unplanned_binding(binding, types)
        if problem:
            where = f"binding of {binding.queue} to {binding.exchange} by {binding.key!r}"
            nodes.left.append(f"{where}: {problem}")
        else:
            nodes.bindings.append(binding)


def _unplanned_binding(binding: Binding, types: dict[str, str]) -> str:
    arguments = binding.arguments
    if binding.exchange not in types:
        return "its exchange is not planned"
    if is_federated(arguments):
        return "it is one of federation"
    if len(known(arguments)) < len(arguments):
        return "an argument is neither a number nor a text, true nor false"
    if types[binding.exchange] == HEADERS and arguments.get(MATCH_ARGUMENT) not in MATCHES:
        return "it says neither x-match=all nor x-match=any"
    selector = binding_selector(dict(field_table(known(arguments))))
    return selector.description if isinstance(selector, Refusal) else ""
