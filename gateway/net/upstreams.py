"""All upstreams of the configuration: their faces, what dials them, and where nodes live.

Made before recovery, since recovered queues may be placed at an upstream; dialled once the gateway
listens.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import final

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.posixbase import PosixReactorBase

from gateway.bridge.bridge import Bridge
from gateway.bridge.remote import Placement
from gateway.config import Settings
from gateway.config.placement import NodeRule, Rules, rules_of
from gateway.config.units import Host
from gateway.config.upstreams import UpstreamSection, UpstreamTls
from gateway.faces.face import FaceSettings
from gateway.faces.upstream_1_0 import Upstream
from gateway.faces.upstream_settings import UpstreamCounts, UpstreamSettings
from gateway.net.counts import NetCounts
from gateway.net.credentials import UpstreamCredentials
from gateway.net.tls import upstream_tls
from gateway.net.turns import TurnLoop
from gateway.net.upstream import BackOff, Dialer
from gateway.translate.profiles import load_profile
from gateway.wire.limits import Limits


@final
class Upstreams:
    """Every upstream by name; implements `bridge.remote.Placements`.

    Attributes:
        rules: where which node lives.
        dialers: what keeps each connected.
    """

    def __init__(
        self, settings: Settings, bridge: Bridge, turns: TurnLoop, faces: FaceSettings
    ) -> None:
        self.settings = settings
        profiles = {
            name: load_profile(section.profile) for name, section in settings.upstreams.items()
        }
        self.rules: Rules = rules_of(settings.nodes, profiles)
        self.upstreams: dict[str, Upstream] = {}
        self.dialers: dict[str, Dialer] = {}
        self._placements: dict[NodeRule, Placement] = {}
        for name, section in settings.upstreams.items():
            self.upstreams[name] = Upstream(
                bridge,
                turns,
                self._settings_of(name, section),
                profiles[name],
                faces,
                UpstreamCounts(),
            )

    def _settings_of(self, name: str, section: UpstreamSection) -> UpstreamSettings:
        credentials = UpstreamCredentials(name, section)
        return UpstreamSettings(
            name=name,
            container_id=section.container_id or self.settings.name,
            limits=_limits(self.settings, section),
            mechanisms=credentials.mechanisms,
            random=random.random,
            rules=self.rules,
            attach_timeout_ms=section.attach_timeout,
            back_off_min_ms=section.back_off.initial,
            back_off_max_ms=section.back_off.maximum,
            max_redeliveries=section.max_redeliveries,
            addresses_max=section.addresses,
            reply_nodes_max=section.reply_nodes,
        )

    # As `Placements`.

    def queue(self, host: str, name: str) -> Placement | None:
        """Where the queue lives."""
        return self._placement(self.rules.queue(host, name))

    def exchange(self, host: str, name: str) -> Placement | None:
        """Where the exchange lives."""
        return self._placement(self.rules.exchange(host, name))

    def queues(self, host: str) -> list[str]:
        """Remote queues that are named one by one."""
        return self.rules.exact_queues(host)

    def _placement(self, rule: NodeRule | None) -> Placement | None:
        if rule is None or rule.upstream is None:
            return None
        placement = self._placements.get(rule)
        if placement is None:
            placement = Placement(
                self.upstreams[rule.upstream], spool=rule.spool, on_rejected=rule.on_rejected
            )
            self._placements[rule] = placement
        return placement

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
        for name, section in self.settings.upstreams.items():
            back_off = section.back_off
            dialer = Dialer(
                reactor,
                now_ms,
                turns,
                counts,
                self.upstreams[name],
                list(section.hosts),
                endpoint_for=_endpoint_for(reactor, section),
                hostname=section.hostname or "",
                back_off=BackOff(
                    back_off.initial / 1000,
                    back_off.maximum / 1000,
                    back_off.factor,
                    back_off.jitter,
                ),
                next_connection_id=next_connection_id,
            )
            self.dialers[name] = dialer
            dialer.start()

    def stop(self) -> Deferred[list[tuple[bool, None]]]:
        """Dial no more; fires when every connection is closed."""
        return DeferredList([dialer.stop() for dialer in self.dialers.values()])


def selectors_are_applied(settings: Settings) -> bool:
    """Whether some remote node can apply selectors."""
    used = {node.upstream for node in settings.nodes if node.upstream is not None}
    return any(load_profile(settings.upstreams[name].profile).selector for name in used)


def _endpoint_for(
    reactor: PosixReactorBase, section: UpstreamSection
) -> Callable[[Host], IStreamClientEndpoint]:
    """How to connect to a host; the files of TLS are read anew each time."""
    tls = section.tls or UpstreamTls()

    def endpoint_for(host: Host) -> IStreamClientEndpoint:
        plain = HostnameEndpoint(
            reactor, host.host, host.port, timeout=section.connect_timeout / 1000
        )
        if not host.tls:
            return plain
        creator = upstream_tls(
            tls.server_name or host.host,
            ca=tls.ca,
            certificate=tls.certificate,
            key=tls.key,
            verify=tls.verify,
        )
        return wrapClientTLS(creator, plain)

    return endpoint_for


def _limits(settings: Settings, section: UpstreamSection) -> Limits:
    """What one connection to an upstream may make us hold."""
    limits = settings.limits.as_limits()
    limits.max_frame_size = section.max_frame_size
    limits.idle_timeout_ms = section.idle_timeout
    limits.handshake_timeout_ms = section.connect_timeout
    limits.links_max = section.links
    limits.link_credit = section.link_credit
    limits.sessions_max = max(limits.sessions_max, min(section.links, limits.channel_max + 1))
    return limits
