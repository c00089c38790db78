"""One subscription to a remote queue: between a link from the upstream and a client's outlet.

What the upstream sends waits, if at all, in a transit queue that is this subscription's alone, so
that its credit and every settlement reach from end to end: a copy ends when the client settles its
delivery, and the link hears of it. A lost link takes back what was not settled; a delivery that a
client still has is then settled too late. What came settled is the gateway's: it outlives the link,
and what is not sent on goes back through the queue in front of the upstream (`keeping`).
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.queues.credit import UNLIMITED
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.line import Line
from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.remote.keeping import Keeping
from gateway.bridge.remote.remote import Placement, Source
from gateway.bridge.seams import DeliverStatus, Outlet, SubscribeOptions
from gateway.bridge.tickets import Ticket
from gateway.message import RELEASED, Condition, Delivery, Message, Outcome, Refusal


@final
class Handover:
    """The outlet of an inlet's subscription: the client's, and the link hears of the room."""

    __slots__ = ("_browses", "_inlet", "_outlet")

    def __init__(self, inlet: QueueInlet, outlet: Outlet, browses: bool) -> None:
        self._inlet = inlet
        self._outlet = outlet
        self._browses = browses

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Have the client's outlet send it; the link may then bring more.

        A browser's delivery is not acquired: its message stays at the upstream.
        """
        if self._browses:
            delivery.acquired = False
        status = self._outlet.deliver(delivery)
        if status == DeliverStatus.TAKEN:
            self._inlet.tell_credit()
        return status

    def refusal(self) -> Refusal:
        """Why the client's outlet refused the last delivery."""
        return self._outlet.refusal()

    def on_attached(self) -> None:
        """The client's subscription is in force."""
        self._outlet.on_attached()

    def on_drained(self) -> None:
        """The drain is finished; what came beyond the client's credit goes back to the upstream."""
        self._inlet.give_back(RELEASED, Reason.CANCELLED)
        self._outlet.on_drained()

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The upstream refused it, or its queue has gone: the client's subscription ends."""
        self._outlet.on_cancelled(condition, description)


