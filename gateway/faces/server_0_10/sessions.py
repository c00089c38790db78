"""The sessions of one 0-10 connection: attached, gone on with, and let go of with their connection.

A user's session has its name alone, whatever connections he has: who attaches it again takes it
from whichever has it, with its state, or has that end it.
Source: 0-10 XML, class session. Deployed clients need session names that are unique for each user.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.session import Session
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.leaving import Leaving
from gateway.faces.server_0_10.answers import SessionHolder
from gateway.faces.server_0_10.away import Away
from gateway.faces.server_0_10.session import ServerSession


@final
class Sessions:
    """Those of one connection.

    Attributes:
        living: those that have not ended, by channel.
        leaving: the connection's end, and which of them it has not come to yet.
    """

    __slots__ = ("_client", "_connection", "leaving", "living")

    def __init__(self, client: Client, connection: Connection) -> None:
        self._client = client
        self._connection = connection
        self.living: dict[int, ServerSession] = {}
        self.leaving: Leaving[ServerSession] = Leaving()

    def of(self, session: Session) -> ServerSession | None:
        """The face of a session; its channel may have another one by now."""
        found = self.living.get(session.channel)
        return found if found is not None and found.session is session else None

    def uncompleted(self) -> int:
        """How many commands of the client are not done."""
        held = 0
        for session in self.living.values():
            held += session.session.uncompleted()
        return held

    def drained(self) -> bool:
        """Nothing is unsettled, and nothing waits to be confirmed."""
        return not any(
            len(session.unsettled) or session.uncommitted() for session in self.living.values()
        )

    def owed(self) -> int:
        """What the client has not settled or committed, where all else is done; else 0."""
        owed = 0
        for session in self.living.values():
            if session.under_way():
                return 0
            owed += session.owed()
        return owed

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""
        for session in self.living.values():
            session.resume()

    # They come.

    def attach(self, session: Session, force: bool, holder: SessionHolder) -> None:
        """The client wants it attached: as a new one, or as one whose state is kept."""
        client = self._client
        if client.draining or len(self.living) >= client.settings.limits.sessions_max:
            session.refuse(spec.DetachCode.SESSION_BUSY)
            return
        attached = client.settings.attached
        key = (client.identity, session.name)
        busy = attached.get(key)
        if isinstance(busy, ServerSession):  # there are no others
            resumes = busy.is_for(client)
            if not force and not (resumes and busy.away is not None):
                session.refuse(spec.DetachCode.SESSION_BUSY)
                return
            if resumes and self._resume(session, busy, holder):
                return
            if attached.get(key) is busy:
                busy.force_off()
        session.accept()
        made = ServerSession(client, session, holder)
        self.living[session.channel] = made
        attached[key] = made
        client.on_session_attached(made.audit_name)

    def _resume(self, fresh: Session, session: ServerSession, holder: SessionHolder) -> bool:
        """Go on with a session that has no connection, or is to have none; `False`: it has ended.

        What has come by its other connection is carried out first.
        """
        client = self._client
        session.hand_over()
        client.act(client.bridge.now_ms)
        away = session.away
        if away is None:
            return False
        session.move(client, holder)
        away.leave()
        self._connection.resume(fresh, session.session)
        self.living[session.session.channel] = session
        client.on_session_attached(session.audit_name)
        session.go_on()
        client.touch()
        return True

    # They go.

    def hand_over(self, session: Session) -> None:
        """Another connection goes on with it, also where it has not come to its end here."""
        session.force_off(spec.DetachCode.SESSION_BUSY)
        leaving = self.leaving
        handed = self.of(session)
        if handed is not None:
            self.end_one(handed)
        elif leaving.under_way:
            leaving.hurry(lambda each: each.session is session, self._let_go)
            if not leaving.under_way:
                self.go_on_leaving()

    def end_one(self, session: ServerSession) -> None:
        """It is over, and its connection goes on."""
        channel = session.session.channel
        if self.living.get(channel) is not session:
            return
        del self.living[channel]
        if session.session.replay is None:
            session.give_name_back()
        self._let_go(session, Reason.SESSION_ENDED)

    def keep_nothing(self) -> None:
        """What they hold goes back with the connection, which is ended for good."""
        for session in self.living.values():
            session.session.lose_state()

    def end(self, reason: Reason) -> None:
        """The connection is over; those whose state outlives it keep their names."""
        sessions = list(self.living.values())
        self.living = {}
        for session in sessions:
            if session.session.replay is None:
                session.give_name_back()
        self.leaving.begin(sessions, reason)
        self.go_on_leaving()

    def go_on_leaving(self) -> None:
        """Some more of them end with their connection, and at last it does."""
        self.leaving.go_on(self._client, self._let_go)

    def _let_go(self, session: ServerSession, reason: Reason) -> None:
        client = self._client
        client.on_session_ended()
        client.record_session_end(session.audit_name, reason)
        if session.session.replay is None:
            session.end(reason)
        else:
            self._connection.lose(session.session)
            Away(session, client.bridge.now_ms + 1000 * session.timeout_s).begin()
        client.touch()  # what it gave back may go to others in this turn
