"""`check --may`: what the access rules say to one question.

A node is a queue, or an exchange where `--exchange` says so or where a key follows: EXCHANGE/KEY.
An exchange of the gateway's own, "amq." and something, is one without being told. What the node is
like, and whose, is not known here unless it is said: the rules are asked for each way in which it
may be, and where they do not answer alike, the answer is that it depends. Which exchanges there are
is not known either, but for the gateway's own: what a new node takes from these is decided as the
server does (`faces.hiding`), and of others it is told that it may hide one. What is there is what
it is, whatever is said of it: the gateway's own exchanges. A queue that is called as durable
subscriptions are is taken for one, unless it is said to be none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import click

from gateway.bridge.durable.subscriptions import PREFIX
from gateway.bridge.exchanges.exchange import TYPES
from gateway.bridge.remote.remote import REJECTED_QUEUE
from gateway.bridge.seams import QueueSettings
from gateway.bridge.topology import PREDECLARED
from gateway.config.access import LoadedRules
from gateway.faces import asking, hiding
from gateway.permissions.actions import ACTION_NAMES, Action, ObjectKind
from gateway.permissions.asked import ITSELF, NO, YES, Asked, binding, publishing
from gateway.permissions.permits import Permits
from gateway.permissions.rules import UNRESTRICTED, Decision

OWN_PREFIX = "amq."
QUEUE_PROPERTIES = ("durable", "exclusive", "temporary", "own")
EXCHANGE_PROPERTIES = ("durable", "temporary", "own")
TYPE = "its type"
WORDS = {"own": "the user's own"}
DEPENDS = 3  # the exit code

OTHERS = Decision(False, 0, "being a durable subscription of another user, by its name")
CLOSED = Decision(False, 0, "being a durable subscription, by its name, to which nobody sends")
GATEWAYS = Decision(False, 0, "being the gateway's: durable, and nobody's alone")
# What a durable subscription is, where nothing else is said.
SUBSCRIPTION = {"durable": True, "exclusive": False, "temporary": False}
SUBSCRIPTION_PARTS = 4  # subscription.USER.CONTAINER.LINK

Case = dict[str, bool]


class OwnExchanges:
    """The exchanges that are always there. Implements `hiding.Exchanges`, `permits.Nodes`."""

    def __init__(self) -> None:
        self._types = dict(PREDECLARED)

    def is_queue(self, name: str) -> bool:
        """None is known, whatever its name is."""
        return False

    def is_exchange(self, name: str) -> bool:
        """Whether it is one of these."""
        return name in self._types

    def upstream_of(self, exchange: str, key: str) -> str:
        """They are local."""
        return ""

    def to_hide(self, exchange: str) -> Asked:
        """The question whether somebody may make it."""
        type = self._types.get(exchange, "")
        return asking.to_declare_exchange(
            Action.CREATE, exchange, type, "", durable=True, auto_delete=False
        )

    def look_up(self, asked: Asked) -> None:
        """They are durable, and nobody's."""
        if self.has(asked):
            asked.durable, asked.temporary, asked.own = YES, NO, NO

    def has(self, asked: Asked) -> bool:
        """Whether a question is what one of them is like; to bind asks for the queue."""
        return asked.kind == ObjectKind.EXCHANGE and asked.name in self._types and not asked.queue


