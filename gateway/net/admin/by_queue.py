"""What each queue has, by name: the readers for `OBJECT_METRICS`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.metrics import Reader, Sample
from gateway.net.admin.census import named_queues
from gateway.wire.work import COUNTED, WORK

OBJECTS_MAX: Final = 10_000
OTHER: Final = ("other", "other")


@final
class ByQueue:
    """What each queue has, by name; beyond `OBJECTS_MAX`, one sample for the rest."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._samples: list[list[Sample]] = [[], [], [], []]

    def readers(self) -> dict[str, Reader]:
        """A reader for each row of `OBJECT_METRICS`."""
        return {
            "gateway_object_queue_messages": lambda: self._samples[0],
            "gateway_object_queue_bytes": lambda: self._samples[1],
            "gateway_object_queue_subscriptions": lambda: self._samples[2],
            "gateway_object_queue_stopped": lambda: self._samples[3],
        }

    def count(self) -> Iterator[None]:
        """Count anew, in pieces."""
        messages: list[Sample] = []
        octets: list[Sample] = []
        subscriptions: list[Sample] = []
        stopped: list[Sample] = []  # of those that have flow control
        depth = size = used = stops = 0  # of the rest
        for host, queues in named_queues(self._bridge):
            if len(messages) < OBJECTS_MAX:
                WORK.units += 3 * COUNTED * len(queues)
            for queue in queues:
                if len(messages) < OBJECTS_MAX:
                    labels = (host, queue.name)
                    messages.append((labels, queue.depth))
                    octets.append((labels, queue.octets))
                    subscriptions.append((labels, queue.users.subscriptions))
                    if queue.flow is not None:
                        stopped.append((labels, int(queue.flow.stopped)))
                else:
                    depth += queue.depth
                    size += queue.octets
                    used += queue.users.subscriptions
                    stops += queue.flow is not None and queue.flow.stopped
            yield
        if len(messages) == OBJECTS_MAX:
            messages.append((OTHER, depth))
            octets.append((OTHER, size))
            subscriptions.append((OTHER, used))
            stopped.append((OTHER, stops))
        self._samples = [messages, octets, subscriptions, stopped]
