"""What one queue of an upstream holds goes to where it is to be: to another upstream, or here.

The link that takes it is a subscription like a client's (`remote.Inlet`). What comes goes into a
transit queue of its own in front of the other upstream, past all that clients publish, or into a
queue of the gateway's store. The old place hears "accepted" when the new one has said so, or when
the message is safe here: at least once. What the new place does not take stays unsettled till the
end, and then with the old one. A lost link gives back what was not sent on; what was comes again,
marked.
"""

from __future__ import annotations

from typing import Final, final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.places import AVAILABLE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.inlets import LineMaker
from gateway.bridge.remote.remote import OnRejected, Placement, Remote, Source
from gateway.bridge.remote.sources import Sources
from gateway.bridge.seams import KeptThere
from gateway.bridge.topology import Topology
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Message,
    Outcome,
    OutcomeKind,
    Refusal,
)

REFUSED_MAX: Final = 100  # messages that are not taken, before no more are fetched
NO_LIMIT: Final = 1 << 40  # messages


@final
class Carrier:
    """Implements `remote.Inlet`, for its link, and `Publisher`, for the tickets of what it brings.

    Attributes:
        host, queue_name: the queue at the old place.
        queue: where what comes is put.
        open: messages that have come and that the old place has not heard of.
        allowance: so many more may come: `NO_LIMIT`, or what the rate has left.
        drained: the old place had nothing more, and nothing has come since.
        moved: messages that the new place has; those that came again once more.
        turned_down: times that the new place did not take one; `refused` are those that wait.
        redelivered: of those that have come, such as had been delivered before.
        refusal: why the link is not wanted by the old place; `None`: it is.
        problem: why the new place did not take a message; "": it took all of them.
    """

    __slots__ = (
        *("_came", "_carriers", "_dispatcher", "_from", "_kept", "_over", "_publishing", "_source"),
        *("_window", "acquire", "allowance", "drained", "draining", "established"),
        *("host", "kept_there", "link", "moved", "no_local", "open", "problem", "queue"),
        *("queue_name", "redelivered", "refusal", "selector", "settled", "turned_down"),
        "wants_settled",
    )

    def __init__(
        self,
        carriers: Carriers,
        name: str,
        queue: Queue,
        from_exchange: Exchange,
        *,
        link: int,
        window: int,
    ) -> None:
        self.host = queue.host
        self.queue_name = name
        self.queue = queue
        self.link = link
        self.open = 0
        self.allowance = NO_LIMIT
        self.drained = False
        self.moved = 0
        self.turned_down = 0
        self.redelivered = 0
        self.refusal: Refusal | None = None
        self.problem = ""
        # As an inlet.
        self.acquire = True
        self.settled = False
        self.wants_settled = False
        self.selector = ""
        self.no_local = False
        self.kept_there: KeptThere | None = None
        self.established = False
        self.draining = False
        self._carriers = carriers
        self._publishing = carriers.publishing
        self._dispatcher = carriers.dispatcher
        self._from = from_exchange  # stands for the upstream, in the ledger
        self._window = window
        self._came = False  # since the last look
        self._over = False
        self._kept: list[int] = []  # tokens of what the new place did not take
        self._source: Source | None = None

    def connect(self, remote: Remote) -> None:
        """Have a link bring what the old place has: the first, or another after a refusal."""
        self.refusal = None
        self._source = remote.open(self)
        self._source.on_credit()

    # What the link calls.

    @property
    def node(self) -> int:
        """The audit log's number of the queue that it fills."""
        return self.queue.node

    def wanted(self) -> int:
        """The link-credit that the link should have now."""
        if self._closed() or len(self._kept) >= REFUSED_MAX:
            return 0
        if self._dispatcher.copies.pressure.high or self.queue.full_for(0):
            return 0
        return max(min(self._window - self.open, self.allowance), 0)

    def is_handing_over(self) -> bool:
        """Nothing is wanted only for a while."""
        return not self._over

    def on_attached(self) -> None:
        """The link is attached for the first time; nothing waits for that."""

    def on_refused(self, condition: Condition, description: str) -> None:
        """The old place does not have the queue, does not give it to us, or did not answer."""
        self._source = None
        self.refusal = Refusal(condition, description)

    def receive(self, message: Message, token: int, *, settled: bool = False) -> None:
        """A message has come; `Source.on_published` tells with `token` how it ended.

        `settled`: the old place has forgotten it, so that it is the gateway's, and is kept here.
        """
        self.open += 1
        self._came = True
        self.drained = False
        self.allowance -= 1
        if message.delivery_count:
            self.redelivered += 1
        copies = self._dispatcher.copies
        queue = self.queue
        copies.ledger.received(message, self._from, 1, self.link)
        if queue.deleted or (self._closed() and not settled):
            copies.ledger.refused(message, self._from, Reason.CANCELLED, queue.node)
            copies.tickets.over(self, token, RELEASED)
        else:
            keep = settled or not queue.transit
            self._publishing.take(self, token, queue, message, self._from, keep=keep)

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further; what its link says of it is its own affair."""
        ledger = self._dispatcher.copies.ledger
        ledger.received(message, self._from, 1, self.link)
        ledger.refused(message, self._from, reason, 0)

    def on_settled(self, tokens: set[int], *, taken_back: bool) -> None:
        """The old place has settled first: it hears nothing of these any more."""
        self._kept = [token for token in self._kept if token not in tokens]
        if taken_back:
            self._return(tokens, Reason.UPSTREAM_LOST)

    def on_drained(self) -> None:
        """The old place has nothing more."""
        self.draining = False
        self.drained = True

    def lost(self) -> None:
        """The link is gone, and the old place has back what was not settled."""
        self.draining = False
        self.drained = False
        self._kept = []
        self._return(None, Reason.UPSTREAM_LOST)

    # What the bridge calls.

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A copy that waited for its end has it: the old place is told, unless it is to stay."""
        self.open -= 1
        source = self._source
        kind = outcome.kind
        if kind in (OutcomeKind.REJECTED, OutcomeKind.MODIFIED) and not self._over:
            self.problem = outcome.description or "it was not taken"
            self._kept.append(token)
            self.turned_down += 1
        elif source is not None:
            if kind == OutcomeKind.ACCEPTED:
                self.moved += 1
                source.on_published(token, ACCEPTED)
            elif outcome.delivery_failed and not outcome.undeliverable_here:
                source.on_published(token, MODIFIED_FAILED)
            else:
                source.on_published(token, RELEASED)
        self._tend()

    # What whoever has it carried calls.

    @property
    def refused(self) -> int:
        """Messages that the new place did not take: they are unsettled at the old one."""
        return len(self._kept)

    @property
    def empty(self) -> bool:
        """The old place had nothing more, and all that has come has its end."""
        return self.drained and self.open == 0

    def look(self) -> None:
        """Every now and then: where nothing comes, the old place is asked whether that was all."""
        idle = not self._came and self.open == 0 and self.wanted() > 0
        if idle and not self.drained:
            self.draining = True
        self._came = False
        self._tend()

    def look_again(self) -> None:
        """What the old place said may be so no more: it is asked again."""
        self.drained = False

    def leave(self) -> None:
        """No more is wanted: what is not sent on goes back; what is still gets its outcome."""
        if self._over:
            return
        self._over = True
        self._return(None, Reason.OPERATOR)
        source = self._source
        if source is not None:
            for token in reversed(self._kept):
                source.on_published(token, RELEASED)
            source.on_left()

    def ended(self) -> bool:
        """Whether, since it was left, all that had come has its outcome: then nothing is left."""
        if not self._over:
            return False
        self._return(None, Reason.OPERATOR)  # also what the new place has lost meanwhile
        return self.open == 0 and self._carriers.end(self)

    def _closed(self) -> bool:
        return self._over or self._dispatcher.stopped

    def _return(self, tokens: set[int] | None, reason: Reason) -> None:
        """What waits, all of it or these, goes back to the old place, the last first."""
        queue = self.queue
        if not queue.transit:
            return
        waiting: list[Entry] = []
        entry = queue.places.next_at(0)
        while entry is not None:
            ticket = entry.ticket
            known = ticket is not None and (tokens is None or ticket.token in tokens)
            if entry.holder == AVAILABLE and known:
                waiting.append(entry)
            entry = queue.places.next_at(entry.position + 1)
        copies = self._dispatcher.copies
        for entry in reversed(waiting):  # some brokers put each in front of the queue
            copies.ledger.returned(queue, entry, reason)
            sent = entry.delivery_count > entry.message.delivery_count
            copies.leave(queue, entry, MODIFIED_FAILED if sent else RELEASED)

    def _tend(self) -> None:
        """`wanted` may have changed."""
        if self._source is not None and not self._over:
            self._source.on_credit()


