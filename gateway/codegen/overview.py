"""The dashboard for a glance: traffic, how long it takes, queues, clients, process and disk."""

from __future__ import annotations

from typing import Final

from gateway.codegen.panels import Dashboard, Panel, now, one, rate, slow

STAGE: Final = "gateway_messages_total"
OVERVIEW: Final = Dashboard(
    "AMQP Gateway: overview",
    {
        "Traffic": (
            Panel(
                "Messages",
                "cps",
                {
                    rate(STAGE, "instance", 'stage="received", '): "{{instance}} in",
                    rate(STAGE, "instance", 'stage="sent", outcome="taken", '): "{{instance}} out",
                },
            ),
            one(
                "How messages end, beside accepted",
                "cps",
                rate(STAGE, "stage, outcome", 'stage=~"routed|ended", '),
                "{{stage}} {{outcome}}",
            ),
            one(
                "Octets",
                "Bps",
                rate("gateway_network_bytes_total", "instance, direction"),
                "{{instance}} {{direction}}",
            ),
            one(
                "Outcomes that consumers gave",
                "cps",
                rate(STAGE, "outcome", 'stage="settled", '),
                "{{outcome}}",
            ),
        ),
        "How long": (
            slow(
                "Publish to confirm",
                "gateway_publish_confirm_duration_seconds",
                "source, target",
                "{{source}} by {{target}}",
            ),
            slow(
                "In a queue until settled",
                "gateway_enter_settle_duration_seconds",
                "source, target",
                "{{source}} to {{target}}",
            ),
            slow("Commits", "gateway_store_commit_duration_seconds", "instance", "{{instance}}"),
            slow("Event loop lag", "gateway_event_loop_lag_seconds", "instance", "{{instance}}"),
        ),
        "Queues": (
            Panel(
                "Messages in all queues",
                "short",
                {
                    now("gateway_queue_depth_messages"): "{{instance}}",
                    now("gateway_limit_queue_depth_messages"): "{{instance}} {{level}}",
                },
            ),
            Panel(
                "Octets in all queues",
                "bytes",
                {
                    now("gateway_queue_depth_bytes"): "{{instance}}",
                    now("gateway_paged_bytes"): "{{instance}} on disk",
                    now("gateway_limit_queue_depth_bytes"): "{{instance}} {{level}}",
                },
            ),
            one(
                "Deepest queues",
                "short",
                f"topk(10, {now('gateway_object_queue_messages')})",
                "{{queue}}",
            ),
            one(
                "Oldest messages",
                "s",
                f"topk(10, {now('gateway_object_queue_oldest_seconds')})",
                "{{queue}}",
            ),
            one(
                "Busiest queues, in",
                "cps",
                f"topk(10, {rate('gateway_object_queue_entered_total', 'queue')})",
                "{{queue}}",
            ),
            one(
                "Busiest queues, out",
                "cps",
                f"topk(10, {rate('gateway_object_queue_left_total', 'queue')})",
                "{{queue}}",
            ),
            Panel(
                "Who waits",
                "short",
                {
                    now("gateway_unsettled_messages"): "unsettled",
                    now("gateway_waiting_publishes"): "for an upstream",
                    now("gateway_withheld_publishes"): "for a queue",
                    rate(STAGE, "instance", 'outcome="held_back", '): "held back, a second",
                },
            ),
        ),
        "Clients": (
            Panel(
                "Connections",
                "short",
                {
                    now("gateway_connections"): "{{protocol}}",
                    now("gateway_limit_connections"): "limit",
                },
            ),
            one(
                "Logins",
                "cps",
                rate("gateway_authentications_total", "mechanism, outcome"),
                "{{mechanism}} {{outcome}}",
            ),
            one("Sessions", "short", now("gateway_sessions"), "{{protocol}}"),
            one("Links and subscriptions", "short", now("gateway_links"), "{{protocol}}"),
        ),
        "Process and disk": (
            one(
                "CPU", "percentunit", rate("process_cpu_seconds_total", "instance"), "{{instance}}"
            ),
            one("Memory", "bytes", now("process_resident_memory_bytes"), "{{instance}}"),
            Panel(
                "Disk",
                "bytes",
                {
                    now("gateway_data_bytes"): "{{instance}} {{part}}",
                    now("gateway_data_free_bytes"): "{{instance}} {{part}} free",
                },
            ),
            Panel(
                "Waits for the disk",
                "bytes",
                {
                    now("gateway_store_waiting_bytes"): "{{instance}}",
                    now("gateway_limit_store_waiting_bytes"): "limit",
                },
            ),
            one("Stalls", "cps", rate("gateway_stalls_total", "piece"), "{{piece}}"),
            one("Clock", "s", now("gateway_clock_drift_seconds"), "{{instance}}"),
        ),
    },
)
