"""What `check --connect` found out: of each upstream, its nodes, and what will not work for whom.

What a broker does is what its profile says, which tests have seen; what it answers is told beside,
and where the two disagree that is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from gateway.clients.probed import Question
from gateway.config.placement import NodeRule, ShadowRule, asked_address
from gateway.translate.profiles.profile import Profile

ANY_NAME: Final = "NAME"  # in addresses that are shown
ANY_KEY: Final = "KEY"
# Exchanges to which a routing key means nothing.
KEYLESS: Final = frozenset({"amq.fanout", "amq.match", "amq.headers"})


class Presence(StrEnum):
    """What is known of a node."""

    YES = "found"
    NO = "missing"
    CREATED = "missing, made by the gateway when it is used"
    AUTO = "not asked: the broker makes it when it is used"
    PATTERN = "not asked: a pattern"
    STRANGER = "not asked: its address is by the profile of another broker"
    UNKNOWN = "not known"


@dataclass(slots=True)
class Node:
    """The node that one rule is for, or all nodes that its pattern fits.

    Attributes:
        key: of the rule in the configuration.
        address: what is used at the upstream, with KEY for a routing key and NAME for any name.
        asked: the address that is asked about; "" if none is.
    """

    key: str
    kind: str
    name: str
    address: str
    asked: str = ""
    spool: bool = False
    state: Presence = Presence.UNKNOWN
    problem: str = ""

    @property
    def bad(self) -> bool:
        """It is missing, or nobody could say."""
        return self.state in (Presence.NO, Presence.UNKNOWN)

    def learn(self, question: Question) -> None:
        """What was answered."""
        self.problem = question.problem
        if question.exists is None:
            self.state = Presence.UNKNOWN
            self.problem = self.problem or "it was not asked about"
        elif question.exists:
            self.state = Presence.YES
        elif self.state == Presence.CREATED:
            self.problem = ""
        else:
            self.state = Presence.NO


@dataclass(slots=True)
class Ability:
    """Something that a broker may do.

    Attributes:
        used: what the profile says, and the gateway therefore does.
        answered: what the broker says; `None`: it was not asked, or its word is not enough.
        problem: how it refused.
    """

    name: str
    used: bool
    answered: bool | None = None
    problem: str = ""

    @property
    def bad(self) -> bool:
        """The gateway counts on it, and the broker lacks it."""
        return self.used and self.answered is False


@dataclass(slots=True)
class Finding:
    """What was found out about one upstream."""

    name: str
    profile: str = ""
    products: list[str] = field(default_factory=list)
    reached: bool = False
    host: str = ""
    problem: str = ""
    product: str = ""
    version: str = ""
    mechanism: str = ""
    mechanisms: list[str] = field(default_factory=list)
    tls: str = ""
    offered: list[str] = field(default_factory=list)
    frame_size: int = 0
    channels: int = 0
    idle_timeout_ms: int | None = None
    message_size: int = 0
    other_hosts: dict[str, str] = field(default_factory=dict)
    abilities: list[Ability] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    lacks: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def says(self) -> str:
        """What it calls itself; "": nothing."""
        return f"{self.product} {self.version}".strip()

    @property
    def stranger(self) -> bool:
        """It says that it is none of the brokers which the profile is of."""
        return is_stranger(self.says, self.products)

    @property
    def fine(self) -> bool:
        """It is reached, has answered everything, and lacks nothing that is counted on."""
        return (
            self.reached
            and not self.stranger
            and not self.problem
            and not any(node.bad for node in self.nodes)
            and not any(ability.bad for ability in self.abilities)
        )

    def as_json(self) -> dict[str, Any]:  # Any: what JSON holds
        """All of it."""
        names = (
            *("name", "profile", "reached", "host", "problem", "product", "version", "mechanism"),
            *("mechanisms", "tls", "offered", "frame_size", "channels", "idle_timeout_ms"),
            *("message_size", "other_hosts", "stranger"),
        )
        told: dict[str, Any] = {"fine": self.fine}
        told |= {name: getattr(self, name) for name in names}
        told["abilities"] = [
            {name: getattr(each, name) for name in ("name", "used", "answered", "problem")}
            for each in self.abilities
        ]
        told["nodes"] = [
            {name: getattr(each, name) for name in ("key", "kind", "name", "address", "problem")}
            | {"state": each.state.name.lower(), "spool": each.spool}
            for each in self.nodes
        ]
        told["lacks"] = [{"what": what, "rules": rules} for what, rules in self.lacks]
        return told


def is_stranger(says: str, products: list[str]) -> bool:
    """Whether a peer that calls itself so is none of the products."""
    return bool(says and products) and not says.startswith(tuple(products))


def nodes_of(rules: list[NodeRule], upstream: str, profile: Profile) -> list[Node]:
    """What the rules place at an upstream, and what to ask about."""
    found: list[Node] = []
    for rule in rules:
        if rule.shadow is not None and rule.shadow.upstream == upstream:
            found.append(_shadow(rule, rule.shadow, profile))
        if rule.upstream != upstream:
            continue
        named = "*" not in rule.pattern
        name = rule.pattern if named else ANY_NAME
        address, asked = _addresses(rule, name, profile)
        node = Node(f"nodes.{rule.number}", rule.kind, rule.pattern, address, spool=rule.spool)
        if not named:
            node.state = Presence.PATTERN
        elif profile.missing == "auto" or (rule.create and profile.management == "none"):
            node.state = Presence.AUTO  # asking would make it
        else:
            node.asked = asked
            if rule.create and profile.management != "none":
                node.state = Presence.CREATED
        found.append(node)
    return found


def _shadow(rule: NodeRule, shadow: ShadowRule, profile: Profile) -> Node:
    """The shadow of a queue, or of all that a pattern fits: nobody makes it there."""
    named = "*" not in rule.pattern
    name = shadow.queue.make(queue=rule.pattern if named else ANY_NAME)
    address = profile.queue_address(name)
    node = Node(f"nodes.{rule.number}.shadow", rule.kind, name, address)
    if not named:
        node.state = Presence.PATTERN
    elif profile.missing == "auto":
        node.state = Presence.AUTO
    else:
        node.asked = address
    return node


def _addresses(rule: NodeRule, name: str, profile: Profile) -> tuple[str, str]:
    """What is shown, and what is asked about."""
    own = rule.address
    asked = asked_address(rule, name, profile)
    if rule.kind == "queue":
        return asked, asked
    if own is not None:
        return own.make(exchange=name, key=ANY_KEY), asked
    keyed = profile.exchange_address(name, "" if name in KEYLESS else ANY_KEY, name not in KEYLESS)
    return keyed or "no address", asked


def lacks(rules: list[NodeRule], profile: Profile) -> list[tuple[str, list[str]]]:
    """What will not work with such a broker, by its profile, and for which rules."""
    queues = [rule for rule in rules if rule.kind == "queue"]
    direct = [rule for rule in queues if not rule.spool]
    exchanges = [rule for rule in rules if rule.kind == "exchange"]
    unaddressed = [each for each in exchanges if each.address is None]
    told: list[tuple[bool, str, list[NodeRule]]] = [
        (profile.transactions, "0-10 transactions (tx): 540", [*direct, *exchanges]),
        (profile.browse == "copy", "browsing (acquire-mode not-acquired): 540", direct),
        (profile.selector, "a subscription with a selector: 540", direct),
        (
            profile.modified,
            "modified: told as released, so that failed deliveries are not counted",
            queues,
        ),
        (
            profile.undeliverable_here or not profile.modified,
            "undeliverable-here: told as modified without it",
            queues,
        ),
        (profile.management != "none", "queue.delete and queue.purge: 540", queues),
        (profile.exchange is not None, "publishing: there is no address for it", unaddressed),
        (profile.subscriptions != "none", "binding queues to it: 540", exchanges),
        (
            profile.durable_subscriptions or profile.subscriptions == "none",
            "durable bindings: what is published while the gateway is away is missed",
            exchanges,
        ),
        (
            profile.dynamic_nodes,
            "replies from it: they need queues that it has, for which a rule knows a name",
            [*queues, *exchanges],
        ),
        (
            profile.queue.identity or profile.dynamic_nodes,
            "reply-to between a 1.0 client of the gateway and a 1.0 responder at it: names differ",
            [*queues, *exchanges],
        ),
    ]
    return [
        (text, [f"nodes.{rule.number}" for rule in sorted(whose, key=lambda rule: rule.number)])
        for able, text, whose in told
        if not able and whose
    ]
