"""The numbers behind the metrics of tracing."""

from __future__ import annotations

from gateway.metrics import Reader
from gateway.net.admin.samples import labelled, one
from gateway.net.tracing.begin import Tracing


def tracing_readers(tracing: Tracing | None) -> dict[str, Reader]:
    """A reader for each; `None`: nothing is followed."""
    if tracing is None:
        return {
            "gateway_traced_messages_total": lambda: labelled({"followed": 0, "over_limit": 0}),
            "gateway_spans_total": lambda: labelled({"exported": 0, "failed": 0, "dropped": 0}),
            "gateway_waiting_spans": lambda: one(0),
        }
    traces, spans = tracing.traces, tracing.spans
    return {
        "gateway_traced_messages_total": lambda: labelled(
            {"followed": traces.followed, "over_limit": traces.passed_over}
        ),
        "gateway_spans_total": lambda: labelled(
            {"exported": spans.exported, "failed": spans.failed, "dropped": spans.dropped}
        ),
        "gateway_waiting_spans": lambda: one(spans.waiting),
    }
