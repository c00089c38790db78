"""The audit log, and its closed books."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge

AUDIT: Final = (
    counter("gateway_audit_records_total", "Audit records so far."),
    gauge("gateway_audit_head_sequence", "The last audit record that is sealed."),
    gauge("gateway_audit_head_segment", "The number of the audit log's segment with that seal."),
    gauge(
        "gateway_audit_head_timestamp_seconds",
        "When the audit log was sealed last, by wall time as it is now, as Unix time; 0 before this"
        " run has sealed anything.",
    ),
    gauge("gateway_audit_head_signed", "1 if that seal is signed."),
    counter(
        "gateway_audit_head_failures_total",
        "Seals that could not be written to the file `audit-head`, which has an older one.",
    ),
    gauge(
        "gateway_audit_log_differences",
        "Ways in which the audit log was not what the store remembers of it, at start.",
    ),
    gauge(
        "gateway_audit_log_cut_bytes",
        "Octets at the audit log's end that were no whole records, and were cut off, at start.",
    ),
    gauge("gateway_audit_segments", "Segments of the audit log, as the last look found it."),
    gauge(
        "gateway_audit_oldest_timestamp_seconds",
        "The time of the audit log's first record, as Unix time; 0 before the first look.",
    ),
    gauge(
        "gateway_audit_uncovered_bytes",
        "Octets of its segments that no closed book covers, by then.",
    ),
    gauge(
        "gateway_audit_held_bytes",
        "Octets of its segments in and behind a closed book that is not balanced: without an "
        "archive none of them is let go.",
    ),
    gauge(
        "gateway_audit_overdue_segments",
        "Segments that are older, or more, than is to be kept, and stay; the log says why.",
    ),
    counter("gateway_audit_let_go_segments_total", "Segments that were let go, and are removed."),
    counter("gateway_audit_let_go_bytes_total", "Octets of those."),
    counter(
        "gateway_audit_archive_failures_total",
        "Segments that could not be archived, and stay; tried again each minute.",
    ),
    gauge("gateway_audit_book_number", "The number of the last closed book; 0: there is none."),
    gauge("gateway_audit_book_balanced", "1 if it has no break that is in no book before."),
    gauge("gateway_audit_book_timestamp_seconds", "When it was made, as Unix time."),
    gauge(
        "gateway_audit_books_wrong", "1 if a book is wrong: it and those behind it do not count."
    ),
)
