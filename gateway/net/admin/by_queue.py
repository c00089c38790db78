"""What each queue has, by name: the readers for `OBJECT_METRICS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.queues.queue import Queue
from gateway.metrics import OBJECT_METRICS, Reader, Sample, Wanted
from gateway.net.admin.census import named_queues
from gateway.wire.work import COUNTED, WORK

OBJECTS_MAX: Final = 10_000
OTHER: Final = ("other", "other")

Measure = Callable[[Queue, int], float | None]  # of a queue, and of now; `None`: it has none
MEASURES: Final[dict[str, Measure]] = {
    "gateway_object_queue_messages": lambda queue, _now_ms: queue.depth,
    "gateway_object_queue_ready_messages": lambda queue, _now_ms: queue.available,
    "gateway_object_queue_unsettled_messages": lambda queue, _now_ms: queue.unsettled,
    "gateway_object_queue_bytes": lambda queue, _now_ms: queue.octets,
    "gateway_object_queue_subscriptions": lambda queue, _now_ms: queue.users.subscriptions,
    "gateway_object_queue_entered_total": lambda queue, _now_ms: queue.entered,
    "gateway_object_queue_left_total": lambda queue, _now_ms: queue.left,
    "gateway_object_queue_oldest_seconds": lambda queue, now_ms: _oldest_s(queue, now_ms),
    "gateway_object_limit_queue_messages": lambda queue, _now_ms: queue.max_count or None,
    "gateway_object_limit_queue_bytes": lambda queue, _now_ms: queue.max_size or None,
    "gateway_object_queue_stopped": lambda queue, _now_ms: (
        None if queue.flow is None else int(queue.flow.stopped)
    ),
}


def _oldest_s(queue: Queue, now_ms: int) -> float:
    came_ms = queue.places.oldest_ms()
    return 0 if came_ms is None else max(0, now_ms - came_ms) / 1000


@final
class ByQueue:
    """What each queue has; beyond `OBJECTS_MAX` of those that are wanted, a sample for the rest.

    That one has sums; of ages and limits it says the largest.
    """

    def __init__(self, bridge: Bridge, now_ms: Callable[[], int]) -> None:
        self._bridge = bridge
        self._now_ms = now_ms
        self._samples: dict[str, list[Sample]] = {row.name: [] for row in OBJECT_METRICS}

    def readers(self) -> dict[str, Reader]:
        """A reader for each row of `OBJECT_METRICS`."""
        return {name: self._reader(name) for name in self._samples}

    def _reader(self, name: str) -> Reader:
        return lambda: self._samples[name]

    def count(self, wanted: Wanted) -> Iterator[None]:
        """Count anew, in pieces: what has a name that is wanted."""
        samples: dict[str, list[Sample]] = {name: [] for name in MEASURES}
        rest: dict[str, float] = {}
        told = 0
        for host, queues in named_queues(self._bridge):
            WORK.units += COUNTED * len(queues) * len(wanted)
            found = [queue for queue in queues if _fits(queue.name, wanted)]
            WORK.units += len(MEASURES) * COUNTED * len(found)
            now_ms = self._now_ms()
            for queue in found:
                told += 1
                for name, measure in MEASURES.items():
                    value = measure(queue, now_ms)
                    if value is None:
                        continue
                    if told <= OBJECTS_MAX:
                        samples[name].append(((host, queue.name), value))
                    else:
                        rest[name] = _together(name, rest.get(name, 0), value)
            yield
        for name, value in rest.items():
            samples[name].append((OTHER, value))
        self._samples = samples


def _fits(name: str, wanted: Wanted) -> bool:
    return not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)


def _together(name: str, one: float, other: float) -> float:
    if name.endswith("_oldest_seconds") or "_limit_" in name:
        return max(one, other)
    return one + other
