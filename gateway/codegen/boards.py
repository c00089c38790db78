"""All dashboards, and those for a purpose: upstreams, a migration, the accounting."""

from __future__ import annotations

from typing import Final

from gateway.codegen.overview import OVERVIEW
from gateway.codegen.panels import Dashboard, Panel, age, now, one, rate, slow

SENT: Final = 'direction="sent", '
UPSTREAMS: Final = Dashboard(
    "AMQP Gateway: upstreams",
    {
        "How they are": (
            one("Up", "short", now("gateway_upstream_up"), "{{upstream}}"),
            one("Down for", "s", now("gateway_upstream_down_seconds"), "{{upstream}}"),
            one(
                "Connections",
                "cps",
                rate("gateway_upstream_connections_total", "upstream, event"),
                "{{upstream}} {{event}}",
            ),
            one("Links", "short", now("gateway_upstream_links"), "{{upstream}}"),
            one(
                "Links that end",
                "cps",
                rate("gateway_upstream_links_total", "upstream, event"),
                "{{upstream}} {{event}}",
            ),
            one(
                "Token expires",
                "dateTimeAsIso",
                f"1000 * {now('gateway_upstream_token_expiry_timestamp_seconds')}",
                "{{upstream}}",
            ),
        ),
        "Messages": (
            one(
                "Messages",
                "cps",
                rate("gateway_upstream_messages_total", "upstream, direction"),
                "{{upstream}} {{direction}}",
            ),
            one(
                "How they answer",
                "cps",
                rate("gateway_upstream_outcomes_total", "upstream, outcome", SENT),
                "{{upstream}} {{outcome}}",
            ),
            slow(
                "Until settled",
                "gateway_upstream_settle_duration_seconds",
                "upstream",
                "{{upstream}}",
            ),
            one(
                "Under way",
                "short",
                now("gateway_upstream_unsettled_messages"),
                "{{upstream}} {{direction}}",
            ),
            one("Oldest", "s", now("gateway_upstream_oldest_seconds"), "{{upstream}}"),
            Panel(
                "Waiting",
                "short",
                {
                    now("gateway_upstream_held_messages"): "{{upstream}}, publishers wait",
                    now("gateway_upstream_spooled_messages"): "{{upstream}}, spooled",
                    now("gateway_upstream_shadow_messages"): "{{upstream}}, for shadows",
                },
            ),
            Panel(
                "In doubt, and given up",
                "cps",
                {
                    rate("gateway_upstream_in_doubt_total", "upstream"): "{{upstream}} in doubt",
                    rate("gateway_upstream_poison_total", "upstream"): "{{upstream}} poison",
                },
            ),
        ),
    },
)

MIGRATION: Final = Dashboard(
    "AMQP Gateway: migration",
    {
        "Who is still there": (
            one(
                "Connections by protocol",
                "short",
                f"sum by (protocol) ({now('gateway_connections')})",
                "{{protocol}}",
            ),
            one(
                "By product",
                "short",
                f"sum by (protocol, product) ({now('gateway_client_connections')})",
                "{{protocol}} {{product}}",
            ),
            one(
                "By login",
                "short",
                f"sum by (protocol, login) ({now('gateway_client_connections')})",
                "{{protocol}} {{login}}",
            ),
            one(
                "Messages by the protocols they come and go by",
                "cps",
                rate("gateway_enter_settle_duration_seconds_count", "source, target"),
                "{{source}} to {{target}}",
            ),
        ),
        "What does not work the same": (
            one(
                "Uses of what is not offered",
                "short",
                f"sum by (feature) ({now('gateway_unsupported_total')})",
                "{{feature}}",
            ),
            one(
                "Arguments without effect",
                "short",
                now("gateway_arguments_ignored_total"),
                "{{instance}}",
            ),
            one(
                "Values that did not cross, by mapping row",
                "short",
                f"topk(20, sum by (row) ({now('gateway_translation_losses_total')}))",
                "{{row}}",
            ),
            Panel(
                "Values in escrow, and back",
                "cps",
                {
                    rate("gateway_translation_escrowed_total", "instance"): "in",
                    rate("gateway_translation_restored_total", "instance"): "back",
                },
            ),
            one(
                "Sessions and links that the gateway ended",
                "cps",
                rate("gateway_session_errors_total", "protocol, error"),
                "{{protocol}} {{error}}",
            ),
        ),
        "Moving": (
            one("Paused rules", "short", now("gateway_paused_rules"), "{{instance}}"),
            one("Changes", "short", now("gateway_changes_total"), "{{instance}} {{result}}"),
            one(
                "Sent elsewhere",
                "cps",
                rate("gateway_connections_redirected_total", "protocol"),
                "{{protocol}}",
            ),
            one(
                "Waiting for upstreams",
                "short",
                f"sum by (upstream, direction) ({now('gateway_upstream_waiting_messages')})",
                "{{upstream}} {{direction}}",
            ),
        ),
    },
)

ACCOUNTING: Final = Dashboard(
    "AMQP Gateway: accounting",
    {
        "Verdicts": (
            one("Last reconciliation balanced", "short", "gateway_reconcile_balanced", "balanced"),
            one("Its age", "s", "time() - gateway_reconcile_timestamp_seconds", "age"),
            one("Breaks", "short", "sum by (class) (gateway_reconcile_breaks)", "{{class}}"),
            one("Unproven", "short", "sum by (class) (gateway_reconcile_unproven)", "{{class}}"),
            one("How long it took", "s", "gateway_reconcile_duration_seconds", "seconds"),
            one("Records read", "short", "gateway_reconcile_records", "records"),
        ),
        "Audit log": (
            one(
                "Records",
                "cps",
                rate("gateway_audit_records_total", "instance"),
                "{{instance}}",
            ),
            one(
                "Last seal's age", "s", age("gateway_audit_head_timestamp_seconds"), "{{instance}}"
            ),
            one(
                "Differences at start",
                "short",
                now("gateway_audit_log_differences"),
                "{{instance}}",
            ),
            Panel(
                "Segments",
                "short",
                {
                    now("gateway_audit_segments"): "{{instance}}",
                    now("gateway_audit_overdue_segments"): "{{instance}} overdue",
                },
            ),
            Panel(
                "Octets",
                "bytes",
                {
                    now("gateway_data_bytes", 'part="audit", '): "{{instance}}",
                    now("gateway_audit_uncovered_bytes"): "{{instance}} not covered",
                    now("gateway_audit_held_bytes"): "{{instance}} held",
                },
            ),
            one(
                "Let go",
                "Bps",
                rate("gateway_audit_let_go_bytes_total", "instance"),
                "{{instance}}",
            ),
            one(
                "Archive refuses",
                "cps",
                rate("gateway_audit_archive_failures_total", "instance"),
                "{{instance}}",
            ),
        ),
        "Closed books": (
            one("Last book", "short", now("gateway_audit_book_number"), "{{instance}}"),
            one("Balanced", "short", now("gateway_audit_book_balanced"), "{{instance}}"),
            one("Its age", "s", age("gateway_audit_book_timestamp_seconds"), "{{instance}}"),
            one("Books that are wrong", "short", now("gateway_audit_books_wrong"), "{{instance}}"),
        ),
    },
)

DASHBOARDS: Final = {
    "overview": OVERVIEW,
    "upstreams": UPSTREAMS,
    "migration": MIGRATION,
    "accounting": ACCOUNTING,
}
