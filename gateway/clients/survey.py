"""`check --connect`: a configuration against its live upstreams, before any client depends on it.

For every upstream: whether it can be reached with its credentials, what it says that it is and
does, and which of the nodes named one by one it has. `findings` has what comes of that.
"""

# twisted.internet.endpoints has annotations of few functions.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import functools
from typing import Final, final

from twisted.internet.endpoints import connectProtocol
from twisted.internet.posixbase import PosixReactorBase

from gateway.amqp_0_10.connection import Connection as Connection010
from gateway.amqp_0_10.states import Role
from gateway.amqp_1_0.connection import Connection
from gateway.clients.findings import Ability, Finding, Node, Presence, is_stranger, lacks, nodes_of
from gateway.clients.probe import Probe
from gateway.clients.probe_0_10 import Probe010
from gateway.clients.probed import NAME, About, Probed, Question
from gateway.config import Settings
from gateway.config.placement import rules_of
from gateway.config.units import Host
from gateway.config.upstreams import UpstreamSection
from gateway.errors import GatewayError
from gateway.net.clock import GatewayClock
from gateway.net.upstreams.credentials import UpstreamCredentials
from gateway.net.upstreams.upstreams import endpoint_for, limits_of
from gateway.translate.profiles.loading import load_profile, names
from gateway.translate.profiles.profile import AMQP_0_10, Profile

PATIENCE_S: Final = 30.0  # for one upstream, however many hosts and nodes it has


@final
class Survey:
    """Asks all upstreams of some settings."""

    def __init__(self, reactor: PosixReactorBase, settings: Settings) -> None:
        self._reactor = reactor
        self._settings = settings
        self._clock = GatewayClock()
        profiles = {name: load_profile(each.profile) for name, each in settings.upstreams.items()}
        self._rules = rules_of(settings.nodes, profiles).rules

    async def findings(self) -> list[Finding]:
        """One for each upstream, in order; takes `PATIENCE_S` for each at most."""
        return [await self._ask(name) for name in self._settings.upstreams]

    async def _ask(self, name: str) -> Finding:
        section = self._settings.upstreams[name]
        profile = load_profile(section.profile)
        rules = [each for each in self._rules if each.upstream == name]
        nodes = nodes_of(self._rules, name, profile)
        finding = Finding(name, profile.name, profile.products, nodes=nodes)
        finding.lacks = lacks(rules, profile)
        questions = Questions(finding.nodes, profile)
        until_s = self._reactor.seconds() + PATIENCE_S
        for host in section.hosts:
            probe = await self._converse(name, section, host, questions, until_s)
            if not probe.opened:
                finding.other_hosts[str(host)] = probe.problem
                continue
            finding.reached = True
            finding.host = str(host)
            _take(finding, probe)
            break
        else:
            failed = [f"{host}: {problem}" for host, problem in finding.other_hosts.items()]
            finding.problem = "; ".join(failed)
            finding.other_hosts = {}
        questions.answer(finding)
        return finding

    async def _converse(
        self,
        name: str,
        section: UpstreamSection,
        host: Host,
        questions: Questions,
        until_s: float,
    ) -> Probed:
        cbs = load_profile(section.profile).cbs
        probe = self._probe(name, section, host, questions)
        left_s = max(0.1, until_s - self._reactor.seconds())
        try:
            where = endpoint_for(self._reactor, section, cbs=cbs)(host)
            await connectProtocol(where, probe).addTimeout(left_s, self._reactor)
        except Exception as error:  # whatever an endpoint or its files may raise
            probe.problem = _said(error)
            return probe
        late = self._reactor.callLater(left_s, probe.end, "it does not answer in time")
        await probe.done
        if late.active():
            late.cancel()
        return probe

    def _probe(
        self, name: str, section: UpstreamSection, host: Host, questions: Questions
    ) -> Probed:
        """What asks, in the protocol of the profile."""
        profile = load_profile(section.profile)
        able = UpstreamCredentials(name, section, cbs=profile.cbs).mechanisms(host.tls)
        limits = limits_of(self._settings, section)
        clock, later = self._clock.now_ms, self._reactor
        if profile.protocol == AMQP_0_10:
            old = Connection010(Role.CLIENT, limits, clock())
            return Probe010(old, section.hostname or "", able, questions.for_peer, later, clock)
        hostname = section.hostname or host.host
        connection = Connection(
            server=False,
            container_id=f"{section.container_id or self._settings.name}-{NAME}",
            limits=limits,
            now_ms=clock(),
            able=able,
            hostname=hostname,
        )
        return Probe(connection, hostname, questions.for_peer, later, clock)


