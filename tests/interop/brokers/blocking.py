"""Proton's BlockingConnection, which waits for a link although its session has ended; not this."""

from typing import Any

from proton import Endpoint, ProtonException
from proton.utils import BlockingConnection


class SessionEndedError(ProtonException):  # type: ignore[misc]  # proton has no type information
    """The peer ended a session of ours: how some brokers refuse a link.

    Attributes:
        condition: why, as a symbol's text; None if it did not say.
    """

    def __init__(self, session: Any) -> None:
        told = session.remote_condition
        super().__init__(f"the session ended: {told}")
        self.condition = None if told is None else str(told.name)


class Connection(BlockingConnection):  # type: ignore[misc]  # proton has no type information
    """Whoever waits for something hears of a session's end that was not asked for."""

    def on_session_remote_close(self, event: Any) -> None:
        """Called by Proton."""
        if event.session.state & Endpoint.LOCAL_ACTIVE and not self.closing:
            event.session.close()
            raise SessionEndedError(event.session)
