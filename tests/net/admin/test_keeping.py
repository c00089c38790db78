"""What is kept of the audit log, as metrics have it."""

from gateway.audit.retention import Standing
from gateway.metrics import METRICS
from gateway.net.admin.keeping import keeping


class Kept:
    def __init__(self) -> None:
        self.standing = Standing(
            segments=7,
            octets=7_000,
            oldest_ms=1_500,
            uncovered_octets=2_000,
            held_octets=1_000,
            overdue=3,
            book=4,
            book_ms=2_500,
            balanced=True,
            books_problem="book 5: it is not signed",
        )
        self.segments, self.octets, self.archive_failures = 11, 11_000, 2


def test_each_metric_has_what_the_last_look_found() -> None:
    values = {name: read()[0][1] for name, read in keeping(Kept()).items()}
    assert values == {
        "gateway_audit_segments": 7,
        "gateway_audit_oldest_timestamp_seconds": 1.5,
        "gateway_audit_uncovered_bytes": 2_000,
        "gateway_audit_held_bytes": 1_000,
        "gateway_audit_overdue_segments": 3,
        "gateway_audit_let_go_segments_total": 11,
        "gateway_audit_let_go_bytes_total": 11_000,
        "gateway_audit_archive_failures_total": 2,
        "gateway_audit_book_number": 4,
        "gateway_audit_book_balanced": 1,
        "gateway_audit_book_timestamp_seconds": 2.5,
        "gateway_audit_books_wrong": 1,
    }
    assert values.keys() <= {metric.name for metric in METRICS}
