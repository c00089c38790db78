"""`check --may`: what the access rules say to one question.

A node is a queue, or an exchange where `--exchange` says so or where a key follows: EXCHANGE/KEY.
An exchange of the gateway's own, "amq." and something, is one without being told. What the node is
like, and whose, is not known here unless it is said: the rules are asked for each way in which it
may be, and where they do not answer alike, the answer is that it depends. Which exchanges there are
is not known either, but for the gateway's own: whether a queue hides one (`faces.hiding`). A queue
that is called as durable subscriptions are is taken for one, unless it is said to be none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import click

from gateway.bridge.durable.subscriptions import PREFIX
from gateway.bridge.exchanges.exchange import TYPES
from gateway.bridge.seams import QueueSettings
from gateway.bridge.topology import PREDECLARED
from gateway.config.access import LoadedRules
from gateway.faces import asking
from gateway.permissions.actions import ACTION_NAMES, Action, ObjectKind
from gateway.permissions.asked import NO, YES, Asked, binding, publishing
from gateway.permissions.rules import UNRESTRICTED, AccessRules, Decision

OWN_PREFIX = "amq."
QUEUE_PROPERTIES = ("durable", "exclusive", "temporary", "own")
EXCHANGE_PROPERTIES = ("durable", "temporary", "own")
TYPE = "its type"
WORDS = {"own": "the user's own"}
DEPENDS = 3  # the exit code

OTHERS = Decision(False, 0, "being a durable subscription of another user, by its name")
CLOSED = Decision(False, 0, "being a durable subscription, by its name, to which nobody sends")
# What a durable subscription is, where nothing else is said.
SUBSCRIPTION = {"durable": True, "exclusive": False, "temporary": False}
SUBSCRIPTION_PARTS = 4  # subscription.USER.CONTAINER.LINK

Case = dict[str, bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say, and the exit code that says it."""

    code: int
    text: str


class Question:
    """One question.

    Args:
        known: what is said of the node, by the names of rules' properties.
        queue_size: that of queues declared without one.

    Raises:
        click.UsageError: there is no such action, or it has no such node, nor such a one.
    """

    def __init__(
        self,
        user: str,
        action: str,
        node: str,
        *,
        host: str,
        address: str,
        exchange: bool,
        queue: bool = False,
        known: Case | None = None,
        queue_size: int = 0,
    ) -> None:
        found = ACTION_NAMES.get(action)
        if found is None:
            raise click.UsageError(f"{action!r} is none of {', '.join(ACTION_NAMES)}")
        self.user = user
        self.host = host
        self.address = address
        self._queue_size = queue_size
        self.asked = _asked(found, node, exchange=exchange, queue=queue)
        self._cases = _cases(self.asked, known or {})

    def answer(self, loaded: LoadedRules) -> Answer:
        """What the rules say."""
        rules = loaded.rules
        if rules is None:
            return self._of_all(lambda _asked: UNRESTRICTED)
        if self.asked.action == Action.PUBLISH and rules.publish_unchecked():
            free = Decision(True, 0, "no rule is about publishing, and then nobody is asked")
            return self._of_all(lambda _asked: free)
        answer = self._of_all(lambda asked: self._decision(rules, asked))
        return answer if answer.code else self._unless_it_hides(rules, answer)

    def _of_all(self, decide: Callable[[Asked], Decision]) -> Answer:
        """Of each way in which the node may be; of some no rule decides."""
        decided: list[tuple[Case, str, Decision]] = []
        for case in self._cases:
            for type, asked in self._questions(case):
                decision = decide(asked)
                closed = self._closed(case) if decision.allowed else None
                decided.append((case, type, closed or decision))
        if len({decision.allowed for _, _, decision in decided}) == 1:
            return _sure(decided[0][2])
        told = list(dict.fromkeys(str(decision) for _, _, decision in decided))
        return Answer(DEPENDS, f"depends on {', '.join(_deciding(decided))}: {'; or '.join(told)}")

    def _closed(self, case: Case) -> Decision | None:
        """What is so called and so made is a durable subscription: its user's alone."""
        asked = self.asked
        if not _is_subscription(_queue_of(asked)):
            return None
        if case.get("exclusive") or case.get("temporary") or not case.get("durable", True):
            return None  # somebody has declared it
        if asked.action == Action.PUBLISH:
            return CLOSED
        return None if case.get("own", True) else OTHERS

    def _unless_it_hides(self, rules: AccessRules, answer: Answer) -> Answer:
        """To make a queue may be to hide an exchange, which the user needs leave to make, too."""
        asked = self.asked
        exchange, slash, _key = asked.name.partition("/")
        creates = asked.action == Action.CREATE and asked.kind == ObjectKind.QUEUE
        if not creates or not (slash or rules.hides()):
            return answer
        own = dict(PREDECLARED)
        hidden = asking.to_declare_exchange(
            Action.CREATE, exchange, own.get(exchange, ""), "", durable=True, auto_delete=False
        )
        hidden.own = NO
        decision = self._decision(rules, hidden)
        if decision.allowed:
            return answer
        what = f"create exchange {exchange!r}, which the queue would hide from 1.0 clients"
        if exchange in own:
            return Answer(1, f"{decision} about {what}")
        return Answer(answer.code, f"{answer.text}; if there is one, denied to {what}: {decision}")

    def _decision(self, rules: AccessRules, asked: Asked) -> Decision:
        return rules.may(self.user, self.host, self.address, asked)

    def _questions(self, case: Case) -> list[tuple[str, Asked]]:
        """As the server asks about a node that is so; each with the type of an exchange."""
        asked = self.asked
        if asked.kind == ObjectKind.EXCHANGE and asked.action in (Action.CREATE, Action.DELETE):
            return [(type, _known(_exchange(asked, case, type), case)) for type in sorted(TYPES)]
        if asked.kind == ObjectKind.QUEUE and asked.action in (Action.CREATE, Action.DELETE):
            return [("", _known(self._queue(asked, case), case))]
        again = Asked(
            asked.action,
            asked.kind,
            asked.name,
            key=asked.key,
            queue=asked.queue,
            properties=asked.properties,
        )
        return [("", _known(again, case))]

    def _queue(self, asked: Asked, case: Case) -> Asked:
        settings = QueueSettings(
            durable=case["durable"], exclusive=case["exclusive"], auto_delete=case["temporary"]
        )
        if asked.action == Action.CREATE:
            return asking.to_create_queue(asked.name, settings, {}, self._queue_size, exists=False)
        return asking.to_delete_declared(asked.name, settings, "", case["exclusive"])


