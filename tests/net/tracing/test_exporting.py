"""Spans on their way to a collector: what they become, how many may wait, who is told."""

import threading
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, StatusCode

from gateway.audit.schema import Kind, Outcome, Reason
from gateway.message import NEVER, NO_PRIORITY, NO_TTL, Encoding, Message
from gateway.net.tracing.exporting import SPAN_OCTETS, ExportedSpans
from gateway.translate.tracing.spans import Span, Step
from gateway.translate.tracing.trace_context import TraceContext

LONG_S = 60.0


class Collector(SpanExporter):
    """Takes what it is given, once it may, or refuses it."""

    def __init__(self, *, may: bool = True, works: bool = True) -> None:
        self.may = threading.Event()
        self.asked = threading.Event()
        self.works = works
        self.taken: list[ReadableSpan] = []
        if may:
            self.may.set()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.asked.set()
        self.may.wait(LONG_S)
        self.taken += spans
        return SpanExportResult.SUCCESS if self.works else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        pass


def spans_to(
    collector: SpanExporter, told: list[bool] | None = None, room: int = 100
) -> ExportedSpans:
    return ExportedSpans(
        lambda: 5,
        collector,
        octets_max=room * SPAN_OCTETS,
        told=(told if told is not None else []).append,
        resource={"service.name": "amqp-gateway", "service.version": "1"},
    )


def span(step: Step = Step.RECEIVE, parent_id: int = 3) -> Span:
    message = Message(
        *(77, Encoding.AMQP_1_0, b"0123", 0, 0, False, NO_PRIORITY, NO_TTL, NEVER, 1, "", "orders"),
        *(0, 0, 9, 0, 0, None),
    )
    return Span(step, TraceContext(1, 2, True, "a=1"), 4, parent_id, 1000, 1500, message, "")


def put(spans: ExportedSpans, one: Span) -> None:
    if spans.has_room():
        spans.put(one)


def test_a_span_is_what_opentelemetry_says_of_messaging() -> None:
    collector = Collector()
    spans = spans_to(collector)
    one = span()
    one.routing_key, one.copies, one.kind = "orders", 2, int(Kind.RECEIVED)
    put(spans, one)
    spans.stop(LONG_S)
    [made] = collector.taken
    assert (made.name, made.kind) == ("receive orders", SpanKind.CONSUMER)
    assert made.context is not None
    assert made.parent is not None
    assert (made.context.trace_id, made.context.span_id) == (1, 4)
    assert (made.parent.trace_id, made.parent.span_id, made.parent.is_remote) == (1, 3, True)
    assert dict(made.context.trace_state) == {"a": "1"}
    assert (made.start_time, made.end_time) == (1_000_000, 1_500_000)
    assert dict(made.attributes or {}) == {
        "messaging.system": "amqp",
        "messaging.operation.name": "receive",
        "messaging.operation.type": "receive",
        "messaging.destination.name": "orders",
        "messaging.message.envelope.size": 4,
        "network.protocol.name": "amqp",
        "network.protocol.version": "1.0",
        "amqp_gateway.message": 77,
        "amqp_gateway.connection": 9,
        "amqp_gateway.routing_key": "orders",
        "amqp_gateway.copies": 2,
        "amqp_gateway.record": "received",
    }
    assert made.resource.attributes["service.name"] == "amqp-gateway"
    assert made.status.status_code == StatusCode.UNSET


def test_what_did_not_do_as_its_publisher_wanted_has_an_error() -> None:
    collector = Collector()
    spans = spans_to(collector)
    rejected, expired, accepted = span(Step.SETTLE), span(Step.END, 0), span(Step.SETTLE)
    rejected.outcome, accepted.outcome = int(Outcome.REJECTED), int(Outcome.ACCEPTED)
    expired.kind, expired.reason = int(Kind.EXPIRED), int(Reason.TTL)
    for one in (rejected, expired, accepted):
        put(spans, one)
    spans.stop(LONG_S)
    found = [(made.attributes or {}).get("error.type") for made in collector.taken]
    assert found == ["rejected", "ttl", None]
    codes = [made.status.status_code for made in collector.taken]
    assert codes == [StatusCode.ERROR, StatusCode.ERROR, StatusCode.UNSET]
    assert [made.parent is None for made in collector.taken] == [False, True, False]


def test_no_more_wait_than_there_is_room_for_and_others_are_counted() -> None:
    collector = Collector(may=False)
    spans = spans_to(collector, room=70)
    for _ in range(75):
        put(spans, span())
    assert (spans.waiting, spans.dropped, spans.exported) == (70, 5, 0)
    collector.may.set()
    spans.stop(LONG_S)
    assert (spans.waiting, spans.dropped, spans.exported) == (0, 5, 70)
    assert len(collector.taken) == 70


def test_what_a_collector_does_not_take_is_counted_and_told_once() -> None:
    told: list[bool] = []
    spans = spans_to(Collector(works=False), told)
    for _ in range(130):  # more than one export
        if spans.has_room():
            spans.put(span())
    spans.stop(LONG_S)
    assert (spans.exported, spans.failed + spans.dropped, spans.waiting) == (0, 130, 0)
    assert told == [False]


def test_an_exporter_with_a_defect_is_one_that_fails() -> None:
    class Defective(Collector):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            raise RuntimeError("defect")

    spans = spans_to(Defective())
    put(spans, span())
    spans.stop(LONG_S)
    assert (spans.failed, spans.waiting) == (1, 0)


def test_a_stop_does_not_wait_for_a_collector_that_says_nothing() -> None:
    collector = Collector(may=False)
    spans = spans_to(collector)
    put(spans, span())
    spans.stop(0.01)
    assert collector.asked.wait(LONG_S)
    assert spans.exported == 0
    collector.may.set()
