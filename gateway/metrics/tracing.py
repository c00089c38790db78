"""Messages that are followed, and their spans; zeros without tracing."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge

TRACING: Final = (
    counter(
        "gateway_traced_messages_total",
        "Messages that were to be followed: they are (followed), or were one too many in their"
        " second (over_limit).",
        "result",
    ),
    counter(
        "gateway_spans_total",
        "Spans that the collector took (exported), or did not take in time (failed), or that there"
        " was no room for (dropped).",
        "result",
    ),
    gauge("gateway_waiting_spans", "Spans that wait for the collector."),
)
