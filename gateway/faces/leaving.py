"""The end of a connection: its sessions end as many as are a share of a turn, and at last it does.

Those of 0-10 whose clients have asked for that go on without it, for a time: `KeptSessions`.

What a session leaves behind goes back to queues, which is work; a connection with hundreds of full
ones must not hold up the others. From the first of these turns on it is gone for whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar, final

from gateway.audit.schema import Reason
from gateway.bridge.seams import Publisher
from gateway.message import Outcome
from gateway.wire.work import COMMAND, SHARE, WORK

S = TypeVar("S")

DELIVERY_OCTETS: Final = 512  # what an unsettled delivery takes, apart from its message
NOT_YET: Final = 1 << 62
Key = tuple[str, str, str, str, str]  # a link: virtual host, user, container, role and name


class Whose(Protocol):
    """Whose connection it is."""

    def touch(self) -> None:
        """There is more to do in the next turn."""

    def on_closed(self, reason: Reason) -> None:
        """The connection is over."""


@final
class Gone:
    """A connection that has left: what it is told from now on nobody hears.

    Who tells connections of something has it instead of one that is over, which so is free at once.
    Implements `Touched`, `Slowed`, `Reviewed`, and `Sessions` of 1.0.
    """

    def touch(self) -> None:
        """There is nothing to send."""

    def on_doubt(self) -> None:
        """There is nobody to slow down."""

    def on_rules_changed(self, now_ms: int) -> None:
        """It has nothing any more."""

    def resume(self) -> None:
        """Nothing is held back."""

    def is_posting(self, txn_id: bytes) -> bool:
        """Nothing has come."""
        return False


GONE: Final = Gone()


@final
class Addressee:
    """Who is told of publishes: whoever published, until that leaves. Implements `Publisher`.

    A publish may be held back for very long, by a queue that nobody reads; it has this.
    """

    __slots__ = ("_publisher",)

    def __init__(self, publisher: Publisher) -> None:
        self._publisher: Publisher | None = publisher

    def on_published(self, token: int, outcome: Outcome) -> None:
        """See `Publisher`."""
        if self._publisher is not None:
            self._publisher.on_published(token, outcome)

    def leave(self) -> None:
        """It is gone, and heard of no more."""
        self._publisher = None


@final
class Leaving(Generic[S]):
    """The sessions of a connection that is over.

    Attributes:
        gone: it is over.
    """

    __slots__ = ("_reason", "_sessions", "gone")

    def __init__(self) -> None:
        self._sessions: list[S] = []
        self._reason = Reason.NONE
        self.gone = False

    @property
    def under_way(self) -> bool:
        """Whether there are sessions that have not ended yet."""
        return len(self._sessions) > 0

    def begin(self, sessions: list[S], reason: Reason) -> None:
        """The connection is over with these sessions, in good order where there is no `reason`."""
        self.gone = True
        self._reason = reason
        self._sessions = list(reversed(sessions))

    def hurry(self, wanted: Callable[[S], bool], let_go: Callable[[S, Reason], None]) -> None:
        """End those that are wanted now."""
        hurried = [each for each in self._sessions if wanted(each)]
        self._sessions = [each for each in self._sessions if not wanted(each)]
        for each in hurried:
            let_go(each, self._reason or Reason.SESSION_ENDED)

    def go_on(self, whose: Whose, let_go: Callable[[S, Reason], None]) -> None:
        """End what sessions there are, as many as are a share of a turn, and at last the visit."""
        reason = self._reason
        end = WORK.units + SHARE
        while self._sessions and WORK.units <= end:
            WORK.units += COMMAND
            let_go(self._sessions.pop(), Reason.SESSION_ENDED if reason == Reason.NONE else reason)
        if self._sessions:
            WORK.cut += 1
            whose.touch()
        else:
            whose.on_closed(reason)


@final
class AbsentStatus:
    """What operators are told of a session without a connection, or a link that is suspended.

    Attributes:
        kind: "session"; of a link what the client does by it: "sender", "receiver".
        name, node: its own, and of a link that of its queue or exchange.
        host, user, container, connection, address: whose it is; the connection was its last.
        unsettled: deliveries; of a sender those of which it may not have heard what became.
        since_ms: when it lost its connection, or was detached.
    """

    __slots__ = (
        "address",
        "connection",
        "container",
        "host",
        "kind",
        "name",
        "node",
        "since_ms",
        "unsettled",
        "user",
    )

    def __init__(self, kind: str, name: str, node: str, unsettled: int, since_ms: int) -> None:
        self.kind = kind
        self.name = name
        self.node = node
        self.unsettled = unsettled
        self.since_ms = since_ms
        self.host = ""
        self.user = ""
        self.container = ""
        self.connection = 0
        self.address = ""


class Absent(Protocol):
    """A session that has no connection."""

    @property
    def deadline_ms(self) -> int:
        """When its time is over; `NOT_YET`: that has not begun."""

    @property
    def octets(self) -> int:
        """What is kept of it."""

    def status(self) -> AbsentStatus:
        """What operators are told of it."""

    def leave(self) -> None:
        """It goes on with another connection, which has it already."""

    def end(self, reason: Reason) -> None:
        """It is over: what it holds goes back."""


class Takeable(Protocol):
    """A link that lasts, and is attached."""

    def on_stolen(self) -> None:
        """Its client attaches it elsewhere: it is suspended."""


@final
class KeptSessions:
    """The 0-10 sessions whose state outlives their connections, and those without one just now.

    One book, shared by all connections. What a session keeps is on its user's account, whether it
    has a connection or not; when its time without one is over, all that it holds goes back. It is
    in memory only: a gateway that starts knows of none.

    Attributes:
        absent: those without a connection, by the number of their owner.
        links: of these, links of 1.0 that are suspended.
        attached: links of 1.0 that would be, if they were lost.
        detached, resumed, expired: how often one lost its connection, went on with another, or did
            not in time.
    """

    __slots__ = ("_names", "absent", "attached", "detached", "expired", "links", "resumed")

    def __init__(self) -> None:
        self._names: dict[str, set[bytes]] = {}
        self.absent: dict[int, Absent] = {}
        self.links: dict[Key, Absent] = {}
        self.attached: dict[Key, Takeable] = {}
        self.detached = 0
        self.resumed = 0
        self.expired = 0

    def names(self, user: str) -> set[bytes]:
        """The names of a user's sessions that outlive their connections; it is kept up to date."""
        names = self._names.get(user)
        if names is None:
            names = set()
            self._names[user] = names
        return names

    def attach(self, key: Key, link: Takeable) -> None:
        """A link that lasts is attached; where it still was, it is no more."""
        before = self.attached.pop(key, None)
        if before is not None:
            before.on_stolen()
        self.attached[key] = link

    def detach(self, key: Key, link: Takeable) -> None:
        """It is gone."""
        if self.attached.get(key) is link:
            del self.attached[key]

    def octets(self) -> int:
        """What is kept of those without a connection."""
        return sum([each.octets for each in self.absent.values()])

    def look(self, now_ms: int) -> bool:
        """End those whose time is over, as many as are a share of a turn; whether there were any.

        Those that are left over are ended the next time.
        """
        due = [each for each in self.absent.values() if each.deadline_ms <= now_ms]
        end = WORK.units + SHARE
        for each in due:
            if WORK.units > end:
                break
            WORK.units += COMMAND
            self.expired += 1
            each.end(Reason.TIMED_OUT)
        return len(due) > 0

    def end_all(self) -> None:
        """The gateway stops: none of them will be asked for."""
        for each in list(self.absent.values()):
            each.end(Reason.STOPPING)
