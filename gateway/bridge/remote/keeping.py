"""What an upstream has forgotten: messages that came settled and that no client took.

A subscription without acceptance may have its messages settled by the upstream as it sends them.
Those are the gateway's from then on: what was not sent to the client cannot be given back by an
outcome, so it goes back as a message, through the queue in front of its node - stored, if it is
durable, and behind what waits in it - or, where there is none any more, to the queue of what was
rejected.
"""

from __future__ import annotations

from typing import Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.places import Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.topology import Topology
from gateway.message import Message, Outcome


class LastResort(Protocol):
    """The remote nodes of the virtual host."""

    def rejected_queue(self) -> Queue:
        """Where what has nowhere else to go is kept."""


@final
class Keeping:
    """Keeps what came settled, for one virtual host."""

    __slots__ = ("_copies", "_last_resort", "_publishing", "_topology")

    def __init__(
        self,
        topology: Topology,
        copies: Copies,
        publishing: Publishing,
        last_resort: LastResort,
    ) -> None:
        self._topology = topology
        self._copies = copies
        self._publishing = publishing
        self._last_resort = last_resort

    def keep(self, message: Message, exchange: Exchange, name: str) -> None:
        """A message of queue `name` that came when nobody wanted it any more."""
        self._publishing.put(self._in_front(name), message, exchange, None)

    def put_back(
        self, queue: Queue, entry: Entry, reason: Reason, outcome: Outcome | None = None
    ) -> None:
        """A copy that waits in `queue`, or that its client did not want (`outcome`)."""
        copies = self._copies
        message = entry.message
        annotations = entry.annotations
        if outcome is not None:
            annotations = outcome.annotations or annotations
            message.delivery_count = entry.delivery_count + (1 if outcome.delivery_failed else 0)
        entry.ticket = None
        copies.ledger.moved(queue, entry, reason)
        copies.leave(queue, entry)
        default = self._topology.exchanges[""]
        copies.ledger.routed(message, default, 1, reason)
        self._publishing.put(
            self._in_front(queue.name),
            message,
            default,
            None,
            rerouted=True,
            annotations=annotations,
            stock=entry.stock,
        )

    def _in_front(self, name: str) -> Queue:
        return self._topology.find_queue(name) or self._last_resort.rejected_queue()
