"""`check --connect`: a configuration against its live upstreams, before any client depends on it.

For every upstream: whether it can be reached with its credentials, what it says that it is, which
of the nodes named one by one are there, and what will not work.
"""

# twisted.internet.endpoints has annotations of few functions.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, final

from twisted.internet.endpoints import connectProtocol
from twisted.internet.posixbase import PosixReactorBase

from gateway.amqp_1_0.connection import Connection
from gateway.clients.probe import NAME, Probe, Question
from gateway.config import Settings
from gateway.config.placement import rules_of
from gateway.config.units import Host
from gateway.config.upstreams import UpstreamSection
from gateway.errors import GatewayError
from gateway.net.clock import GatewayClock
from gateway.net.credentials import UpstreamCredentials
from gateway.net.upstreams import endpoint_for, limits_of
from gateway.translate.profile import Profile
from gateway.translate.profiles import load_profile

PATIENCE_S: Final = 30.0  # for one upstream, however many hosts and nodes it has


@dataclass(slots=True)
class Node:
    """One node that a rule names: `there` is `None` where that is not known."""

    key: str
    kind: str
    name: str
    address: str
    there: bool | None = None
    problem: str = ""


@dataclass(slots=True)
class Finding:
    """What was found out about one upstream."""

    name: str
    reached: bool = False
    host: str = ""
    problem: str = ""
    product: str = ""
    version: str = ""
    offered: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """It is reached, has answered everything, and nothing is missing."""
        return (
            self.reached
            and not self.problem
            and all(node.there is not False for node in self.nodes)
        )

    def as_json(self) -> dict[str, Any]:  # Any: what JSON holds
        """All of it."""
        told = {name: getattr(self, name) for name in ("name", "reached", "host", "problem")}
        told |= {name: getattr(self, name) for name in ("product", "version", "offered", "lacks")}
        keys = ("key", "kind", "name", "address", "there", "problem")
        told["nodes"] = [{key: getattr(node, key) for key in keys} for node in self.nodes]
        return told


@final
class Survey:
    """Asks all upstreams of some settings."""

    def __init__(self, reactor: PosixReactorBase, settings: Settings) -> None:
        self._reactor = reactor
        self._settings = settings
        self._clock = GatewayClock()

    async def findings(self) -> list[Finding]:
        """One for each upstream, in order; takes `PATIENCE_S` for each at most."""
        return [await self._ask(name) for name in self._settings.upstreams]

    async def _ask(self, name: str) -> Finding:
        section = self._settings.upstreams[name]
        profile = load_profile(section.profile)
        finding = Finding(name, nodes=_nodes(self._settings, name, profile))
        questions = {id(node): _question(node, profile) for node in finding.nodes}
        coordinator = Question(None, sends=True)
        asked = [each for each in questions.values() if each is not None]
        if profile.transactions:
            asked.append(coordinator)
        until_s = self._reactor.seconds() + PATIENCE_S
        for host in section.hosts:
            probe = await self._converse(name, section, host, asked, until_s)
            if not probe.opened:
                said = f"{host}: {probe.problem}"
                finding.problem = f"{finding.problem}; {said}" if finding.problem else said
                continue
            finding.reached = True
            finding.host = str(host)
            finding.problem = probe.problem
            finding.product = probe.properties.get("product", "")
            finding.version = probe.properties.get("version", "")
            finding.offered = probe.offered
            break
        for node in finding.nodes:
            question = questions[id(node)]
            if question is None:
                node.problem = "not asked: asking would make it"
            else:
                node.there, node.problem = question.there, question.problem
        finding.lacks = lacks(profile)
        if profile.transactions and coordinator.there is False:
            finding.lacks.append(f"transactions: {coordinator.problem}")
        return finding

    async def _converse(
        self,
        name: str,
        section: UpstreamSection,
        host: Host,
        asked: list[Question],
        until_s: float,
    ) -> Probe:
        hostname = section.hostname or host.host
        connection = Connection(
            server=False,
            container_id=f"{section.container_id or self._settings.name}-{NAME}",
            limits=limits_of(self._settings, section),
            now_ms=self._clock.now_ms(),
            able=UpstreamCredentials(name, section).mechanisms(host.tls),
            hostname=hostname,
        )
        probe = Probe(connection, hostname, asked, self._reactor, self._clock.now_ms)
        left_s = max(0.1, until_s - self._reactor.seconds())
        try:
            where = endpoint_for(self._reactor, section)(host)
            await connectProtocol(where, probe).addTimeout(left_s, self._reactor)
        except Exception as error:  # whatever an endpoint or its files may raise
            probe.problem = _said(error)
            return probe
        late = self._reactor.callLater(left_s, probe.end, "it does not answer in time")
        await probe.done
        if late.active():
            late.cancel()
        return probe


def _said(error: Exception) -> str:
    if isinstance(error, GatewayError):
        return str(error).replace("\n", "; ")
    return str(error) or type(error).__name__


def _nodes(settings: Settings, upstream: str, profile: Profile) -> list[Node]:
    """What rules name one by one and place at an upstream."""
    profiles = {name: load_profile(each.profile) for name, each in settings.upstreams.items()}
    found: list[Node] = []
    for rule in rules_of(settings.nodes, profiles).rules:
        if rule.upstream != upstream or "*" in rule.pattern:
            continue
        if rule.kind == "queue":
            address = rule.address.make(queue=rule.pattern) if rule.address else None
            address = address or profile.queue_address(rule.pattern)
        else:
            address = rule.address.make(exchange=rule.pattern, key="") if rule.address else None
            address = address or profile.exchange_address(rule.pattern, "", True)
        found.append(Node(f"nodes.{rule.number}", rule.kind, rule.pattern, address))
    return found


def _question(node: Node, profile: Profile) -> Question | None:
    if profile.missing == "auto" or not node.address:
        return None
    if node.kind == "exchange":
        return Question(node.address, sends=True, capabilities=profile.exchange_capabilities)
    return Question(
        node.address, copies=profile.browse == "copy", capabilities=profile.queue_capabilities
    )


def lacks(profile: Profile) -> list[str]:
    """What will not work with such a broker, by its profile."""
    told = [
        (profile.transactions, "transactions: 0-10 tx on nodes there ends with 540"),
        (profile.browse == "copy", "browsing: acquire-mode not-acquired is refused"),
        (profile.modified, "modified: it is told released, without count of failed deliveries"),
        (profile.selector, "selectors: a subscription with one is refused"),
        (profile.subscriptions != "none", "bindings to exchanges there"),
        (profile.durable_subscriptions, "durable subscriptions: nothing is kept while we are away"),
        (profile.dynamic_nodes, "nodes on request: replies need queues that are there"),
        (profile.anonymous_terminus, "the anonymous terminus: each address takes a link"),
        (
            profile.queue.identity or profile.dynamic_nodes,
            "the same names here and there: a 1.0 client here and a 1.0 responder there cannot"
            " use reply-to",
        ),
    ]
    return [text for able, text in told if not able]
