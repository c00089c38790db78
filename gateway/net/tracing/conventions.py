"""What a span is called and has, by OpenTelemetry's semantic conventions for messaging.

What these do not know is behind ``amqp_gateway.``: numbers, and words for how it ended, as the
audit log has them.
"""

from __future__ import annotations

from typing import Final

from gateway.audit.schema import Kind, Outcome, Reason
from gateway.message import Encoding
from gateway.translate.tracing.spans import Span, Step

TEXT_MAX: Final = 255
VERSIONS: Final = {Encoding.AMQP_0_10: "0-10", Encoding.AMQP_1_0: "1.0"}
NAMES: Final = {step: step.name.lower() for step in Step}
TYPES: Final = {Step.RECEIVE: "receive", Step.DELIVER: "send", Step.SETTLE: "settle"}
FAILED: Final = frozenset((Kind.UNROUTABLE, Kind.REFUSED, Kind.EXPIRED, Kind.DEAD_LETTERED))

Attributes = dict[str, str | int]


def node(span: Span) -> str:
    """The exchange or queue; of the default exchange, which has no name, the key: a queue's."""
    return (span.node or span.routing_key)[:TEXT_MAX]


def name(span: Span) -> str:
    """What is done, and where."""
    return f"{NAMES[Step(span.step)]} {node(span)}".rstrip()


def attributes(span: Span) -> Attributes:
    """What it has; what is 0 or empty is left out."""
    step = Step(span.step)
    found: Attributes = {
        "messaging.system": "amqp",
        "messaging.operation.name": NAMES[step],
        "messaging.operation.type": TYPES.get(step, ""),
        "messaging.destination.name": node(span),
        "messaging.message.envelope.size": span.size,
        "network.protocol.name": "amqp",
        "network.protocol.version": VERSIONS[Encoding(span.encoding)],
        "amqp_gateway.message": span.message,
        "amqp_gateway.connection": span.connection,
        "amqp_gateway.routing_key": span.routing_key[:TEXT_MAX],
        "amqp_gateway.copies": span.copies,
        "amqp_gateway.link": span.link,
        "amqp_gateway.position": span.position,
        "amqp_gateway.delivery_count": span.delivery_count,
        "amqp_gateway.record": Kind(span.kind).name.lower() if span.kind else "",
        "amqp_gateway.outcome": Outcome(span.outcome).name.lower() if span.outcome else "",
        "amqp_gateway.reason": Reason(span.reason).name.lower() if span.reason else "",
        "error.type": error(span),
    }
    return {key: value for key, value in found.items() if value}


def error(span: Span) -> str:
    """Why it did not do what its publisher wanted; "": it did, or may yet."""
    if span.outcome == Outcome.REJECTED:
        return "rejected"
    if span.kind in FAILED:
        return Reason(span.reason).name.lower() if span.reason else Kind(span.kind).name.lower()
    return ""