OWN_EXCHANGES = OwnExchanges()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say, and the exit code that says it."""

    code: int
    text: str


class Question:
    """One question.

    Args:
        type: of the exchange, where that is said.
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
        type: str = "",
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
        self._type = type
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
        permits = Permits(rules, self.user, self.host, self.address, OWN_EXCHANGES)
        answer = self._of_all(lambda asked: self._decision(permits, asked))
        return answer if answer.code else self._unless_it_hides(permits, answer)

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
        """What no rule decides: by its name and its making it is the gateway's, or one user's.

        What is a durable subscription is its user's alone.
        """
        asked = self.asked
        if asked.name == REJECTED_QUEUE and asked.action == Action.CREATE:
            return GATEWAYS if _is_passing(asked, case) else None
        if not _is_subscription(_queue_of(asked)):
            return None
        if case.get("exclusive") or case.get("temporary") or not case.get("durable", True):
            return None  # somebody has declared it
        if asked.action == Action.PUBLISH:
            return CLOSED
        return None if case.get("own", True) else OTHERS

    def _unless_it_hides(self, permits: Permits, answer: Answer) -> Answer:
        """To make a node may be to hide an exchange, if there is one of that name."""
        asked = self.asked
        exchange, slash, _key = asked.name.partition("/")
        makes_queue = asked.kind == ObjectKind.QUEUE and permits.hides
        if asked.action != Action.CREATE or OWN_EXCHANGES.is_exchange(exchange):
            return answer
        if not (slash or makes_queue):
            return answer
        hidden = OWN_EXCHANGES.to_hide(exchange)
        hidden.own = NO
        decision = permits.may(hidden)
        if decision.allowed:
            return answer
        what = f"create exchange {exchange!r}, which the {asked.kind.name.lower()} would hide"
        told = f"if there is one, denied to {what} from 1.0 clients: {decision}"
        return Answer(answer.code, f"{answer.text}; {told}")

    def _decision(self, permits: Permits, asked: Asked) -> Decision:
        """As the server decides, where there are the gateway's own exchanges and nothing else."""
        decision = permits.may(asked)
        needed = self._needed(permits, asked) if decision.allowed else None
        if needed is None:
            return decision
        for question in needed.questions:
            more = permits.may(question)
            if not more.allowed:
                return Decision(False, more.line, f"{more.rule} about {question}: {needed.what}")
        return decision

    def _needed(self, permits: Permits, asked: Asked) -> hiding.Needed | None:
        if asked.action != Action.CREATE or asked.exists:
            return None
        if asked.kind == ObjectKind.EXCHANGE:
            return hiding.needed_for_exchange(permits, OWN_EXCHANGES, asked)
        return hiding.needed_for_queue(permits, OWN_EXCHANGES, asked.name)

    def _questions(self, case: Case) -> list[tuple[str, Asked]]:
        """As the server asks about a node that is so; each with the type of an exchange."""
        asked = self.asked
        if asked.kind == ObjectKind.EXCHANGE and asked.action in (Action.CREATE, Action.DELETE):
            return [(type, _known(_exchange(asked, case, type), case)) for type in self._types()]
        if asked.kind == ObjectKind.QUEUE and asked.action in (Action.CREATE, Action.DELETE):
            return [("", _known(self._queue(asked, case), case))]
        if asked.meant != ITSELF:
            return [(type, _known(_binding(asked, type), case)) for type in self._types()]
        return [("", _known(_again(asked), case))]

    def _types(self) -> list[str]:
        """Of which the exchange may be."""
        said = dict(PREDECLARED).get(self.asked.name, self._type)
        return [said] if said else sorted(TYPES)

    def _queue(self, asked: Asked, case: Case) -> Asked:
        settings = QueueSettings(
            durable=case["durable"], exclusive=case["exclusive"], auto_delete=case["temporary"]
        )
        if asked.action == Action.CREATE:
            return asking.to_create_queue(asked.name, settings, {}, self._queue_size, exists=False)
        return asking.to_delete_declared(asked.name, settings, "", case["exclusive"])


def _sure(decision: Decision) -> Answer:
    return Answer(0 if decision.allowed else 1, str(decision))


def _again(asked: Asked) -> Asked:
    return Asked(
        asked.action,
        asked.kind,
        asked.name,
        key=asked.key,
        queue=asked.queue,
        properties=asked.properties,
    )


def _binding(asked: Asked, type: str) -> Asked:
    """The same, of an exchange of that type: it says what a binding key is for."""
    again = _again(asked)
    again.meant = asking.meant_by(type)
    return again


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
    made.exists = asked.action == Action.CREATE and OWN_EXCHANGES.has(asked)
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
    if OWN_EXCHANGES.has(asked):
        given = {**known, "durable": True, "temporary": False, "own": False}
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


def _is_passing(asked: Asked, case: Case) -> bool:
    if asked.kind != ObjectKind.QUEUE:
        return False
    return not case["durable"] or case["exclusive"] or case["temporary"]


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
    if action == Action.DECIDE:
        return Asked(action, ObjectKind.BRANCH, node)
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
    if action in (Action.CREATE, Action.DELETE):
        name = node  # with all that is in it
    return Asked(action, ObjectKind.EXCHANGE, name, key=None)


def _queue(action: Action, name: str) -> Asked:
    return Asked(action, ObjectKind.QUEUE, name)
