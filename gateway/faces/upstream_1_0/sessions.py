"""The sessions of one connection to an upstream, and which of them a link gets.

Senders to nodes that are known to exist share a session. A link that may be refused, and every
receiver, has one of its own, as far as the peer's channel-max and our limit go: an error that ends
a session then hits nobody else, and one slow receiver does not hold up others. Beyond that sessions
are shared. Where the peer is known to end sessions for the error of a link, links that have ended a
session stay among themselves.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0.connection import Connection
from gateway.faces.upstream_1_0.slot import LinkSlot, SessionUse
from gateway.wire.limits import Limits


@final
class Sessions:
    """Those that links are on.

    Args:
        one_at_a_time: the peer ends sessions for the errors of links.

    Attributes:
        connection: `None` while there is none.
    """

    def __init__(self, limits: Limits, *, one_at_a_time: bool) -> None:
        self.connection: Connection | None = None
        self.uses: list[SessionUse] = []
        self._limits = limits
        self._one_at_a_time = one_at_a_time

    def lose(self) -> list[SessionUse]:
        """The connection is gone, and they with it: those that there were."""
        self.connection = None
        uses = self.uses
        self.uses = []
        for use in uses:
            use.session.context = None  # neither is held by the other any more
        return uses

    def use_for(self, slot: LinkSlot) -> SessionUse | None:
        """A session with room for one more link; `None`: there is none."""
        if slot.beside is not None:
            return slot.beside.held
        if not slot.alone:
            for use in self.uses:
                if use.shared and use.has_room():
                    return use
        if self._may_begin(slot):
            return self._begin(slot)
        best: SessionUse | None = None
        for use in self.uses:
            if use.has_room() and (best is None or _rank(use, slot) < _rank(best, slot)):
                best = use
        return best

    def _may_begin(self, slot: LinkSlot) -> bool:
        """Whether a session is left; the last one is for links that sessions have ended over."""
        connection = self.connection
        if connection is None or not connection.can_begin:
            return False
        begun = len(self.uses)
        limit = self._limits.sessions_max
        performative = connection.open
        if performative is not None and performative.channel_max is not None:
            limit = min(limit, performative.channel_max + 1)
        if self._one_at_a_time and limit > 1 and not slot.suspect:
            for use in self.uses:
                if use.suspect:
                    break
            else:
                limit -= 1
        return begun < limit

    def _begin(self, slot: LinkSlot) -> SessionUse:
        connection = self.connection
        assert connection is not None
        use = SessionUse(
            connection.session(),
            self._limits.unsettled_max,
            shared=not slot.alone,
            suspect=slot.suspect,
        )
        use.session.context = use
        use.session.send_begin()
        self.uses.append(use)
        return use


def _rank(use: SessionUse, slot: LinkSlot) -> tuple[bool, int]:
    """The lowest is the session to share: with links of the same kind, else with any at all."""
    return use.suspect != slot.suspect, len(use.slots)
