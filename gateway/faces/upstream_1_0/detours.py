"""Links that an upstream redirects: to another address, or by another connection, a detour.

A link redirect (1.0 part 2.8.18) moves one link. Within the container that told it the link is
attached anew; elsewhere it is attached on a detour, a second connection with all that the first one
has but transactions, which all links to the same place share. Whatever ends a link on it - the
detour is lost or refused, the node is gone - has it ask the upstream itself again, after a
back-off. Redirects in a row are bounded: the last one is an error like any other.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.redirects import Redirect, link_redirect_of
from gateway.faces.dialled.location import Location
from gateway.faces.upstream_1_0.connection import UpstreamConnection
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.links import Links
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.faces.upstream_1_0.tokens import Cbs

REDIRECTS_MAX: Final = 5  # in a row, of one link


class Dialling(Protocol):
    """Who has transports: the net layer."""

    def dial(self, detour: Detour) -> None:
        """Connect: `Detour.connect` or `Detour.on_unreachable` follows, never from inside."""

    def hang_up(self, detour: Detour) -> None:
        """Our close is on its way: do not wait for an answer for ever."""


class Origin(Protocol):
    """The upstream that detours are beside of, as far as one connection concerns all that it has.

    Attributes:
        location: where the container is that was dialled last.
    """

    location: Location

    def on_broken(self, links: Links) -> None:
        """The peer has broken the connection of these links; they have not been told yet."""

    def outstanding(self) -> bool:
        """Whether anything is unsettled, either way, by any connection."""


@final
class Detour:
    """One of those connections, and the links on it. Implements `connection.Home`.

    Attributes:
        location: where it leads.
        connection: from the transport to the end; `None` before that.
        opened: the peer has opened it.
        since_ms: since when it is so.
    """

    def __init__(self, detours: Detours, location: Location) -> None:
        upstream = detours.upstream
        self._detours = detours
        self.upstream = upstream
        self.location = location
        self.links = upstream.links.another()
        self.title = f"{upstream.name}, redirected to {location}"
        self.connection: UpstreamConnection | None = None
        self.opened = False
        self.since_ms = upstream.bridge.now_ms
        self._cbs: Cbs | None = None
        if upstream.settings.tokens is not None:
            self._cbs = Cbs(upstream, self.links, upstream.settings.tokens)
        self._own = len(self.links.slots)

    # What the net layer tells.

    def connect(
        self, now_ms: int, *, connection_id: int = 0, hostname: str = ""
    ) -> UpstreamConnection:
        """A transport is up: the face of it. `hostname`: of the open, if the redirect told none."""
        upstream = self.upstream
        upstream.bridge.now_ms = now_ms
        location = self.location
        location.hostname = location.hostname or upstream.settings.hostname or hostname
        connection = UpstreamConnection(upstream, self, connection_id, now_ms, location)
        self.connection = connection
        upstream.transports.add(connection, own=False)
        return connection

    def on_unreachable(self, problem: str) -> None:
        """No transport could be had."""
        self.upstream.counts.connections_refused += 1
        self._over(problem)

    # As a `Home`.

    def on_open(self, connection: UpstreamConnection) -> None:
        """The peer has opened: attach what waits."""
        upstream = self.upstream
        upstream.counts.connections_made += 1
        self.opened = True
        self.since_ms = upstream.bridge.now_ms
        if self._cbs is not None:
            self._cbs.open(connection.location.hostname)
        self.links.open(connection.connection, connection.number)

    def on_end(
        self, connection: UpstreamConnection, why: str, *, opened: bool, asked: bool, broken: bool
    ) -> None:
        """The connection is over."""
        upstream = self.upstream
        upstream.counts.end(opened=opened, asked=asked)
        if self._cbs is not None:
            self._cbs.lose()
        if broken and not asked:
            self._detours.origin.on_broken(self.links)
        self.links.lose()
        self._over(why)

    def on_redirect(self, redirect: Redirect | None) -> None:
        """A redirect of the connection: its links hear at the upstream itself where to go."""
        if redirect is not None:
            self.upstream.counts.redirected += 1

    def redirects(
        self, slot: LinkSlot, error: Error | None, connection: UpstreamConnection
    ) -> bool:
        """A link may be redirected once more."""
        return self._detours.take(slot, error, connection)

    def outstanding(self) -> bool:
        """Of all connections: they end together."""
        return self._detours.origin.outstanding()

    def flush(self) -> None:
        """The turn ends; without a link of somebody's, so does the detour."""
        self.links.flush()
        connection = self.connection
        if connection is not None and not self._is_used():
            connection.close(self.upstream.bridge.now_ms, "no link is left")
            dialling = self._detours.dialling
            if dialling is not None:
                dialling.hang_up(self)
        self.upstream.takers.give_credit()

    def _is_used(self) -> bool:
        return len(self.links.slots) > self._own

    def _over(self, problem: str) -> None:
        """Links go back, and ask again after a while."""
        upstream = self.upstream
        if self.connection is not None:
            upstream.transports.remove(self.connection)
        self.connection = None
        self.opened = False
        self._detours.on_over(self, failed=self._is_used())
        if self._is_used() and not upstream.draining:
            upstream.health.note_problem(f"links redirected to {self.location}: {problem}")
        for slot in list(self.links.slots):
            if slot.stays:
                slot.drop()
            else:
                slot.retry()
        upstream.touch()


