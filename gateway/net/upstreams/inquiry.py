"""Whether nodes that are to live at another upstream exist: asked of it before they move.

Only names that are in use, or that a rule has one by one, can be asked about; and not where the
broker makes nodes as they are used, or a rule has them made, since asking would make them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.config.placement import NodeRule, asked_address
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.message import Condition, Refusal
from gateway.net.alarm import Later
from gateway.net.upstreams.upstreams import PlacementsByRule

AT_A_TIME: Final = 16
TOLD_MAX: Final = 20
# What the peer says of a node where clients would be refused; all else may pass.
MISSING: Final = (
    Condition.NOT_FOUND,
    Condition.RESOURCE_DELETED,
    Condition.UNAUTHORIZED_ACCESS,
)
NOT_CONNECTED: Final = "it is not connected"
NO_TIME: Final = "there was no answer in time"


@final
@dataclass(slots=True)
class Arrival:
    """A node that is to live at an upstream.

    Attributes:
        shadow: it is not the node, but the shadow of it.
        refusal: why the upstream would refuse clients; "" if it would not, or nobody knows.
        doubt: why nobody knows; "" if it is known.
    """

    rule: NodeRule
    upstream: DialledUpstream
    host: str
    name: str
    address: str
    shadow: bool = False
    refusal: str = ""
    doubt: str = NO_TIME

    @property
    def key(self) -> str:
        """The rule's, in the configuration."""
        return f"nodes.{self.rule.number}.{'shadow.' if self.shadow else ''}upstream"

    @property
    def node(self) -> str:
        """What it is, in words."""
        what = f"the shadow of {self.rule.kind}" if self.shadow else self.rule.kind
        return f"{what} {self.name!r} of virtual host {self.host!r} ({self.address})"


def arrivals(bridge: Bridge, before: PlacementsByRule, after: PlacementsByRule) -> list[Arrival]:
    """All nodes that live somewhere else by other rules, and can be asked about."""
    found: list[Arrival] = []
    for host in bridge.hosts.values():
        for kind, name in _names(host, after.rules.rules):
            if kind == "queue":
                found += _shadows(host.name, name, before, after)
            rule_before = before.rules.queue if kind == "queue" else before.rules.exchange
            rule_after = after.rules.queue if kind == "queue" else after.rules.exchange
            rule = rule_after(host.name, name)
            placed = after.of(rule)
            if rule is None or rule.upstream is None or placed is None:
                continue
            old = before.of(rule_before(host.name, name))
            if (old is not None and old.same_node(placed)) or rule.create:
                continue
            upstream = after.upstreams[rule.upstream]
            if upstream.context.profile.missing != "auto":
                address = asked_address(rule, name, upstream.context.profile)
                found.append(Arrival(rule, upstream, host.name, name, address))
    return found


def _shadows(
    host: str, name: str, before: PlacementsByRule, after: PlacementsByRule
) -> Iterator[Arrival]:
    """The shadow of a queue, if that is new."""
    rule, shadowing = after.rules.shadow(host, name), after.shadow(host, name)
    if rule is None or rule.shadow is None or shadowing is None:
        return
    old = before.shadow(host, name)
    if old is not None and old.placement.same_node(shadowing.placement):
        return
    upstream = after.upstreams[rule.shadow.upstream]
    profile = upstream.context.profile
    if profile.missing != "auto":
        address = profile.queue_address(rule.shadow.queue.make(queue=name))
        yield Arrival(rule, upstream, host, name, address, shadow=True)


def _names(host: VirtualHost, rules: list[NodeRule]) -> Iterator[tuple[str, str]]:
    """What is in use, and what rules name one by one: kind and name."""
    topology = host.topology
    for name, queue in topology.queues.items():
        if queue.settings.subscriber is None:
            yield "queue", name
    exact = {rule.pattern for rule in rules if rule.kind == "exchange" and "*" not in rule.pattern}
    yield from (("exchange", name) for name in exact)
    for name, exchange in topology.exchanges.items():
        if name not in exact and (exchange.bindings or not exchange.predeclared):
            yield "exchange", name


@final
class Inquiry:
    """Asks about them, some at a time; implements `LookUpWaiter`.

    `done` fires, by the reactor, when everything is answered or `patience_ms` are over. What is
    asked of an upstream that is not connected is answered once it is; unless `at_once`: then it is
    not known.
    """

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        bridge: Bridge,
        asked: list[Arrival],
        *,
        at_once: bool,
        patience_ms: int,
    ) -> None:
        self.asked = asked
        self.done: Deferred[None] = Deferred()
        self._later = later
        self._now_ms = now_ms
        self._bridge = bridge
        self._left: list[int] = []
        self._open = 0
        self._timer: IDelayedCall | None = None
        for token, each in enumerate(asked):
            if not each.address:
                each.refusal, each.doubt = "its profile has no address for it", ""
            elif at_once and not each.upstream.health.connected:
                each.doubt = NOT_CONNECTED
            else:
                self._left.append(token)
        self._left.reverse()
        if self._left:
            self._timer = later.callLater(patience_ms / 1000, self._end)
            self._ask()
        else:
            self._end()

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """An upstream has answered, in the midst of what it does."""
        self._open -= 1
        if self.done.called:
            return
        each = self.asked[token]
        each.doubt = ""
        if refusal is not None and refusal.condition in MISSING:
            each.refusal = refusal.description
        elif refusal is not None:
            each.doubt = refusal.description
        self._later.callLater(0, self._ask)

    def _ask(self) -> None:
        if self.done.called:
            return
        self._bridge.now_ms = self._now_ms()
        while self._left and self._open < AT_A_TIME:
            token = self._left.pop()
            self._open += 1
            each = self.asked[token]
            exchange = each.rule.kind == "exchange"
            each.upstream.look_up_address(each.address, self, token, exchange=exchange)
        if not self._open:
            self._end()

    def _end(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
        if not self.done.called:
            self.done.callback(None)

    # What was answered.

    def missing(self) -> list[tuple[str, str]]:
        """Where clients would be refused: the key of the rule, and the problem."""
        return _some(
            [
                (each.key, f"{each.upstream.name} refuses {each.node}: {each.refusal}")
                for each in self.asked
                if each.refusal
            ]
        )

    def doubts(self) -> list[tuple[str, str]]:
        """What is not known, in the same way."""
        return _some(
            [
                (each.key, f"not known whether {each.upstream.name} has {each.node}: {each.doubt}")
                for each in self.asked
                if each.doubt
            ]
        )


def _some(problems: list[tuple[str, str]]) -> list[tuple[str, str]]:
    more = len(problems) - TOLD_MAX
    if more <= 0:
        return problems
    return [*problems[:TOLD_MAX], (problems[TOLD_MAX][0], f"and {more} more nodes")]
