"""The node rules: which queues and exchanges live at which upstream, and by what address.

The first rule that fits a name decides. What was decided for a name is remembered, for so many
names; other rules, in a reload, are other objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.bridge.remote.remote import OnRejected
from gateway.config.upstreams import NodeSection, ShadowSection
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template, Wildcards

# Where dead letters of remote nodes go: always a local queue, whatever the rules say.
REJECTED_QUEUE: Final = "gateway.rejected"
REMEMBERED_MAX: Final = 10_000
TO_QUEUE: Final = "queue:"  # in `on_rejected`, before a name
ON_REJECTED: Final = {
    "dead-letter": OnRejected.DEAD_LETTER,
    "exception": OnRejected.EXCEPTION,
    "drop": OnRejected.DROP,
}


@dataclass(frozen=True, slots=True)
class ShadowRule:
    """What a rule says of the shadow of its queues, by the keys of the configuration."""

    upstream: str
    queue: Template
    share: float
    max_size: int
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class NodeRule:
    """One rule.

    Attributes:
        number: its place in the configuration, from 0.
        kind: "queue" or "exchange".
        pattern: the names that it is for; `*` stands for any run of characters.
        host: the virtual host; `None`: every one.
        upstream: where the nodes live; `None`: they are local.
        address, subscription: templates in place of the profile's; `None`: the profile's.
        spool, on_rejected, max_redeliveries, paused, create, settled: as the keys of the
            configuration.
        dead_letters: the queue for what is rejected, by `OnRejected.DEAD_LETTER`.
        shadow: of its queues; `None`: they have none.
    """

    number: int
    kind: str
    pattern: str
    host: str | None
    upstream: str | None
    address: Template | None = None
    subscription: Template | None = None
    spool: bool = False
    on_rejected: OnRejected = OnRejected.DEAD_LETTER
    max_redeliveries: int | None = None
    paused: bool = False
    create: bool = False
    settled: bool = False
    dead_letters: str = REJECTED_QUEUE
    shadow: ShadowRule | None = None

    def fits(self, kind: str, host: str, name: str) -> bool:
        """Whether it is for that name."""
        return (
            kind == self.kind
            and (self.host is None or self.host == host)
            and matches(self.pattern, name)
        )


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, in which `*` stands for any run of characters."""
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    last = others.pop()
    if len(name) < len(first) + len(last):
        return False
    if not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in others:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


class Rules:
    """All rules, in order."""

    def __init__(self, rules: list[NodeRule], remembered_max: int = REMEMBERED_MAX) -> None:
        self.rules = rules
        self._remembered_max = remembered_max
        self._remembered: dict[tuple[str, str, str], NodeRule | None] = {}

    def queue(self, host: str, name: str) -> NodeRule | None:
        """The rule by which a queue lives at an upstream; `None`: it is local."""
        return None if name == REJECTED_QUEUE else _remote(self._find("queue", host, name))

    def exchange(self, host: str, name: str) -> NodeRule | None:
        """The rule by which an exchange lives at an upstream; `None`: it is local."""
        return _remote(self._find("exchange", host, name)) if name else None

    def shadow(self, host: str, queue: str) -> NodeRule | None:
        """The rule by which a queue has a shadow, wherever it lives; `None`: it has none."""
        rule = None if queue == REJECTED_QUEUE else self._find("queue", host, queue)
        return None if rule is None or rule.shadow is None else rule

    def shadow_name(self, host: str, queue: str) -> str | None:
        """What the shadow of a queue is called at its upstream; `None`: it has none."""
        rule = self.shadow(host, queue)
        return None if rule is None or rule.shadow is None else rule.shadow.queue.make(queue=queue)

    def exact_queues(self, host: str) -> list[str]:
        """The queues that live at an upstream by a rule for just that name."""
        return [
            rule.pattern
            for rule in self.rules
            if "*" not in rule.pattern and self.queue(host, rule.pattern) is rule
        ]

    def queue_address(self, host: str, queue: str) -> str | None:
        """The address that its rule gives a queue; `None`: the profile's."""
        rule = self.queue(host, queue)
        if rule is None or rule.address is None:
            return None
        return rule.address.make(queue=queue)

    def creates(self, host: str, queue: str) -> bool:
        """Whether its rule wants a queue to be made when it is missing."""
        rule = self.queue(host, queue)
        return rule is not None and rule.create

    def exchange_address(self, host: str, exchange: str, key: str) -> str | None:
        """The address that its rule gives an exchange with a key; `None`: the profile's."""
        rule = self.exchange(host, exchange)
        if rule is None or rule.address is None:
            return None
        return rule.address.make(exchange=exchange, key=key)

    def subscription_address(
        self, host: str, exchange: str, key: str, *, name: str = "", wildcards: Wildcards | None
    ) -> str | None:
        """The source that its rule gives a binding of queue `name`; `None`: the profile's.

        `wildcards`: the profile's for a topic exchange, else `None`.
        """
        rule = self.exchange(host, exchange)
        template = None if rule is None else rule.subscription or rule.address
        if template is None:
            return None
        return template.make(exchange=exchange, key=key, name=name, wildcards=wildcards)

    def _find(self, kind: str, host: str, name: str) -> NodeRule | None:
        asked = (kind, host, name)
        if asked in self._remembered:
            return self._remembered[asked]
        found = next((rule for rule in self.rules if rule.fits(kind, host, name)), None)
        if len(self._remembered) >= self._remembered_max:
            self._remembered.clear()
        self._remembered[asked] = found
        return found


