"""What has an endpoint of its own, since it is by name of queue."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import gauge

OBJECTS: Final = (
    gauge("gateway_object_queue_messages", "Messages in a queue.", "virtual_host", "queue"),
    gauge("gateway_object_queue_bytes", "Octets in a queue.", "virtual_host", "queue"),
    gauge(
        "gateway_object_queue_subscriptions", "Subscriptions of a queue.", "virtual_host", "queue"
    ),
    gauge(
        "gateway_object_queue_stopped",
        "1 while a queue is above its flow stop, or not below its resume since; 0 else, of queues"
        " that have one.",
        "virtual_host",
        "queue",
    ),
)
