"""What keeps one session at a 0-10 upstream over its connections, and all of them.

A session is attached under a name of its own on each connection, and its state ends with it: what
was unsettled goes back to its queue, what was sent and not completed is in doubt. After an
exception the user asks for another (`SessionSlot.retry`) or leaves (`SessionSlot.drop`); after a
lost connection it comes by itself. Source: 0-10 XML, class session.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10._spec import ExecutionException
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import CommandReceived, ResultReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.faces.dialled.context import DialledContext

AT_ONCE: Final = 100  # sessions are attached in a turn
LASTED_MS: Final = 10_000  # an attachment that held so long has had no failure before it


class SessionUser(Protocol):
    """Whose session it is: a relay, a receiver, a look-up."""

    def on_session(self, session: Session) -> None:
        """It is attached: commands may be sent."""

    def on_completed(self, ranges: Ranges) -> None:
        """The peer has completed these of our commands."""

    def on_result(self, event: ResultReceived) -> None:
        """It has answered one."""

    def on_command(self, event: CommandReceived) -> None:
        """It has sent one."""

    def on_exception(self, exception: ExecutionException) -> None:
        """It has refused one: the session is over."""

    def on_ended(self, why: str) -> None:
        """It is over for another reason that is not the connection's."""

    def on_lost(self) -> None:
        """It is gone with its connection; it is attached again on the next one."""

    def on_room(self) -> None:
        """The transport has room again."""


class Owing(Protocol):
    """Whoever has something to say at the end of the turn: a relay."""

    def flush(self) -> None:
        """Say what was gathered."""


@final
class SessionSlot:
    """One session's place. Implements `Sleeper`.

    Attributes:
        user: whose it is.
        session: while it is attached.
        waits: a back-off is not over.
    """

    __slots__ = ("_failures", "_sessions", "_since_ms", "asked", "session", "user", "waits")

    def __init__(self, sessions: Sessions, user: SessionUser) -> None:
        self._sessions = sessions
        self._failures = 0
        self._since_ms = 0
        self.user = user
        self.asked: Session | None = None
        self.session: Session | None = None
        self.waits = False

    def begin(self, session: Session, now_ms: int) -> None:
        """The peer has attached it."""
        self.session = session
        self._since_ms = now_ms
        self.user.on_session(session)

    def retry(self) -> None:
        """Attach it again after a back-off."""
        upstream = self._sessions.upstream
        if upstream.bridge.now_ms - self._since_ms >= LASTED_MS:
            self._failures = 0
        self._failures += 1
        self.waits = True
        upstream.wake_in(self, upstream.settings.back_off_ms(self._failures))

    def hurry(self) -> None:
        """Somebody waits for it: do not wait any longer."""
        if self.waits:
            self._sessions.upstream.wake_in(self, 0)

    def settle_down(self) -> None:
        """All went well: the next back-off is a first one."""
        self._failures = 0

    def handle_deadline(self, now_ms: int) -> None:
        """The back-off is over."""
        self.waits = False
        self._sessions.want(self)

    def drop(self) -> None:
        """Give it up: the peer has back what is unsettled."""
        self._sessions.drop(self)


