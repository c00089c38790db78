"""What is kept of the audit log, and by which closed books it may go: for the metrics."""

from __future__ import annotations

from typing import Protocol

from gateway.audit.retention import Standing
from gateway.metrics import Reader
from gateway.net.admin.samples import one


class Kept(Protocol):
    """Who lets segments go (`service.letting_go`)."""

    standing: Standing
    segments: int
    octets: int
    archive_failures: int


def keeping(kept: Kept) -> dict[str, Reader]:
    """Segments, and closed books."""
    return {
        "gateway_audit_segments": lambda: one(kept.standing.segments),
        "gateway_audit_oldest_timestamp_seconds": lambda: one(kept.standing.oldest_ms / 1000),
        "gateway_audit_uncovered_bytes": lambda: one(kept.standing.uncovered_octets),
        "gateway_audit_held_bytes": lambda: one(kept.standing.held_octets),
        "gateway_audit_overdue_segments": lambda: one(kept.standing.overdue),
        "gateway_audit_let_go_segments_total": lambda: one(kept.segments),
        "gateway_audit_let_go_bytes_total": lambda: one(kept.octets),
        "gateway_audit_archive_failures_total": lambda: one(kept.archive_failures),
        "gateway_audit_book_number": lambda: one(kept.standing.book),
        "gateway_audit_book_balanced": lambda: one(kept.standing.balanced),
        "gateway_audit_book_timestamp_seconds": lambda: one(kept.standing.book_ms / 1000),
        "gateway_audit_books_wrong": lambda: one(bool(kept.standing.books_problem)),
    }