def _said(error: Exception) -> str:
    if isinstance(error, GatewayError):
        return str(error).replace("\n", "; ")
    return str(error) or type(error).__name__


def _take(finding: Finding, probe: Probed) -> None:
    finding.problem = probe.problem
    finding.product = probe.properties.get("product", "")
    finding.version = probe.properties.get("version", "")
    finding.mechanism, finding.mechanisms = probe.mechanism, probe.mechanisms
    finding.tls = probe.tls
    finding.offered = probe.offered
    finding.frame_size, finding.channels = probe.frame_size, probe.channels
    finding.idle_timeout_ms = probe.idle_timeout_ms


@functools.cache
def makers() -> tuple[str, ...]:
    """How those name themselves that make a node when it is asked for."""
    known = [load_profile(name) for name in names()]
    return tuple(text for each in known if each.missing == "auto" for text in each.products)


@final
class Questions:
    """What one upstream is asked, and what the answers say."""

    def __init__(self, nodes: list[Node], profile: Profile) -> None:
        self._profile = profile
        self._given = nodes
        self._nodes = {id(node): _question(node, profile) for node in nodes if node.asked}
        self._coordinator = Question(about=About.COORDINATOR, sends=True)
        self._anonymous = Question(about=About.ANONYMOUS, sends=True)
        # Browsing and selecting are tried with a queue that it has, or that it makes for us.
        self._dynamic = Question(about=About.DYNAMIC, copies=True, selects=True)

    def all(self) -> list[Question]:
        """In order."""
        if self._profile.protocol == AMQP_0_10:  # the rest are links of 1.0
            return [*self._nodes.values()]
        return [*self._nodes.values(), self._anonymous, self._dynamic, self._coordinator]

    def for_peer(self, says: str) -> list[Question]:
        """What is asked of a peer that calls itself so: nothing that would make a node at it.

        By the profile of another broker nothing is asked at all; without `products` a broker may
        still be known for making whatever is asked for.
        """
        if is_stranger(says, self._profile.products):
            for node in self._given:
                node.state = (
                    Presence.PATTERN if node.state == Presence.PATTERN else Presence.STRANGER
                )
            self._nodes = {}
            return []
        if says.startswith(makers()):
            for node in self._given:
                node.state = Presence.AUTO if id(node) in self._nodes else node.state
            self._nodes = {}
        return self.all()

    def answer(self, finding: Finding) -> None:
        """Put the answers where they belong."""
        for node in finding.nodes:
            question = self._nodes.get(id(node))
            if question is not None:
                node.learn(question)
        if finding.stranger:
            finding.lacks = []  # of what it is not
        if not finding.reached or finding.stranger:
            return
        if self._profile.protocol == AMQP_0_10:
            return
        sizes = [each.message_size for each in self.all() if each.sends and each.message_size]
        finding.message_size = min(sizes, default=0)
        profile = self._profile
        dynamic = self._dynamic
        finding.abilities = [
            _ability("transactions", profile.transactions, self._coordinator),
            _ability("anonymous terminus", profile.anonymous_terminus, self._anonymous),
            _ability("nodes on request", profile.dynamic_nodes, dynamic),
            Ability("browsing", profile.browse == "copy", True if dynamic.copied else None),
            Ability("selectors", profile.selector, True if dynamic.selected else None),
            Ability("modified", profile.modified),
            Ability("resumption", profile.resume),
        ]


def _ability(name: str, used: bool, question: Question) -> Ability:
    return Ability(name, used, question.exists, question.problem)


def _question(node: Node, profile: Profile) -> Question:
    if node.kind == "exchange":
        return Question(node.asked, sends=True, capabilities=profile.exchange_capabilities)
    return Question(node.asked, capabilities=profile.queue_capabilities)
