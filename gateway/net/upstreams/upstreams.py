"""All upstreams of the configuration: their faces, what dials them, and where nodes live.

Made before recovery, since recovered queues may be placed at an upstream; dialled once the gateway
listens.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.posixbase import PosixReactorBase

from gateway.audit.shares import share_of
from gateway.bridge.bridge import Bridge
from gateway.bridge.remote.remote import OnRejected, Placement
from gateway.bridge.remote.shadows import Shadowing
from gateway.config import Settings
from gateway.config.placement import NodeRule, Rules, rules_of
from gateway.config.pods import container_id_of
from gateway.config.units import Host
from gateway.config.upstreams import UpstreamSection, UpstreamTls
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.faces.dialled.settings import Derive, UpstreamCounts, UpstreamSettings
from gateway.faces.face import FaceSettings
from gateway.faces.upstream_0_10.upstream import Upstream010
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.files.whole import read_regular
from gateway.net.counts import NetCounts
from gateway.net.kept_files import Read
from gateway.net.pump import Pump
from gateway.net.tls.files import upstream_tls
from gateway.net.tls.layer import Terms, WithinTls
from gateway.net.turns import TurnLoop
from gateway.net.upstreams.back_off import BackOff
from gateway.net.upstreams.credentials import UpstreamCredentials
from gateway.net.upstreams.detours import BareError, EndpointFor
from gateway.net.upstreams.dialer import Dialer
from gateway.translate.profiles.loading import ATTRIBUTES, load_profile
from gateway.translate.profiles.profile import AMQP_0_10, Profile
from gateway.translate.profiles.templates import Template, Wildcards
from gateway.translate.towards_1_0.hop import shadow_mark
from gateway.wire.limits import Limits

CHANNELS_MAX: Final = 1 << 16  # of 0-10
HANDSHAKE_MAX: Final = 256 * 1024  # octets of an upstream's, with the certificates of authorities


@final
class PlacementsByRule:
    """Where nodes live by one set of rules; implements `bridge.remote.remote.Placements`."""

    def __init__(self, rules: Rules, upstreams: dict[str, DialledUpstream]) -> None:
        self.rules = rules
        self.upstreams = upstreams
        self._placements: dict[NodeRule, Placement] = {}
        self._shadows: dict[NodeRule, Placement] = {}

    def queue(self, host: str, name: str) -> Placement | None:
        """Where the queue lives."""
        return self.of(self.rules.queue(host, name))

    def exchange(self, host: str, name: str) -> Placement | None:
        """Where the exchange lives."""
        return self.of(self.rules.exchange(host, name))

    def shadow(self, host: str, name: str) -> Shadowing | None:
        """The shadow of the queue, if it has one."""
        rule = self.rules.shadow(host, name)
        if rule is None or rule.shadow is None:
            return None
        shadow = rule.shadow
        placement = self._shadows.get(rule)
        if placement is None:
            placement = Placement(
                self.upstreams[shadow.upstream],
                spool=True,
                on_rejected=OnRejected.DROP,
                way=shadow.queue.text,
            )
            self._shadows[rule] = placement
        return Shadowing(
            placement,
            share=share_of(shadow.share),
            octets_max=shadow.max_size,
            ttl_ms=shadow.ttl_ms,
            mark=shadow_mark(name),
        )

    def shadow_of(self, rule: NodeRule) -> Placement | None:
        """Where the shadows of a rule's queues are; `None`: there are none yet."""
        return self._shadows.get(rule)

    def queues(self, host: str) -> list[str]:
        """Remote queues that are named one by one."""
        return self.rules.exact_queues(host)

    def of(self, rule: NodeRule | None) -> Placement | None:
        """The one placement of a rule; `None`: its nodes are local."""
        if rule is None or rule.upstream is None:
            return None
        placement = self._placements.get(rule)
        if placement is None:
            texts = [each.text for each in (rule.address, rule.subscription) if each is not None]
            placement = Placement(
                self.upstreams[rule.upstream],
                spool=rule.spool,
                on_rejected=rule.on_rejected,
                max_redeliveries=rule.max_redeliveries,
                way="\n".join(texts),
                paused=rule.paused,
                settled=rule.settled,
                dead_letters=rule.dead_letters,
            )
            self._placements[rule] = placement
        return placement


@dataclass(frozen=True, slots=True)
class Estate:
    """What settings come to: the upstreams, those that were kept among them, and the rules."""

    settings: Settings
    upstreams: dict[str, DialledUpstream]
    placements: PlacementsByRule
    credentials: dict[str, UpstreamCredentials]


