"""The steps of followed messages as spans, and the trace that the gateway begins for some.

RECEIVE belongs to the span that the publisher sent it in; ROUTE, DELIVER and END to RECEIVE;
TRANSLATE and SETTLE to DELIVER. What a span is called by (its id) is made of the message's number,
so that whoever ends a step need not know who began it.

A publisher's own context is passed on as it is. A message without one, which is followed all the
same, is given the gateway's, with RECEIVE as the parent, where it leaves otherwise than it came.
"""

from __future__ import annotations

from typing import Final, final

from xxhash import xxh3_64_intdigest, xxh3_128_intdigest

from gateway.amqp_1_0 import types as new
from gateway.audit.schema import Kind, Reason
from gateway.message import Delivery, Flag, Message
from gateway.translate import names
from gateway.translate.towards_1_0.hop import merge_annotations
from gateway.translate.tracing.spans import Span, Spans, Step
from gateway.translate.tracing.trace_context import TraceContext, context_of
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

TRACED: Final = int(Flag.TRACED)
SHARE_OF: Final = 1 << 56  # within what W3C wants to be random in a trace-id, its last 7 octets
NODES_MAX: Final = 10_000


@final
class Traces:
    """All of one gateway. Implements `bridge.seams.Tracer`.

    Args:
        spans: is told of them.
        ratio: of the messages without a context that are followed: 0 to 1.
        per_second: messages that are followed, at most, whoever asks for it.
        salt: what no other gateway has, and this one always: ids are made of it.

    Attributes:
        followed: messages; `passed_over`: those that would have been one too many in their second.
    """

    def __init__(self, spans: Spans, ratio: float, per_second: int, salt: bytes) -> None:
        self._spans = spans
        self._bound = int(ratio * SHARE_OF)
        self._per_second = per_second
        self._salt = salt
        self._second = 0
        self._in_second = 0
        self._came = 0
        self._came_us = 0
        self._nodes: dict[int, str] = {}
        self._translated = 0
        self._translation_us = (0, 0)
        self.followed = 0
        self.passed_over = 0

    # Whose it is.

    def context(self, message: Message) -> TraceContext:
        """What RECEIVE belongs to: the publisher's context, or the gateway's, without a parent."""
        found = context_of(message)
        if found is None:
            return TraceContext(self._trace_id(message.id), 0, True, "")
        return found

    def _trace_id(self, message: int) -> int:
        return xxh3_128_intdigest(self._salt + message.to_bytes(8, "big")) or 1

    def _span_id(self, message: int, step: Step, more: str = "") -> int:
        octets = f"{message} {int(step)} {more}".encode()
        return xxh3_64_intdigest(self._salt + octets) or 1

    def _is_to_be_followed(self, message: Message) -> bool:
        found = context_of(message)
        if found is None:
            wanted = self._trace_id(message.id) % SHARE_OF < self._bound
        else:
            wanted = found.recorded
        if not wanted:
            return False
        second = message.arrived_ms // 1000
        if second != self._second:
            self._second = second
            self._in_second = 0
        if self._in_second >= self._per_second:
            self.passed_over += 1
            return False
        self._in_second += 1
        self.followed += 1
        return True

    # What the bridge tells.

    def arrives(self, message: Message) -> None:
        """It is routed next: whether it is followed is decided."""
        self._came = message.id
        if self._is_to_be_followed(message):
            message.flags |= TRACED
            self._came_us = self._spans.now_us()

    def received(
        self, message: Message, exchange: str, copies: int, link: int, turn_us: int
    ) -> None:
        """It is routed. What an upstream sends to one queue is not, and comes here first."""
        if message.id != self._came:
            self.arrives(message)
        if not message.flags & TRACED:
            return
        context = self.context(message)
        own = self._span_id(message.id, Step.RECEIVE)
        began_us = min(turn_us, self._came_us) if turn_us > 0 else self._came_us
        now_us = self._spans.now_us()
        for step, span_id, parent_id, since_us in (
            (Step.ROUTE, self._span_id(message.id, Step.ROUTE), own, self._came_us),
            (Step.RECEIVE, own, context.parent_id, began_us),
        ):
            if self._spans.has_room():
                span = Span(step, context, span_id, parent_id, since_us, now_us, message, exchange)
                span.routing_key = message.routing_key
                span.copies = copies
                span.link = link
                span.kind = int(Kind.RECEIVED)
                self._spans.put(span)

    def sent(self, message: Message, queue: str, delivery: Delivery, entered_us: int) -> None:
        """An outlet has taken a delivery of what is followed."""
        now_us = self._spans.now_us()
        if delivery.sent_us == 0:  # a relay has said so already
            delivery.sent_us = now_us
        if len(self._nodes) >= NODES_MAX:
            self._nodes.clear()
        self._nodes[delivery.queue] = queue
        span_id = self._delivery_id(delivery)
        began_us = entered_us if entered_us > 0 else message.arrived_ms * 1000
        own = self._span_id(message.id, Step.RECEIVE)
        self._put_delivery(Step.DELIVER, span_id, own, began_us, now_us, delivery, Kind.SENT)
        if self._translated == message.id:
            self._translated = 0
            began_us, ended_us = self._translation_us
            translation = self._span_id(message.id, Step.TRANSLATE, f"{span_id}")
            self._put_delivery(
                Step.TRANSLATE, translation, span_id, began_us, ended_us, delivery, Kind.SENT
            )

    def settled(self, delivery: Delivery, kind: int, outcome: int, reason: int) -> None:
        """A delivery of what is followed has ended."""
        message = delivery.message
        parent_id = self._delivery_id(delivery)
        span_id = self._span_id(message.id, Step.SETTLE, f"{parent_id}")
        now_us = self._spans.now_us()
        sent_us = int(delivery.sent_us) or now_us
        self._put_delivery(
            Step.SETTLE,
            span_id,
            parent_id,
            sent_us,
            now_us,
            delivery,
            kind,
            outcome=outcome,
            reason=reason,
        )

    def ended(self, message: Message, kind: int, node: str, position: int, reason: int) -> None:
        """What is followed leaves a queue, or came into none."""
        if not message.payload or not self._spans.has_room():
            return  # on disk alone: what it says of its trace is not read for this
        context = self.context(message)
        now_us = self._spans.now_us()
        span_id = self._span_id(message.id, Step.END, f"{kind} {node} {position} {now_us}")
        own = self._span_id(message.id, Step.RECEIVE)
        span = Span(Step.END, context, span_id, own, now_us, now_us, message, node)
        span.position = position
        span.kind = kind
        span.reason = reason
        self._spans.put(span)

    def _delivery_id(self, delivery: Delivery) -> int:
        more = f"{delivery.subscription} {delivery.position} {delivery.sent_us}"
        return self._span_id(delivery.message.id, Step.DELIVER, more)

    def _put_delivery(
        self,
        step: Step,
        span_id: int,
        parent_id: int,
        began_us: int,
        ended_us: int,
        delivery: Delivery,
        kind: int,
        *,
        outcome: int = 0,
        reason: int = int(Reason.NONE),
    ) -> None:
        message = delivery.message
        if not message.payload or not self._spans.has_room():
            return
        context = self.context(message)
        node = self._nodes.get(delivery.queue, "")
        span = Span(step, context, span_id, parent_id, began_us, ended_us, message, node)
        span.link = delivery.subscription
        span.position = delivery.position
        span.delivery_count = delivery.delivery_count
        span.kind = kind
        span.outcome = outcome
        span.reason = reason
        self._spans.put(span)

    # What translating asks and tells.

    def now_us(self) -> int:
        """The clock, read now."""
        return self._spans.now_us()

    def translated(self, message: Message, began_us: int) -> None:
        """It was, for whoever takes it next, since then."""
        self._translated = message.id
        self._translation_us = (began_us, self._spans.now_us())

    def with_own(self, message: Message, merged: bytes) -> bytes:
        """Message-annotations (an encoded map) with the gateway's context, if it has no other."""
        if message.message_format != 0 or context_of(message) is not None:
            return merged
        parent_id = self._span_id(message.id, Step.RECEIVE)
        own = TraceContext(self._trace_id(message.id), parent_id, True, "")
        pair = (Tagged(new.SYMBOL, names.TRACEPARENT), Tagged(new.STRING, own.text()))
        writer = Writer()
        new.encode(writer, Tagged(new.MAP, merge_annotations([pair], merged) if merged else [pair]))
        return writer.getvalue()
