"""What was settled on links that we have detached, until the peer has answered the detach.

The detach goes behind the dispositions, so that its answer says that they were heard; so do the
answers to an end or a close that follows it. Where the session or the connection goes first, or
the peer ends any of them with an error, which is no answer, the upstream may send again what was
settled: see `seen_before`.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.carrier import Carrier
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.faces.dialled.seen_before import SeenBefore

UNHEARD_MAX: Final = 100_000  # messages


@final
class Unheard:
    """Of one upstream, for all its connections.

    Attributes:
        most: messages that are kept; with more the oldest session is taken to be unheard.
    """

    __slots__ = ("_count", "_seen_before", "_sessions", "most")

    def __init__(self, seen_before: SeenBefore) -> None:
        self._seen_before = seen_before
        self._sessions: dict[Session, dict[Link, deque[int]]] = {}
        self._count = 0
        self.most = UNHEARD_MAX

    def __len__(self) -> int:
        return self._count

    def keep(self, link: Link, digests: deque[int]) -> None:
        """A link is about to be detached by us, with this settled on it."""
        if not link.attached:  # nothing that we sent now would be answered
            self._remember(digests)
            return
        self._sessions.setdefault(link.session, {})[link] = digests
        self._count += len(digests)
        while self._count > self.most:
            self.on_end(next(iter(self._sessions)), answer=False)

    def on_detach(self, link: Link, error: Error | None) -> None:
        """The peer has detached a link, in answer or by itself."""
        links = self._sessions.get(link.session)
        digests = None if links is None else links.pop(link, None)
        if digests is None:
            return
        if not links:
            del self._sessions[link.session]
        self._forget(digests, heard=error is None)

    def on_end(self, session: Session, *, answer: bool) -> None:
        """A session is over; `answer`: we had ended it, and the peer did so in good order."""
        heard = answer and not session.crossed
        for digests in self._sessions.pop(session, {}).values():
            self._forget(digests, heard=heard)

    def on_close(self, carrier: Carrier, *, answer: bool) -> None:
        """So is a connection."""
        for session in [each for each in self._sessions if each.carrier is carrier]:
            self.on_end(session, answer=answer)

    def _forget(self, digests: deque[int], *, heard: bool) -> None:
        self._count -= len(digests)
        if not heard:
            self._remember(digests)

    def _remember(self, digests: deque[int]) -> None:
        for digest in digests:
            self._seen_before.add(digest)
