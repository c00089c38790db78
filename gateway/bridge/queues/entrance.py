"""What a queue lets in, of what is routed to it."""

from __future__ import annotations

from typing import final

from gateway.bridge.exchanges.filters import selector_as_kept
from gateway.bridge.seams import Owner, QueueSettings
from gateway.message import Message
from gateway.selectors.selector import Selector


@final
class Entrance:
    """That of one queue.

    Attributes:
        no_local: not what the connection publishes that has the queue, or else subscribes alone.
        filter: not what it does not accept; `None`: everything.
        octets: that it takes.
        alone: whose the only subscription is, which excludes others.
    """

    __slots__ = ("alone", "filter", "no_local", "octets")

    def __init__(self, settings: QueueSettings) -> None:
        self.no_local = settings.no_local
        text = settings.discipline.filter
        self.filter: Selector | None = selector_as_kept(text) if text else None
        self.octets = 0 if self.filter is None else self.filter.octets
        self.alone: Owner | None = None

    @property
    def guarded(self) -> bool:
        """Whether messages are looked at."""
        return self.no_local or self.filter is not None

    def keeps_out(self, message: Message, owner: Owner | None) -> bool:
        """Whether `message` is not to enter a queue that `owner` has exclusively, if anybody."""
        if self.no_local:
            whose = self.alone if owner is None else owner
            if whose is not None and whose.connection_id() == message.publisher:
                return True
        return self.filter is not None and not self.filter.accepts(message)