@final
class Detours:
    """All of one upstream.

    Attributes:
        origin: the upstream itself.
        dialling: who connects them; `None`: nobody does.
        standing: those that are connected, or are about to be.
    """

    def __init__(self, upstream: UpstreamContext, origin: Origin) -> None:
        self.upstream = upstream
        self.origin = origin
        self.dialling: Dialling | None = None
        self.standing: dict[Detour, None] = {}
        self._shunned: list[tuple[Location, int]] = []  # not dialled again before then

    def take(self, slot: LinkSlot, error: Error | None, connection: UpstreamConnection) -> bool:
        """Whether a link's end is a redirect; if so, the link has gone where it says."""
        redirect = link_redirect_of(error)
        if redirect is None:
            return False
        upstream = self.upstream
        upstream.counts.redirected += 1
        before = connection.home.links
        in_a_row = 0 if before.lasted(slot) else slot.redirects
        if slot.stays or in_a_row >= REDIRECTS_MAX:
            return False
        address = redirect.address or slot.configured
        links = self._links_at(connection.location.redirected(redirect), connection)
        if links is None or (links is before and address == slot.address):
            return False
        slot.redirects = in_a_row + 1
        before.on_left(slot)
        slot.address = address
        before.hand_over(slot, links)
        slot.user.on_lost()
        upstream.touch()
        return True

    def _links_at(self, location: Location, told_by: UpstreamConnection) -> Links | None:
        """The links of the connection to `location`; `None`: there is none, and none will be."""
        if location is told_by.location:
            return told_by.home.links
        if location.is_at(self.origin.location):
            return self.upstream.links
        for detour in self.standing:
            if location.is_at(detour.location):
                return detour.links
        return self._begin(location)

    def _begin(self, location: Location) -> Links | None:
        upstream = self.upstream
        now_ms = upstream.bridge.now_ms
        self._shunned = [each for each in self._shunned if each[1] > now_ms]
        for shunned, _until_ms in self._shunned:
            if location.is_at(shunned):
                return None
        if self.dialling is None or len(self.standing) >= upstream.settings.detours_max:
            return None
        detour = Detour(self, location)
        self.standing[detour] = None
        self.dialling.dial(detour)
        return detour.links

    def on_over(self, detour: Detour, *, failed: bool) -> None:
        """It is gone; where it failed, the place is let alone for as long as any link waits."""
        self.standing.pop(detour, None)
        if failed:
            settings = self.upstream.settings
            until_ms = self.upstream.bridge.now_ms + settings.back_off_min_ms // 2
            self._shunned = self._shunned[-settings.detours_max :]
            self._shunned.append((detour.location, until_ms))

    def all_slots(self) -> list[LinkSlot]:
        """Of all links, those of the upstream's own connection included."""
        slots = [*self.upstream.links.slots]
        for detour in self.standing:
            slots += detour.links.slots
        return slots
