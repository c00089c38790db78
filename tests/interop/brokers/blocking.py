"""Proton's BlockingConnection without its faults.

It waits for a link although its session has ended. And a link whose handler knows the connection
keeps all of both for ever, 1.7 MB: the circle goes through Proton's C library, where no garbage
collector sees it.
"""

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


class Forgetting(BlockingConnection):  # type: ignore[misc]  # proton has no type information
    """Lets go of its links when it is closed."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._handled: list[Any] = []
        super().__init__(*arguments, **named)

    def create_receiver(self, *arguments: Any, **named: Any) -> Any:
        """As Proton has it."""
        receiver = super().create_receiver(*arguments, **named)
        self._handled.append(receiver.link)
        return receiver

    def close(self) -> None:
        """As Proton has it."""
        try:
            super().close()
        finally:
            for link in self._handled:
                link.handler = None
            self._handled.clear()


class Connection(Forgetting):
    """Whoever waits for something hears of a session's end that was not asked for."""

    def on_session_remote_close(self, event: Any) -> None:
        """Called by Proton."""
        if event.session.state & Endpoint.LOCAL_ACTIVE and not self.closing:
            event.session.close()
            raise SessionEndedError(event.session)
