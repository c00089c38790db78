"""What all links of one upstream share beside what any upstream has."""

from __future__ import annotations

from typing import final

from gateway.bridge.bridge import Bridge
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.settings import UpstreamCounts, UpstreamSettings
from gateway.faces.face import FaceSettings, Turns
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.receiving.unheard import Unheard
from gateway.translate.profiles.profile import Profile


@final
class UpstreamContext(DialledContext):
    """Of one upstream; it lives as long.

    Attributes:
        links: those of its own connection.
        unheard: what may come again, unless it answers our detach.
    """

    __slots__ = ("links", "unheard")

    def __init__(
        self,
        bridge: Bridge,
        turns: Turns,
        settings: UpstreamSettings,
        profile: Profile,
        faces: FaceSettings,
        counts: UpstreamCounts,
    ) -> None:
        super().__init__(bridge, turns, settings, profile, faces, counts)
        self.links = Links(
            bridge,
            settings,
            counts,
            self.sleepers,
            self.transports,
            one_at_a_time=profile.errors_end_session,
        )
        self.unheard = Unheard(self.seen_before)

    @property
    def resumes(self) -> bool:
        """Whether what is unsettled when a link is lost waits for the link to be resumed."""
        return self.profile.resume and self.settings.resume
