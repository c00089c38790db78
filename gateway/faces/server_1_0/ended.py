"""Sessions and links of a client that have ended: the protocol's let go the face's.

They hold each other while they live. What came in the same octets may still speak of them when they
are over; so they are let go when all that has come is carried out, and at once are nobody's memory,
without the cycle collector, which looks at what is old very seldom (`service.collecting`).
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.wire.work import LINK, WORK


@final
class Ended:
    """Those of one connection."""

    __slots__ = ("_links", "_sessions")

    def __init__(self) -> None:
        self._links: list[Link] = []
        self._sessions: list[Session] = []

    def add_link(self, link: Link) -> None:
        """Both halves of it are detached, or its session is over."""
        self._links.append(link)

    def add_session(self, session: Session) -> None:
        """The client has ended it, or its connection is over."""
        self._sessions.append(session)

    def let_go(self) -> None:
        """Nothing that has come speaks of them."""
        WORK.units += LINK * (len(self._links) + len(self._sessions))
        if self._links:
            for link in self._links:
                link.context = None
                link.waiting = None
            self._links = []
        if self._sessions:
            for session in self._sessions:
                session.context = None
            self._sessions = []
