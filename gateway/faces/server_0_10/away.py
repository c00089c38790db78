"""A session that has no connection: its state waits for the next one, until its time is over.

It holds what it held: subscriptions without credit, exclusive queues, scoped bindings, its
transaction or branch, what is unsettled, and what the client has not confirmed. Commands that wait
are carried out when it has a connection again; completions go on. Other access rules end it if its
user may not be here any more; what they say of its subscriptions counts when it is attached again.
Source: 0-10 XML, session.request-timeout.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10.session import Session
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.leaving import DELIVERY_OCTETS, AbsentStatus
from gateway.faces.server_0_10.contents.windows import SharedWindows
from gateway.faces.server_0_10.session import ServerSession


@final
class Away:
    """Implements `Absent`, `SessionHolder`, `Reviewed`."""

    __slots__ = ("_client", "_deadline_ms", "_kept", "_session", "_since_ms", "_windows")

    def __init__(self, session: ServerSession, deadline_ms: int) -> None:
        # It holds this, too, when it has ended: then this holds it no longer.
        self._session: ServerSession | None = session
        self._deadline_ms = deadline_ms
        self._since_ms = session.client.bridge.now_ms
        self._client: Client = session.client.absent(self)  # stands for who is not there
        self._kept = session.client.settings.kept
        self._windows = SharedWindows()  # nothing is sent

    @property
    def deadline_ms(self) -> int:
        """See `Absent`."""
        return self._deadline_ms

    @property
    def octets(self) -> int:
        """See `Absent`."""
        return self._client.account.held

    def status(self) -> AbsentStatus:
        """See `Absent`."""
        session = self._session
        name = "" if session is None else session.session.name.decode("utf-8", "replace")
        unsettled = 0 if session is None else len(session.unsettled)
        return self._client.absence(AbsentStatus("session", name, "", unsettled, self._since_ms))

    def begin(self) -> None:
        """Take the session; where more would be kept for its user than may be, it ends."""
        session, account = self._session, self._client.account
        assert session is not None
        session.away = self
        session.subscriptions.pause()
        session.contents.pause()
        session.move(self._client, self)
        self._kept.absent[session.number] = self
        self._kept.detached += 1
        if not account.take(DELIVERY_OCTETS * len(session.unsettled)):
            self.end(Reason.OVER_LIMIT)

    def leave(self) -> None:
        """See `Absent`."""
        self._kept.resumed += 1
        if self._session is not None:
            self._close(self._session)

    def end(self, reason: Reason) -> None:
        """See `Absent`."""
        session, client = self._session, self._client
        if session is None:
            return
        self._session = None
        session.give_name_back()
        client.record_session_end(session.audit_name, reason)
        session.session.lose_state()
        session.end(Reason.SESSION_ENDED)
        self._close(session)

    def _close(self, session: ServerSession) -> None:
        client = self._client
        self._session = None
        session.away = None
        del self._kept.absent[session.number]
        client.account.close()
        client.settings.access.forget(client.access)
        client.leave()

    # What is told it.

    def on_session_over(self, session: Session) -> None:
        """See `SessionHolder`: it was ended by an exception, or another session takes its name."""
        self.end(Reason.SESSION_ENDED)

    def hand_over(self, session: Session) -> None:
        """See `SessionHolder`: it is with nobody."""

    def windows(self) -> SharedWindows:
        """See `SessionHolder`."""
        return self._windows

    def resume(self) -> None:
        """See `SessionHolder`: nothing is sent."""

    def on_rules_changed(self, now_ms: int) -> None:
        """See `Reviewed`."""
        if self._client.access.may_stay() is not None:
            self.end(Reason.RULES_CHANGED)
