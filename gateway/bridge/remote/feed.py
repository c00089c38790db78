"""A binding of a queue to a remote exchange: a subscription at the upstream that fills the queue.

The link from the upstream brings messages; each is confirmed to the upstream when it is safe in the
queue or, where the queue itself is remote, when that one's upstream has it.
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Binding, Exchange
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import FeedSource, LookUpWaiter
from gateway.message import RELEASED, Message, Outcome
from gateway.wire.tagged import Tagged


@final
class BindingFeed:
    """Implements `remote.Feed`, for its link, and `Publisher`, for the tickets of what it brings.

    Attributes:
        open: messages that have come and are not confirmed.
        starved: there was no room; it is among those that are asked at the end of each turn.
    """

    __slots__ = (
        "_at",
        "_dispatcher",
        "_from",
        "_over",
        "_prefetch",
        "_publishing",
        "_queue",
        "_source",
        "_starved",
        "arguments",
        "durable",
        "encoded",
        "exchange",
        "host",
        "key",
        "link",
        "open",
        "queue_name",
        "starved",
    )

    def __init__(
        self,
        exchange: Exchange,
        binding: Binding,
        source_exchange: Exchange,
        publishing: Publishing,
        dispatcher: Dispatcher,
        *,
        link: int,
        prefetch: int,
        starved: list[BindingFeed],
    ) -> None:
        queue = binding.queue
        self.host = queue.host
        self.exchange = exchange.name
        self._at = exchange
        self.key = binding.key
        self.arguments: dict[str, Tagged] = binding.arguments
        self.encoded = binding.encoded
        self._queue: Queue = queue
        self.queue_name = queue.name
        self.durable = queue.kept and binding.owners is None
        self.link = link
        self.open = 0
        self.starved = False
        self._starved = starved
        self._from = source_exchange  # stands for the upstream, in the ledger
        self._publishing = publishing
        self._dispatcher = dispatcher
        self._prefetch = prefetch
        self._over = False
        self._source: FeedSource | None = None

    def connect(self, source: FeedSource) -> None:
        """The link that was asked for."""
        self._source = source
        source.on_credit()

    # What the link calls.

    @property
    def node(self) -> int:
        """The audit log's number of the queue that it fills."""
        return self._queue.node

    def wanted(self) -> int:
        """The link-credit that the link should have now."""
        if self._over or self._dispatcher.stopped or self.rests:
            return 0
        if self._dispatcher.copies.pressure.high or self._queue.full_for(0):
            self._starve()
            return 0
        return max(self._prefetch - self.open, 0)

    def receive(self, message: Message, token: int) -> None:
        """A message has come; `Source.on_published` tells with `token` how it ended."""
        self.open += 1
        copies = self._dispatcher.copies
        queue = self._queue
        copies.ledger.received(message, self._from, 1, self.link)
        if self._over or self._dispatcher.stopped or queue.full_for(len(message.payload)):
            reason = Reason.CANCELLED if self._over else Reason.QUEUE_FULL
            copies.ledger.refused(message, self._from, reason, queue.node)
            copies.tickets.over(self, token, RELEASED)
            self._starve()
        else:
            keep = not queue.transit
            self._publishing.take(self, token, queue, message, self._from, keep=keep)

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further; what its link says of it is its own affair."""
        ledger = self._dispatcher.copies.ledger
        ledger.received(message, self._from, 1, self.link)
        ledger.refused(message, self._from, reason, 0)  # its queue may be gone

    # What the bridge calls.

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A copy that waited for its end has it: the upstream is told, and may send more."""
        self.open -= 1
        if self._source is not None:
            self._source.on_published(token, outcome)
            self._source.on_credit()

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """Whether to wait until the binding takes effect (`Reaching.reach_binding`)."""
        return self._source is not None and self._source.reach(waiter, token)

    def feed_again(self) -> None:
        """It was starved: perhaps there is room now."""
        self.starved = False
        if self.wanted() and self._source is not None:
            self._source.on_credit()

    def stop(self) -> None:
        """The gateway stops, or the rule rests or rests no more: look at what is wanted."""
        if self._source is not None:
            self._source.on_credit()

    def close(self) -> None:
        """The binding is gone; what is not confirmed still will be."""
        self._over = True
        if self._source is not None:
            self._source.on_left()

    def move(self) -> None:
        """The exchange lives elsewhere, and another feed takes over."""
        self._over = True
        if self._source is not None:
            self._source.on_moved()

    @property
    def rests(self) -> bool:
        """Its rule is paused, or it is about to move."""
        placement = self._at.placement
        return placement is not None and placement.rests

    def _starve(self) -> None:
        if not self.starved and not self._over:
            self.starved = True
            self._starved.append(self)