@final
class Carriers:
    """Those of one virtual host.

    Attributes:
        standing: all that have not ended.
        publishing, dispatcher: of the virtual host.
    """

    __slots__ = (
        *("_lines", "_limits", "_numbers", "_outbound", "_sources", "_topology", "dispatcher"),
        *("publishing", "standing"),
    )

    def __init__(
        self,
        topology: Topology,
        sources: Sources,
        publishing: Publishing,
        dispatcher: Dispatcher,
        numbers: Numbers,
        limits: BridgeLimits,
        lines: LineMaker,
        outbound: dict[str, Queue],
    ) -> None:
        self._topology = topology
        self._sources = sources
        self._numbers = numbers
        self._limits = limits
        self._lines = lines
        self._outbound = outbound
        self.publishing = publishing
        self.dispatcher = dispatcher
        self.standing: list[Carrier] = []

    def begin(self, remote: Remote, name: str, target: Remote | None, to: str) -> Carrier:
        """Carry what queue `name` of `remote` holds to queue `to` of `target`, or here (`None`).

        Here it is a queue that there is, in the gateway's own store.
        """
        if target is None:
            queue = self._topology.queues[to]
        else:
            queue = self._way(f"{name} from {remote.name} to {target.name}", target, to)
        carrier = Carrier(
            self,
            name,
            queue,
            self._sources.of(remote),
            link=self._numbers.next_link(),
            window=self._limits.remote_prefetch,
        )
        self.standing.append(carrier)
        carrier.connect(remote)
        return carrier

    def stop(self) -> None:
        """The gateway stops."""
        for carrier in self.standing.copy():
            carrier.leave()

    def end(self, carrier: Carrier) -> bool:
        """Forget one that was left and has nothing open; `False`: what came settled is here yet."""
        queue = carrier.queue
        placement = queue.placement
        if carrier in self.standing and queue.transit and placement is not None:
            if queue.depth:
                return False
            del self._outbound[queue.node_name]
            placement.remote.unserve(queue)
            queue.deleted = True
            self._topology.remove_outbound(queue)
        if carrier in self.standing:
            self.standing.remove(carrier)
        return True

    def _way(self, text: str, target: Remote, to: str) -> Queue:
        """A transit queue in front of the new place, for this alone; what is not taken is told."""
        topology = self._topology
        number = self._numbers.next_queue()
        placement = Placement(target, on_rejected=OnRejected.EXCEPTION)
        queue = topology.make_transit(number, to, text, placement, self._numbers.first_position)
        topology.lines[number] = self._lines.make_line(queue)
        self._outbound[text] = queue
        target.serve(queue)
        return queue