def _sure(decision: Decision) -> Answer:
    return Answer(0 if decision.allowed else 1, str(decision))


def _exchange(asked: Asked, case: Case, type: str) -> Asked:
    made = asking.to_declare_exchange(
        asked.action,
        asked.name,
        type,
        "",
        durable=case["durable"],
        auto_delete=case["temporary"],
    )
    if asked.action == Action.DELETE and made.properties is not None:
        del made.properties["alternate"]
        del made.properties["autodelete"]
    return made


def _known(asked: Asked, case: Case) -> Asked:
    """The same, of a node that is so."""
    for name, value in case.items():
        setattr(asked, name, YES if value else NO)
    return asked


def _cases(asked: Asked, known: Case) -> list[Case]:
    """Each way in which the node may be, given what is known of it."""
    action = asked.action
    names: tuple[str, ...] = QUEUE_PROPERTIES
    if asked.kind in (ObjectKind.NOTHING, ObjectKind.METHOD):
        names = ()
    elif action in (Action.BIND, Action.UNBIND):
        names = ("own",)
    elif asked.kind == ObjectKind.EXCHANGE:
        names = EXCHANGE_PROPERTIES
    given = {"own": True, **known} if action == Action.CREATE else known
    if _is_subscription(_queue_of(asked)) and action != Action.CREATE:
        given = {**SUBSCRIPTION, **given}
    values = [[given[name]] if name in given else [False, True] for name in names]
    cases = [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]
    possible = [case for case in cases if _is_possible(case)]
    if not possible:
        raise click.UsageError("a queue that is exclusive and not durable is temporary")
    return possible


def _queue_of(asked: Asked) -> str:
    """The queue that it is about; "" if it is about none."""
    if asked.kind == ObjectKind.QUEUE:
        return asked.name
    to_queue = asked.action == Action.PUBLISH and not asked.name
    return (asked.key or "") if to_queue else asked.queue


def _is_subscription(queue: str) -> bool:
    return queue.startswith(f"{PREFIX}.") and queue.count(".") >= SUBSCRIPTION_PARTS - 1


def _is_possible(case: Case) -> bool:
    passing = case.get("exclusive", False) and not case["durable"]
    return not passing or case["temporary"]


def _deciding(decided: list[tuple[Case, str, Decision]]) -> list[str]:
    """What the answer depends on: what alone makes a difference; else all that is not known."""
    found: dict[str, None] = {}
    for (case, type, decision), (other, another, opposite) in itertools.combinations(decided, 2):
        if decision.allowed == opposite.allowed:
            continue
        differing = [name for name in case if case[name] != other[name]]
        if type != another:
            differing.append(TYPE)
        if len(differing) == 1:
            found[differing[0]] = None
    every = [name for name in decided[0][0] if len({case[name] for case, _, _ in decided}) > 1]
    return [
        name if name == TYPE else f"whether it is {WORDS.get(name, name)}"
        for name in (*QUEUE_PROPERTIES, TYPE)
        if name in (found or every)
    ]


def _asked(action: Action, node: str, *, exchange: bool, queue: bool) -> Asked:
    if action == Action.CONNECT:
        return Asked(action, ObjectKind.NOTHING)
    if action == Action.MANAGE:
        return Asked(action, ObjectKind.METHOD, node)
    name, slash, key = node.partition("/")
    if action in (Action.BIND, Action.UNBIND):
        bound, _slash, key = key.partition("/")
        if not bound:
            raise click.UsageError(f"to {action.name.lower()} needs EXCHANGE/QUEUE/KEY as node")
        return binding(action, name, bound, key)
    if queue or not (exchange or slash or node.startswith(OWN_PREFIX)):
        return publishing("", node) if action == Action.PUBLISH else _queue(action, node)
    if action == Action.PUBLISH and slash:
        return publishing(name, key)
    return Asked(action, ObjectKind.EXCHANGE, name, key=None)


def _queue(action: Action, name: str) -> Asked:
    return Asked(action, ObjectKind.QUEUE, name)