@final
class Upstreams:
    """Every upstream by name, as the settings in force have them.

    Attributes:
        upstreams: the same dictionary for ever, for the metrics.
        dialers: what keeps each connected.
        credentials: who we are at each.
        placements: where which node lives.
    """

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        turns: TurnLoop,
        faces: FaceSettings,
        derive_for: Callable[[str], Derive],
        *,
        read: Read = read_regular,
    ) -> None:
        self._read = read
        self._derive_for = derive_for
        self._bridge = bridge
        self._turns = turns
        self._faces = faces
        self.upstreams: dict[str, DialledUpstream] = {}
        self.dialers: dict[str, Dialer] = {}
        self.credentials: dict[str, UpstreamCredentials] = {}
        self._dial: Callable[[str], Dialer] | None = None
        self.settings = settings.model_copy(update={"upstreams": {}})
        estate = self.prepare(settings, profiles_of(settings))
        self.settings = settings
        self.placements = estate.placements
        self.credentials = estate.credentials
        self.upstreams.update(estate.upstreams)

    def remember(self, digests: dict[str, list[int]]) -> None:
        """What upstreams may send again, by their names: see `last_life`."""
        for name, found in digests.items():
            upstream = self.upstreams.get(name)
            if upstream is not None:
                for digest in found:
                    upstream.context.seen_before.add(digest)

    def prepare(self, settings: Settings, profiles: dict[str, Profile]) -> Estate:
        """What other settings would come to; upstreams that they leave alone are kept."""
        rules = rules_of(settings.nodes, profiles)
        upstreams: dict[str, DialledUpstream] = {}
        credentials: dict[str, UpstreamCredentials] = {}
        for name, section in settings.upstreams.items():
            kept = self._kept(name, section, profiles[name])
            if kept is None:
                credentials[name] = UpstreamCredentials(
                    name, section, cbs=profiles[name].cbs, read=self._read
                )
                derive = self._derive_for(name)
                of_it = _settings_of(settings, name, rules, credentials[name], derive)
                upstreams[name] = self._made(of_it, profiles[name])
            else:
                credentials[name] = self.credentials[name]
                upstreams[name] = kept
        return Estate(settings, upstreams, PlacementsByRule(rules, upstreams), credentials)

    def _kept(
        self, name: str, section: UpstreamSection, profile: Profile
    ) -> DialledUpstream | None:
        if self.settings.upstreams.get(name) != section:
            return None
        upstream = self.upstreams[name]
        return upstream if same_profile(upstream.context.profile, profile) else None

    def _made(self, settings: UpstreamSettings, profile: Profile) -> DialledUpstream:
        before = self.upstreams.get(settings.name)
        counts = UpstreamCounts() if before is None else before.context.counts
        bridge, turns, faces = self._bridge, self._turns, self._faces
        if profile.protocol == AMQP_0_10:
            limits = settings.limits  # a session has a channel of its own
            limits.channel_max = max(limits.channel_max, min(limits.links_max, CHANNELS_MAX) - 1)
            return Upstream010(DialledContext(bridge, turns, settings, profile, faces, counts))
        return Upstream(UpstreamContext(bridge, turns, settings, profile, faces, counts))

    # Connections.

    def dial(
        self,
        reactor: PosixReactorBase,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        counts: NetCounts,
        next_connection_id: Callable[[], int],
    ) -> None:
        """Connect to all of them, for ever."""
        terms = Terms(
            turns,
            self._faces.accounts.everybody,
            HANDSHAKE_MAX,
            now_ms,
            share=lambda _pump: None,
            who=lambda pump: pump.who(),
        )

        def make(name: str) -> Dialer:
            section = self.settings.upstreams[name]
            back_off = section.back_off
            return Dialer(
                reactor,
                now_ms,
                turns,
                counts,
                self.upstreams[name],
                list(section.hosts),
                endpoint_for=endpoint_for(
                    reactor,
                    section,
                    terms,
                    cbs=self.upstreams[name].context.profile.cbs,
                    read=self._read,
                ),
                hostname=section.hostname or "",
                back_off=BackOff(
                    back_off.initial / 1000,
                    back_off.maximum / 1000,
                    back_off.factor,
                    back_off.jitter,
                ),
                next_connection_id=next_connection_id,
            )

        self._dial = make
        for name in self.settings.upstreams:
            self._start(name)

    def _start(self, name: str) -> None:
        if self._dial is not None and name in self.upstreams:
            self.dialers[name] = self._dial(name)
            self.dialers[name].start()

    def pumps(self) -> list[Pump]:
        """Those of all connections to them, detours included."""
        found: list[Pump] = []
        for dialer in self.dialers.values():
            if dialer.pump is not None:
                found.append(dialer.pump)
            found += dialer.detours.pumps()
        return found

    def tell(self, estate: Estate) -> None:
        """The estate is about to be what there is: its upstreams know addresses by its rules."""
        for upstream in estate.upstreams.values():
            upstream.context.settings.rules = estate.placements.rules

    def adopt(self, estate: Estate) -> None:
        """The estate is what there is from now on; whoever is not in it hangs up."""
        before = dict(self.upstreams)
        self.settings = estate.settings
        self.placements = estate.placements
        self.credentials = estate.credentials
        self.upstreams.clear()
        self.upstreams.update(estate.upstreams)
        for name in estate.upstreams:
            if name not in before:
                self._start(name)
        for name, upstream in before.items():
            if estate.upstreams.get(name) is not upstream:
                self._hang_up(name)

    def _hang_up(self, name: str) -> None:
        """Close the connection of an upstream that is gone; if it is back, altered, dial anew."""
        dialer = self.dialers.pop(name, None)
        if dialer is None:
            return

        def go_on(_done: object) -> None:
            if name not in self.dialers:
                self._start(name)

        dialer.retire().addBoth(go_on)

    def stop(self) -> Deferred[list[tuple[bool, None]]]:
        """Dial no more; fires when every connection is closed."""
        self._dial = None
        return DeferredList([dialer.stop() for dialer in self.dialers.values()])


