"""What has an endpoint of its own, since it is by name of queue."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import MetricRow, counter, gauge

NAMES: Final = ("virtual_host", "queue")


def _gauge(name: str, help: str) -> MetricRow:
    return gauge(name, help, *NAMES)


def _counter(name: str, help: str) -> MetricRow:
    return counter(name, help, *NAMES)


OBJECTS: Final = (
    _gauge("gateway_object_queue_messages", "Messages in a queue, ready or unsettled."),
    _gauge("gateway_object_queue_ready_messages", "Of these, those that nobody has."),
    _gauge(
        "gateway_object_queue_unsettled_messages",
        "Deliveries from it that nobody has settled, those to browsers included.",
    ),
    _gauge("gateway_object_queue_bytes", "Octets in a queue."),
    _gauge("gateway_object_queue_subscriptions", "Subscriptions of a queue: its consumers."),
    _counter(
        "gateway_object_queue_entered_total",
        "Messages that have come into it since the start, or since it was made.",
    ),
    _counter(
        "gateway_object_queue_left_total",
        "Messages that have left it, however, since then.",
    ),
    _gauge(
        "gateway_object_queue_oldest_seconds",
        "How long ago the first message in it came to the gateway; 0 while it is empty.",
    ),
    _gauge(
        "gateway_object_limit_queue_messages",
        "How many messages it may hold, of queues that have such a limit.",
    ),
    _gauge(
        "gateway_object_limit_queue_bytes",
        "How many octets it may hold, of queues that have such a limit.",
    ),
    _gauge(
        "gateway_object_queue_stopped",
        "1 while a queue is above its flow stop, or not below its resume since; 0 else, of queues"
        " that have one.",
    ),
)
