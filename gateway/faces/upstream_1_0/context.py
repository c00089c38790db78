"""What all links of one upstream share: plain values, and the few things that all of them do.

Whoever has a link at an upstream is given this, and not the `Upstream`; it knows none of them.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.faces.face import FaceSettings, Turns
from gateway.faces.host_nodes import HostNodes
from gateway.faces.upstream_1_0.addresses import UpstreamAddresses
from gateway.faces.upstream_1_0.health import UpstreamHealth
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.receiving.seen_before import SeenBefore
from gateway.faces.upstream_1_0.receiving.takers import Takers
from gateway.faces.upstream_1_0.receiving.unheard import Unheard
from gateway.faces.upstream_1_0.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.upstream_1_0.sleepers import Sleeper, Sleepers
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.faces.upstream_1_0.transports import Transports
from gateway.translate.context import Context, ReplyAddresses
from gateway.translate.profiles.profile import Profile


@final
class UpstreamContext:
    """Of one upstream; it lives as long.

    Attributes:
        bridge, turns, settings, profile, faces, counts: as the upstream was made with.
        health: how the upstream is, for operators.
        addresses: what its nodes are called by it.
        sleepers: who is to be called when.
        transports: the connections to it.
        links: those of its own connection.
        takers: whoever receives from it.
        settling: how long it takes to settle what it is sent.
        seen_before: what may come again from it.
        unheard: what may, unless it answers our detach.
        draining: the gateway stops: nothing new is sent, no credit is given.
    """

    __slots__ = (
        "_names",
        "addresses",
        "bridge",
        "counts",
        "draining",
        "faces",
        "health",
        "links",
        "profile",
        "seen_before",
        "settings",
        "settling",
        "sleepers",
        "takers",
        "transports",
        "turns",
        "unheard",
    )

    def __init__(
        self,
        bridge: Bridge,
        turns: Turns,
        settings: UpstreamSettings,
        profile: Profile,
        faces: FaceSettings,
        counts: UpstreamCounts,
    ) -> None:
        self.bridge = bridge
        self.turns = turns
        self.settings = settings
        self.profile = profile
        self.faces = faces
        self.counts = counts
        self.health = UpstreamHealth(bridge)
        self.addresses = UpstreamAddresses(bridge, settings, profile)
        self.sleepers = Sleepers()
        self.transports = Transports(turns)
        one_by_one = profile.errors_end_session
        self.links = Links(
            bridge, settings, counts, self.sleepers, self.transports, one_at_a_time=one_by_one
        )
        self.takers = Takers(self.transports)
        self.seen_before = SeenBefore()
        self.unheard = Unheard(self.seen_before)
        self.settling = bridge.latency.run()
        self.draining = False
        self._names = 0

    @property
    def name(self) -> str:
        """Of the upstream, as configured."""
        return self.settings.name

    @property
    def resumes(self) -> bool:
        """Whether what is unsettled when a link is lost waits for the link to be resumed."""
        return self.profile.resume and self.settings.resume

    def link_name(self, node: str) -> str:
        """A name for a link of `node`, unique at this upstream; to be kept for each attach."""
        self._names += 1
        return f"{self.settings.container_id}<{node}-{self._names}"

    def touch(self) -> None:
        """There is something to send, or may be, by any connection."""
        self.transports.touch()

    def wake(self, sleeper: Sleeper, at_ms: int) -> None:
        """Call `sleeper.handle_deadline` then; a later wish replaces this one."""
        self.sleepers.wake(sleeper, at_ms)

    def wake_in(self, sleeper: Sleeper, wait_ms: int) -> None:
        """The same, so long from now."""
        self.sleepers.wake(sleeper, self.bridge.now_ms + wait_ms)

    def unwake(self, sleeper: Sleeper) -> None:
        """Do not call it."""
        self.sleepers.unwake(sleeper)

    def handle_deadline(self, now_ms: int) -> None:
        """Back-offs are over, answers are late."""
        self.bridge.now_ms = now_ms
        self.sleepers.run(now_ms)
        self.touch()

    def drain(self) -> None:
        """Graceful stop: nothing new is sent, no credit is given."""
        self.draining = True
        self.takers.on_credit()

    def note_link(
        self,
        link: int,
        node: int,
        slot: LinkSlot,
        flags: int = 0,
        *,
        address: str = "",
        user: str = "",
    ) -> None:
        """A link is attached: the audit log learns where `link`, its number, leads to.

        `address`: where the slot does not have it. `user`: for whom it publishes what comes by it.
        """
        audit = self.bridge.audit
        peer = audit.name(f"link {link}: {slot.address or address} at {self.name}")
        number = slot.transport.number
        audit.link_attached(
            self.bridge.now_ms,
            link,
            connection=number,
            node=node,
            peer=peer,
            flags=flags,
            actor=audit.passing(user) if user else 0,
        )
        audit.forget(peer)

    def translation(self, host: VirtualHost, replies: ReplyAddresses | None = None) -> Context:
        """The context of translations towards this upstream."""
        faces = self.faces
        return Context(
            HostNodes(host),
            faces.replies_of(host.name),
            faces.translated,
            escrow=self.profile.escrow and faces.escrow,
            escrow_max=faces.limits.escrow_max,
            depth_max=faces.limits.depth_max,
            text_body_value=self.profile.text_body == "value",
            timestamp=faces.timestamp,
            gateway=faces.container_id,
            upstream=self.name,
            user_id=self.profile.user_id,
            value_lists=self.profile.value_lists,
            reply_address=replies,
        )
