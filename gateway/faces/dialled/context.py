"""What all that one upstream has shares, whatever it speaks: plain values, and what all do.

Whoever has a link or a session at an upstream is given this, and not the upstream; it knows none of
them. A house may add to it.
"""

from __future__ import annotations

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.faces.dialled.addresses import UpstreamAddresses
from gateway.faces.dialled.health import UpstreamHealth
from gateway.faces.dialled.seen_before import SeenBefore
from gateway.faces.dialled.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.dialled.sleepers import Sleeper, Sleepers
from gateway.faces.dialled.takers import Takers
from gateway.faces.dialled.transports import Transports
from gateway.faces.face import FaceSettings, Turns
from gateway.faces.host_nodes import HostNodes
from gateway.translate.context import Context, ReplyAddresses
from gateway.translate.profiles.profile import Profile


class DialledContext:
    """Of one upstream; it lives as long.

    Attributes:
        bridge, turns, settings, profile, faces, counts: as the upstream was made with.
        health: how the upstream is, for operators.
        addresses: what its nodes are called by it.
        sleepers: who is to be called when.
        transports: the connections to it.
        takers: whoever receives from it.
        settling: how long it takes to settle what it is sent.
        seen_before: what may come again from it.
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
        "profile",
        "seen_before",
        "settings",
        "settling",
        "sleepers",
        "takers",
        "transports",
        "turns",
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
        self.takers = Takers(self.transports)
        self.seen_before = SeenBefore()
        self.settling = bridge.latency.run()
        self.draining = False
        self._names = 0

    @property
    def name(self) -> str:
        """Of the upstream, as configured."""
        return self.settings.name

    def link_name(self, node: str) -> str:
        """A name for a link of `node`, unique at this upstream; to be kept for each attach."""
        self._names += 1
        return f"{self.settings.container_id}<{node}-{self._names}"

    def shares(self, host: str, queue: str) -> bool:
        """Whether a binding of the queue is one of all gateways of a group, as that is remote."""
        found = self.bridge.hosts[host].topology.queues.get(queue)
        return self.settings.group != "" and found is not None and found.kept

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
        *,
        address: str,
        connection: int,
        flags: int = 0,
        user: str = "",
    ) -> None:
        """It is attached: the audit log learns where `link`, its number, leads to.

        `connection`: the number of what it is on. `user`: for whom it publishes what comes by it.
        """
        audit = self.bridge.audit
        peer = audit.name(f"link {link}: {address} at {self.name}")
        audit.link_attached(
            self.bridge.now_ms,
            link,
            connection=connection,
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
            traces=faces.traces,
        )