def _remote(rule: NodeRule | None) -> NodeRule | None:
    """None where its nodes are local."""
    return None if rule is None or rule.upstream is None else rule


def asked_address(rule: NodeRule, name: str, profile: Profile) -> str:
    """The address by which one asks whether a node exists; "" if it has none.

    That of an exchange has no routing key, where the profile can do without.
    """
    if rule.kind == "queue":
        return (
            profile.queue_address(name) if rule.address is None else rule.address.make(queue=name)
        )
    if rule.address is not None:
        return rule.address.make(exchange=name, key="")
    return profile.exchange_address(name, "", False) or profile.exchange_address(name, "", True)


def rule_of(number: int, node: NodeSection, profile: Profile | None) -> NodeRule:
    """A rule as configured, with the profile of its upstream; `ConfigurationError`: a template."""
    address = None if node.address is None else Template(node.address)
    if address is None and node.create and profile is not None:
        address = profile.queue_created
    return NodeRule(
        number=number,
        kind=node.kind,
        pattern=node.pattern,
        host=node.virtual_host,
        upstream=node.upstream,
        address=address,
        subscription=None if node.subscription is None else Template(node.subscription),
        spool=node.spool,
        on_rejected=ON_REJECTED.get(node.on_rejected, OnRejected.DEAD_LETTER),
        max_redeliveries=node.max_redeliveries,
        paused=node.paused,
        create=node.create,
        settled=node.settled,
        dead_letters=dead_letters_of(node),
        shadow=None if node.shadow is None else shadow_of(node.shadow),
    )


def shadow_of(shadow: ShadowSection) -> ShadowRule:
    """The same of a shadow."""
    template = Template(shadow.queue)
    return ShadowRule(shadow.upstream, template, shadow.share, shadow.max_size, shadow.ttl)


def dead_letters_of(node: NodeSection) -> str:
    """The queue for what is rejected, where a rule does not say otherwise."""
    named = node.on_rejected.startswith(TO_QUEUE)
    return node.on_rejected.removeprefix(TO_QUEUE) if named else REJECTED_QUEUE


def rules_of(nodes: list[NodeSection], profiles: dict[str, Profile]) -> Rules:
    """The rules as configured, with the profiles of all upstreams; the loader has checked them."""
    return Rules(
        [
            rule_of(number, node, None if node.upstream is None else profiles.get(node.upstream))
            for number, node in enumerate(nodes)
        ]
    )
