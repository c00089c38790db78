"""One upstream, as the net layer dials it and operators see it, whatever it speaks."""

from __future__ import annotations

from typing import Protocol

from gateway.amqp_1_0.redirects import Redirect
from gateway.bridge.remote.remote import LookUpWaiter, Remote
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.health import UpstreamHealth
from gateway.faces.dialled.location import Location
from gateway.faces.face import Face


class DepthWaiter(Protocol):
    """Whoever asked how many messages a queue has."""

    def on_depth(self, messages: int) -> None:
        """So many; -1: nobody says."""


class DialledUpstream(Remote, Protocol):
    """It lives as long as the gateway; connections come and go."""

    @property
    def context(self) -> DialledContext:
        """What all that it has shares."""

    @property
    def health(self) -> UpstreamHealth:
        """How it is, for operators."""

    def look_up_address(
        self, address: str, waiter: LookUpWaiter, token: int, *, exchange: bool = False
    ) -> None:
        """Ask whether there is a node of that address; of an `exchange`: whether we may send."""

    def ask_depth(self, host: str, queue: str, waiter: DepthWaiter) -> bool:
        """Ask how many messages the queue's node has; `False`: it cannot be asked."""

    def connect(
        self, now_ms: int, *, connection_id: int = 0, location: Location | None = None
    ) -> Face:
        """A transport is up: the face of it. The connection before it, if any, is over."""

    def on_unreachable(self, problem: str) -> None:
        """No transport to it could be had."""

    def take_redirect(self) -> Redirect | None:
        """Where the next connection is to go, told once."""

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called; also while there is no connection."""

    def handle_deadline(self, now_ms: int) -> None:
        """Back-offs are over, answers are late."""

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way."""

    def links_attached(self) -> int:
        """How many links, or sessions, it has attached ..."""

    def links_wanted(self) -> int:
        """... of how many that are asked for."""