@final
class QueueInlet:
    """Implements `remote.Inlet`, for its link, and `Wake`, for its subscription.

    Attributes:
        exclusive: as asked; clients are kept apart by the gateway.
        subscription: the client's.
        queue: what has come and has not ended.
    """

    __slots__ = (
        "_attached",
        "_dispatcher",
        "_exchange",
        "_keeping",
        "_line",
        "_over",
        "_prefetch",
        "_source",
        "_stopped",
        "acquire",
        "draining",
        "exclusive",
        "host",
        "kept_there",
        "link",
        "no_local",
        "queue",
        "queue_name",
        "selector",
        "settled",
        "subscription",
    )

    def __init__(
        self,
        queue: Queue,
        line: Line,
        dispatcher: Dispatcher,
        exchange: Exchange,
        keeping: Keeping,
        *,
        link: int,
        prefetch: int,
        options: SubscribeOptions,
    ) -> None:
        self.host = queue.host
        self.queue_name = queue.name
        self.queue = queue
        self.link = link
        self.acquire = options.acquire
        self.settled = options.settled
        self.exclusive = options.exclusive
        self.selector = options.selector
        self.no_local = options.no_local
        self.kept_there = options.kept_there
        self.draining = False
        self._line = line
        self._dispatcher = dispatcher
        self._exchange = exchange  # stands for the upstream, in the ledger
        self._keeping = keeping
        self._prefetch = prefetch
        self._attached = False
        self._stopped = False
        self._over = False
        self._source: Source | None = None
        self.subscription: Subscription

    def begin(self, subscription: Subscription) -> None:
        """The client's subscription, whose line is this."""
        self.subscription = subscription
        subscription.attaching = True
        self._line.join(subscription)

    def connect(self, source: Source) -> None:
        """The link that was asked for."""
        self._source = source
        self.tell_credit()

    # What the link calls.

    def wanted(self) -> int:
        """The link-credit that the link should have now."""
        subscription = self.subscription
        if self._closed() or self._stopped or self._rests() or not subscription.allowance.some():
            return 0
        credit = subscription.allowance.messages
        if credit == UNLIMITED or credit > self._prefetch:
            credit = self._prefetch
        return max(credit - self.queue.available, 0)

    @property
    def node(self) -> int:
        """The audit log's number of the inlet's own transit queue."""
        return self.queue.node

    @property
    def wants_settled(self) -> bool:
        """Whether the link may bring messages settled: the rule of the queue says so."""
        placement = self.queue.placement
        return self.settled and placement is not None and placement.settled

    def is_handing_over(self) -> bool:
        """Whether nothing is wanted only because what came has not been sent to the client."""
        allowance = self.subscription.allowance
        return (
            self.queue.available > 0
            and allowance.some()
            and allowance.octets == UNLIMITED  # else one of them may be too large to go at all
        )

    def on_attached(self) -> None:
        """The link is attached, for the first time or again."""
        self._attached = True
        if self.subscription.attaching and not self._over:
            self.subscription.attaching = False
            self.subscription.outlet.on_attached()

    def on_refused(self, condition: Condition, description: str) -> None:
        """The upstream does not have the node (any more): the subscription ends."""
        if self._over:
            return
        self._over = True
        self._forsake(Reason.UPSTREAM_REFUSED, forgotten=True)
        self.queue.deleted = True
        self._line.cancel_all(condition, description)

    def receive(self, message: Message, token: int, *, settled: bool = False) -> None:
        """A message has come; `Source.on_published` tells with `token` how it ended.

        `settled`: the upstream has forgotten it, unless it was a copy for a browser.
        """
        copies = self._dispatcher.copies
        ledger = copies.ledger
        assert self._source is not None
        ledger.received(message, self._exchange, 1, self.link)
        forgotten = settled and self.acquire
        if self._closed() or self._stopped or self._rests():
            if forgotten:
                self._keeping.keep(message, self._exchange, self.queue_name)
                return
            ledger.refused(message, self._exchange, Reason.CANCELLED, self.queue.node)
            copies.tickets.over(self._source, token, RELEASED)
            return
        ticket = Ticket(self._source, token, 1)
        ticket.forgotten = forgotten
        copies.pass_on(self.queue, message, self._exchange, ticket)
        self._line.on_entered()

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further; what its link says of it is its own affair."""
        ledger = self._dispatcher.copies.ledger
        ledger.received(message, self._exchange, 1, self.link)
        ledger.refused(message, self._exchange, reason, 0)  # its queue may be gone

    def on_settled(self, tokens: set[int], *, taken_back: bool) -> None:
        """The upstream has settled before the client: what it has not taken back is the gateway's.

        It will hear nothing of these; what the client has of them, it will settle too late.
        """
        copies = self._dispatcher.copies
        entry = self.queue.places.next_at(0)
        while entry is not None:
            position = entry.position
            ticket = entry.ticket
            if ticket is not None and not ticket.forgotten and ticket.token in tokens:
                if not taken_back:
                    ticket.forgotten = True
                    ticket.late = entry.holder != AVAILABLE
                else:
                    entry.ticket = None
                    if entry.holder == AVAILABLE:
                        copies.ledger.returned(self.queue, entry, Reason.UPSTREAM_LOST)
                        copies.leave(self.queue, entry, RELEASED)
            entry = self.queue.places.next_at(position + 1)

    def on_drained(self) -> None:
        """The upstream has nothing more: when what came is sent, the drain is done."""
        if self.draining:
            self.draining = False
            self.subscription.draining = True
            self._line.wake(self.subscription)

    def lost(self) -> None:
        """The link is gone, and the upstream has back what was not settled."""
        self._attached = False
        self._forsake(Reason.UPSTREAM_LOST, forgotten=False)
        self.on_drained()

    # What the subscription calls, for the client.

    def wake(self, subscription: Subscription) -> None:
        """The client granted credit, or drains: what a drain waits for is the upstream's answer."""
        self._stopped = self._stopped and not subscription.allowance.some()
        if subscription.draining:
            self.draining = True
            subscription.draining = False
            if not subscription.allowance.some() or not (self._attached or subscription.attaching):
                self.on_drained()
        self._line.wake(subscription)
        self.tell_credit()

    def halt(self, subscription: Subscription) -> None:
        """The client stopped: what was fetched and not sent goes back."""
        self._stopped = True
        self.draining = False
        self.give_back(RELEASED, Reason.CANCELLED)
        self.tell_credit()

    def leave(self, subscription: Subscription) -> None:
        """Cancelled; what is unsettled ends with its settlement, and the link hears of that."""
        self._over = True
        self.give_back(RELEASED, Reason.CANCELLED)
        self.queue.deleted = True
        self._line.leave(subscription)
        if self._source is not None:
            self._source.on_left()

    # What the bridge calls.

    def tell_credit(self) -> None:
        """`wanted` may have changed."""
        if self._source is not None and not self._over:
            self._source.on_credit()

    def stop(self) -> None:
        """The gateway stops: nothing is sent to the client any more."""
        self.give_back(RELEASED, Reason.STOPPING)
        self.tell_credit()

    def rest(self) -> None:
        """Its rule is paused, or held: what was fetched and not sent goes back."""
        self.give_back(RELEASED, Reason.OPERATOR)
        self.tell_credit()

    def move(self, placement: Placement, exchange: Exchange) -> None:
        """Its queue lives at another upstream now, or at another address: a new link brings them.

        What the client still has goes back to where it came from: it will be settled too late.
        """
        copies = self._dispatcher.copies
        self.give_back(RELEASED, Reason.OPERATOR)
        entry = self.queue.places.next_at(0)
        while entry is not None:
            ticket = entry.ticket
            if ticket is not None and not ticket.forgotten:
                copies.tickets.end(ticket, RELEASED)
                entry.ticket = None
            entry = self.queue.places.next_at(entry.position + 1)
        source, self._source = self._source, None
        if source is not None:
            source.on_moved()
        self.queue.placement = placement
        self._exchange = exchange
        self._attached = False
        if not self._over:
            self.on_drained()
            self.connect(placement.remote.open(self))

    @property
    def established(self) -> bool:
        """The client was told once that its subscription is in force."""
        return not self.subscription.attaching

    def give_back(self, outcome: Outcome, reason: Reason, *, forgotten: bool = True) -> None:
        """End every copy that waits, with `outcome` for the upstream; `forgotten`: by it, too.

        The last first: some brokers put each in front of the queue.
        """
        copies = self._dispatcher.copies
        queue = self.queue
        waiting: list[Entry] = []
        entry = queue.places.next_at(0)
        while entry is not None:
            ticket = entry.ticket
            if entry.holder == AVAILABLE:
                if ticket is None or not ticket.forgotten:
                    waiting.append(entry)
                elif forgotten:
                    self._keeping.put_back(queue, entry, reason)
            entry = queue.places.next_at(entry.position + 1)
        for entry in reversed(waiting):
            copies.ledger.returned(queue, entry, reason)
            copies.leave(queue, entry, outcome)

    def _rests(self) -> bool:
        placement = self.queue.placement
        return placement is not None and placement.rests

    def _closed(self) -> bool:
        return self._over or self._dispatcher.stopped

    def _forsake(self, reason: Reason, *, forgotten: bool) -> None:
        """Nobody is left to be told of these copies; `forgotten`: those by the upstream, too."""
        entry = self.queue.places.next_at(0)
        while entry is not None:
            ticket = entry.ticket
            if ticket is not None and not ticket.forgotten:
                entry.ticket = None
            entry = self.queue.places.next_at(entry.position + 1)
        self.give_back(RELEASED, reason, forgotten=forgotten)