def profiles_of(settings: Settings) -> dict[str, Profile]:
    """Those of all upstreams, by the names of these; their files are read."""
    return {name: load_profile(section.profile) for name, section in settings.upstreams.items()}


def same_profile(one: Profile, other: Profile) -> bool:
    """Whether two profiles say the same."""
    if one.name != other.name:
        return False
    return all(
        _told(getattr(one, name)) == _told(getattr(other, name))
        for name in ATTRIBUTES
        if hasattr(one, name)
    )


def _told(value: Any) -> Any:  # Any: an attribute of a profile
    if isinstance(value, Template):
        return value.text
    if isinstance(value, Wildcards):
        return (value.one, value.any, value.any_last_only)
    return value


def _settings_of(
    settings: Settings,
    name: str,
    rules: Rules,
    credentials: UpstreamCredentials,
    derive: Derive,
) -> UpstreamSettings:
    section = settings.upstreams[name]
    again = section.redelivery_back_off
    return UpstreamSettings(
        name=name,
        container_id=container_id_of(settings, section),
        group=settings.group or "",
        limits=limits_of(settings, section),
        mechanisms=credentials.mechanisms,
        derive=derive,
        tokens=credentials.tokens,
        random=random.random,
        rules=rules,
        hostname=section.hostname or "",
        attach_timeout_ms=section.attach_timeout,
        back_off_min_ms=section.back_off.initial,
        back_off_max_ms=section.back_off.maximum,
        max_redeliveries=section.max_redeliveries,
        redelivery_min_ms=again.initial,
        redelivery_max_ms=again.maximum,
        redelivery_factor=again.factor,
        redelivery_jitter=again.jitter,
        resume=section.resume,
        window=section.window,
        addresses_max=section.addresses,
        reply_nodes_max=section.reply_nodes,
        detours_max=section.detours,
    )


def endpoint_for(
    reactor: PosixReactorBase,
    section: UpstreamSection,
    terms: Terms | None = None,
    *,
    cbs: bool,
    read: Read = read_regular,
) -> EndpointFor:
    """How to connect to a host; the files of TLS are read anew each time.

    Args:
        terms: those of a gateway, which opens what comes in turns.
        cbs: whether the upstream's profile has tokens for nodes.
        read: what is in files.
    """
    tls = section.tls or UpstreamTls()
    secret = section.shows_secrets(cbs=cbs)

    def endpoint_to(host: Host, server_name: str = "") -> IStreamClientEndpoint:
        if secret and not host.private:  # a redirect: configured hosts were checked
            raise BareError("credentials are not shown there: there is no TLS")
        plain = HostnameEndpoint(
            reactor, host.host, host.port, timeout=section.connect_timeout / 1000
        )
        if not host.tls:
            return plain
        creator = upstream_tls(
            tls.server_name or server_name or host.host,
            ca=tls.ca,
            certificate=tls.certificate,
            key=tls.key,
            verify=tls.verify,
            read=read,
        )
        if terms is None:
            return wrapClientTLS(creator, plain)
        return WithinTls(creator, plain, terms)

    return endpoint_to


def limits_of(settings: Settings, section: UpstreamSection) -> Limits:
    """What one connection to an upstream may make us hold."""
    limits = settings.limits.as_limits()
    limits.max_frame_size = section.max_frame_size
    limits.idle_timeout_ms = section.idle_timeout
    # 0-10: who has heard nothing for two heartbeats hangs up.
    limits.heartbeat_s = -(-section.idle_timeout // 2000)
    limits.handshake_timeout_ms = section.connect_timeout
    limits.links_max = section.links
    limits.link_credit = section.link_credit
    limits.sessions_max = max(limits.sessions_max, min(section.links, limits.channel_max + 1))
    return limits
