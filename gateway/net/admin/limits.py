"""What things are limited to, beside how many there are: readers for ``gateway_limit_``."""

from __future__ import annotations

from gateway.config import Settings
from gateway.metrics import Reader
from gateway.net.admin.samples import labelled, one


def limits(settings: Settings) -> dict[str, Reader]:
    """A reader for each; a reload changes none of them."""
    queues = settings.queues
    return {
        "gateway_limit_connections": lambda: one(settings.limits.connections),
        "gateway_limit_queues": lambda: one(queues.queues),
        "gateway_limit_queue_depth_messages": lambda: labelled(
            {"high": queues.messages_high, "max": queues.messages_max}
        ),
        "gateway_limit_queue_depth_bytes": lambda: labelled(
            {"high": queues.size_high, "max": queues.size_max}
        ),
        "gateway_limit_topology_bytes": lambda: one(queues.topology_size),
        "gateway_limit_paged_file_bytes": lambda: one(queues.paged_size),
        "gateway_limit_store_waiting_bytes": lambda: one(settings.store_backlog),
        "gateway_store_reserve_bytes": lambda: one(settings.store_reserve),
    }