@final
class Sessions:
    """Those of one upstream, on its connection.

    Attributes:
        full: the transport takes no more for now.
        number: of the connection, in the audit log.
        slots: all that have a place.
    """

    def __init__(self, upstream: DialledContext) -> None:
        self.upstream = upstream
        self.slots: dict[SessionSlot, None] = {}
        self.full = False
        self.number = 0
        self._connection: Connection | None = None
        self._channel_max = 0
        self._by_session: dict[Session, SessionSlot] = {}
        self._wanting: dict[SessionSlot, None] = {}
        self._owing: dict[Owing, None] = {}
        self._names = 0
        self._short = False  # which was told, of this connection

    def owe(self, owing: Owing) -> None:
        """Have it say what it gathered, at the end of the turn."""
        self._owing[owing] = None

    def add(self, user: SessionUser) -> SessionSlot:
        """A place for one more; it is attached when that is possible."""
        slot = SessionSlot(self, user)
        self.slots[slot] = None
        self.want(slot)
        return slot

    def want(self, slot: SessionSlot) -> None:
        """Have it attached at the end of the turn."""
        if slot in self.slots and slot.asked is None:
            self._wanting[slot] = None
            self.upstream.touch()

    def drop(self, slot: SessionSlot) -> None:
        """Forget it; an attached one is detached."""
        if self.slots.pop(slot, self) is self:
            return
        self._wanting.pop(slot, None)
        self.upstream.unwake(slot)
        session = slot.asked
        slot.asked = slot.session = None
        if session is None:
            return
        self._by_session.pop(session, None)
        if not session.ended and session.listens():
            session.detach()
        self.upstream.touch()

    def name_of(self, session: Session) -> str:
        """Its name, as text: no other session has it."""
        return session.name.decode("utf-8", "replace")

    def attached(self) -> int:
        """How many are attached."""
        return len([slot for slot in self.slots if slot.session is not None])

    # What the connection tells.

    def open(self, connection: Connection, number: int) -> None:
        """The peer has opened: all of them are wanted."""
        self._connection = connection
        self._channel_max = connection.tuning.channel_max
        self.number = number
        self.full = False
        self._short = False
        for slot in self.slots:
            if not slot.waits:
                self.want(slot)

    def lose(self) -> None:
        """The connection is over, and all of them with it."""
        self._connection = None
        self._by_session.clear()
        self.full = False
        for slot in list(self.slots):
            was_asked = slot.asked is not None
            slot.asked = slot.session = None
            if was_asked:
                slot.user.on_lost()
        # What was refused before may be had now: it is another connection, perhaps another broker.
        for slot in self.slots:
            slot.waits = False
            self.upstream.unwake(slot)

    def find(self, session: Session) -> SessionSlot | None:
        """Whose it is; `None`: it was given up."""
        return self._by_session.get(session)

    def on_attached(self, session: Session) -> None:
        """The peer has attached it."""
        slot = self._by_session.get(session)
        if slot is not None:
            slot.begin(session, self.upstream.bridge.now_ms)
        elif session.listens():
            session.detach()  # it was given up meanwhile

    def on_exception(self, session: Session, exception: ExecutionException) -> None:
        """The peer refuses a command, and ends the session."""
        slot = self._let_go(session)
        if slot is not None:
            self.upstream.counts.sessions_ended += 1
            slot.user.on_exception(exception)

    def on_ended(self, session: Session, why: str) -> None:
        """It is over, and its channel is free."""
        slot = self._let_go(session)
        self.upstream.touch()  # its channel is free for another
        if slot is not None:
            self.upstream.counts.sessions_ended += 1
            self.upstream.health.note_problem(why)
            slot.user.on_ended(why)

    def _let_go(self, session: Session) -> SessionSlot | None:
        slot = self._by_session.pop(session, None)
        if slot is not None:
            slot.asked = slot.session = None
        return slot

    def on_room(self) -> None:
        """The transport has room again."""
        for slot in list(self.slots):
            if slot.session is not None:
                slot.user.on_room()

    def flush(self) -> None:
        """The turn ends: have what is wanted attached, and all say what they gathered."""
        connection = self._connection
        if connection is None or not connection.open:
            return
        if self._wanting:
            self._attach_some(connection)
        owing = self._owing
        if owing:
            self._owing = {}
            for each in owing:
                each.flush()

    def _tell_short(self, count: int) -> None:
        """More sessions are wanted than there are channels: operators hear of it, once."""
        if not self._short:
            self._short = True
            text = f"no channel is free for {count} more sessions: see upstreams.*.links"
            self.upstream.health.note_problem(text)

    def _attach_some(self, connection: Connection) -> None:
        """So many as a turn should do, on free channels."""
        sessions = connection.channels.sessions
        taken = {each for each, session in sessions.items() if not session.detached}
        most = min(self._channel_max + 1, self.upstream.settings.limits.links_max)
        wanting = self._wanting
        channel = 0
        for _ in range(AT_ONCE):
            if not wanting:
                return
            while channel in taken:
                channel += 1
            if channel >= most:
                self._tell_short(len(wanting))
                return
            slot = next(iter(wanting))
            del wanting[slot]
            self._attach(connection, slot, channel)
            channel += 1
        self.upstream.touch()

    def _attach(self, connection: Connection, slot: SessionSlot, channel: int) -> None:
        self._names += 1
        settings = self.upstream.settings
        chance = int(settings.random() * 0xFFFFFFFF)
        name = f"{settings.container_id}.{self.number}.{self._names}.{chance:08x}"
        session = connection.attach(name.encode(), channel)
        self._by_session[session] = slot
        slot.asked = session
