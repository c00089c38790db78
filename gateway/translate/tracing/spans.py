"""One span, and whoever is told of it: plain values, which name no protocol of telemetry."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol, final

from gateway.message import Message
from gateway.translate.tracing.trace_context import TraceContext


class Step(IntEnum):
    """What is done with a message meanwhile."""

    RECEIVE = 0  # from the turn in which it came until it is routed
    ROUTE = 1
    TRANSLATE = 2
    DELIVER = 3  # from the queue that it came into until an outlet has taken it
    SETTLE = 4  # from then on until its subscriber, or the gateway, has ended it
    END = 5  # it leaves, and was not delivered


@final
class Span:
    """One step of one message, over.

    Attributes:
        trace_id, parent_id, state: see `TraceContext`; no parent is 0.
        began_us, ended_us: by the gateway's clock, in microseconds.
        message: the gateway's number for it, as in the audit log; `size`: its octets.
        encoding: which protocol it came by; `connection`: by which connection, or 0.
        node: the exchange, or the queue.
        routing_key, copies: of RECEIVE and ROUTE.
        link, position: as in the audit log: of RECEIVE the publisher's link, of deliveries the
            subscription and the place in the queue.
        delivery_count: of deliveries, failed ones before.
        kind, outcome, reason: what the audit log says of the step: its `Kind`, `Outcome` and
            `Reason`.
    """

    def __init__(
        self,
        step: Step,
        context: TraceContext,
        span_id: int,
        parent_id: int,
        began_us: int,
        ended_us: int,
        message: Message,
        node: str,
    ) -> None:
        self.step = step
        self.trace_id = context.trace_id
        self.span_id = span_id
        self.parent_id = parent_id
        self.state = context.state
        self.began_us = began_us
        self.ended_us = ended_us
        self.message = message.id
        self.size = len(message.payload)
        self.encoding = message.encoding
        self.connection = message.publisher
        self.node = node
        self.routing_key = ""
        self.copies = 0
        self.link = 0
        self.position = 0
        self.delivery_count = 0
        self.kind = 0
        self.outcome = 0
        self.reason = 0


class Spans(Protocol):
    """Takes spans, as many as it can; never waits."""

    def now_us(self) -> int:
        """The gateway's clock, read now."""

    def has_room(self) -> bool:
        """Whether it takes one more; asked before one is made, it counts one that is not."""

    def put(self, span: Span) -> None:
        """One more."""
