"""What queues hold, on disk or not, and the topology."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge

QUEUES: Final = (
    gauge("gateway_queues", "Queues."),
    gauge("gateway_limit_queues", "How many a virtual host may have, `queues.queues`."),
    gauge(
        "gateway_topology_bytes",
        "Octets of memory that queues, exchanges and bindings take, without messages.",
    ),
    gauge(
        "gateway_routes_bytes", "Octets of the routes that topic exchanges remember.", stable=False
    ),
    counter(
        "gateway_topology_refused_total",
        "Declares and binds beyond `queues.topology_size`.",
    ),
    gauge("gateway_queue_depth_messages", "Messages in all queues, acquired ones included."),
    gauge("gateway_queue_depth_bytes", "Octets in all queues."),
    gauge("gateway_paged_messages", "Messages of queues that are on disk alone, `queues.memory`."),
    gauge("gateway_paged_bytes", "Octets of those."),
    gauge(
        "gateway_limit_queue_depth_messages",
        "From when on publishers wait (`high`) and are refused (`max`): `queues.messages_high`,"
        " `queues.messages_max`.",
        "level",
    ),
    gauge(
        "gateway_limit_queue_depth_bytes",
        "The same for what is in memory, in octets: `queues.size_high`, `queues.size_max`.",
        "level",
    ),
    gauge("gateway_limit_topology_bytes", "How many there may be, `queues.topology_size`."),
    gauge("gateway_limit_paged_file_bytes", "How many there may be, `queues.paged_size`."),
    gauge("gateway_paged_file_bytes", "Octets of the files that have them, `queues.paged_size`."),
    counter(
        "gateway_pages_total",
        "Pages of up to 256 messages that left memory (`out`) and came back (`in`).",
        "direction",
        stable=False,
    ),
    counter("gateway_page_waits_total", "How often somebody had to wait for a page.", stable=False),
    counter(
        "gateway_page_failures_total",
        "Pages that the disk did not take, which stay in memory, or could not be read again.",
        "direction",
    ),
    gauge(
        "gateway_quotas_used_up",
        "Users and virtual hosts that have used up their quota of what queues hold.",
        "scope",
    ),
    counter(
        "gateway_quota_held_back_total",
        "Publishes held back since their user or virtual host has used up its quota.",
        "scope",
    ),
    counter(
        "gateway_queue_alerts_total",
        "How often queues held as much as they are declared to alert of, in messages or octets.",
        "limit",
    ),
)
