"""OpenTelemetry's SDK: spans wait in its queue, and its thread sends them by OTLP over HTTP.

How much may wait is kept here, since the SDK says nothing of what it drops. The thread shares
nothing else with the event loop than that queue, and counts of which each has one writer. The SDK's
own log is silenced, which writes to standard error and may block; that exports fail is told by
whoever made this.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, cast, final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from gateway.net.tracing import conventions
from gateway.translate.tracing.spans import Span, Step

SPAN_OCTETS: Final = 8192  # what one takes at most, with what the SDK makes of it
BATCH: Final = 64  # of so few the encoding holds the event loop up least
DELAY_MS: Final = 1000
SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
KINDS: Final = {
    Step.RECEIVE: SpanKind.CONSUMER,
    Step.DELIVER: SpanKind.PRODUCER,
    Step.SETTLE: SpanKind.SERVER,
}
Told = Callable[[bool], None]


def otlp_exporter(endpoint: str, timeout_s: float) -> SpanExporter:
    """To a collector by OTLP over HTTP, which it takes at `endpoint`."""
    silence = logging.getLogger("opentelemetry")
    silence.propagate = False
    silence.addHandler(logging.NullHandler())
    return OTLPSpanExporter(endpoint=endpoint, timeout=timeout_s)


@final
class Exports:
    """What the SDK takes for its exporter: one that counts.

    Attributes:
        exported, failed: spans.
    """

    def __init__(self, exporter: SpanExporter, told: Told) -> None:
        self._exporter = exporter
        self._told = told
        self._works = True
        self.exported = 0
        self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """In the SDK's thread: give them to the collector."""
        result = SpanExportResult.FAILURE
        with suppress(Exception):  # it answers by its result, or has a defect
            result = self._exporter.export(spans)
        works = result is SpanExportResult.SUCCESS
        if works:
            self.exported += len(spans)
        else:
            self.failed += len(spans)
        if works != self._works:
            self._works = works
            self._told(works)
        return result

    def shutdown(self) -> None:
        """No more follow."""
        self._exporter.shutdown()


@final
class ExportedSpans:
    """Takes spans for a collector. Implements `translate.tracing.spans.Spans`.

    Args:
        now_us: the gateway's clock.
        exporter: the SDK's, to the collector.
        octets_max: what spans that wait may take.
        told: called in the SDK's thread when exports begin to fail, or to work again.
        resource: what the gateway is.

    Attributes:
        dropped: spans for which there was no room.
    """

    def __init__(
        self,
        now_us: Callable[[], int],
        exporter: SpanExporter,
        *,
        octets_max: int,
        told: Told,
        resource: dict[str, str],
    ) -> None:
        self._now_us = now_us
        self._waiting_max = octets_max // SPAN_OCTETS
        self._taken = 0
        self.dropped = 0
        self._exports = Exports(exporter, told)
        self._processor = BatchSpanProcessor(
            cast(SpanExporter, self._exports),
            max_queue_size=max(self._waiting_max, BATCH),
            schedule_delay_millis=DELAY_MS,
            max_export_batch_size=BATCH,
        )
        self._resource = Resource.create(resource)
        self._scope = InstrumentationScope("amqp-gateway", resource.get("service.version"))

    @property
    def exported(self) -> int:
        """Spans that the collector has taken."""
        return self._exports.exported

    @property
    def failed(self) -> int:
        """Spans that it has not, in time."""
        return self._exports.failed

    @property
    def waiting(self) -> int:
        """Spans that the SDK has."""
        return self._taken - self.exported - self.failed

    def now_us(self) -> int:
        """See `Spans`."""
        return self._now_us()

    def has_room(self) -> bool:
        """See `Spans`."""
        if self.waiting < self._waiting_max:
            return True
        self.dropped += 1
        return False

    def put(self, span: Span) -> None:
        """See `Spans`."""
        self._taken += 1
        self._processor.on_end(self._made(span))

    def _made(self, span: Span) -> ReadableSpan:
        error = conventions.error(span)
        state = TraceState.from_header([span.state]) if span.state else None
        parent = None
        if span.parent_id:
            remote = span.step == Step.RECEIVE
            parent = SpanContext(span.trace_id, span.parent_id, remote, SAMPLED, state)
        return ReadableSpan(
            conventions.name(span),
            context=SpanContext(span.trace_id, span.span_id, False, SAMPLED, state),
            parent=parent,
            resource=self._resource,
            attributes=conventions.attributes(span),
            kind=KINDS.get(Step(span.step), SpanKind.INTERNAL),
            status=Status(StatusCode.ERROR, error) if error else Status(),
            start_time=span.began_us * 1000,
            end_time=span.ended_us * 1000,
            instrumentation_scope=self._scope,
        )

    def stop(self, timeout_s: float) -> None:
        """Send what waits, in a thread that nobody waits for any longer than that."""
        ending = threading.Thread(target=self._processor.shutdown, daemon=True, name="spans")
        ending.start()
        ending.join(timeout_s)
