"""The store, and its disk."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge, histogram

STORE: Final = (
    counter("gateway_store_commits_total", "Transactions of the durable store."),
    histogram("gateway_store_commit_duration_seconds", "How long each of them took."),
    counter("gateway_store_commit_seconds_total", "Time spent in them."),
    counter("gateway_store_bytes_total", "Octets that they wrote."),
    counter(
        "gateway_store_failures_total",
        "Attempts to write the store, or the audit log, that the disk refused.",
        "part",
    ),
    gauge(
        "gateway_store_blocked",
        "1 while publishers wait because the disk is full, does not answer, has lost the files, or"
        " refuses to write otherwise.",
        "cause",
    ),
    gauge("gateway_data_bytes", "Size of the store's files, and of the audit log.", "part"),
    gauge("gateway_data_free_bytes", "What their file systems have left.", "part"),
    gauge("gateway_store_waiting_turns", "Turns submitted and not committed yet."),
    gauge("gateway_store_waiting_bytes", "Octets of those."),
    gauge(
        "gateway_limit_store_waiting_bytes",
        "From when on nothing is delivered, and nothing read, `store_backlog`.",
    ),
    gauge(
        "gateway_store_reserve_bytes",
        "What of the disk is kept free for consumers to make room, `store_reserve`.",
    ),
    gauge("gateway_store_rows", "Rows in the store's log.", stable=False),
    gauge(
        "gateway_store_rows_damaged",
        "Rows found unreadable at this start, or at an earlier one and still kept aside.",
    ),
)
