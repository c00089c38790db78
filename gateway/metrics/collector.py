"""Reads the numbers behind a table of metrics, and hands them to prometheus_client.

`Collector.pieces` runs the readers on the reactor's thread, behind what they need to be counted
first, a piece at a time; the text is made in another thread, from what was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from gateway.metrics.rows import HistogramSample, MetricRow, Reader, Sample

Wanted = tuple[str, ...]  # patterns of names; none: all


@final
class Collector:
    """A prometheus_client collector over one table; a reader for each of its rows, no more.

    Args:
        count: what is to be counted before the readers can tell of it; of objects with such names
            alone, if any are wanted.

    Raises:
        ValueError: a row without a reader, or a reader without a row.
    """

    def __init__(
        self,
        rows: Sequence[MetricRow],
        readers: dict[str, Reader],
        count: Callable[[Wanted], Iterator[object]] = lambda _wanted: iter(()),
    ) -> None:
        wrong = {row.name for row in rows} ^ set(readers)
        if wrong:
            raise ValueError(f"rows and readers differ: {', '.join(sorted(wrong))}")
        self._rows = rows
        self._readers = readers
        self._count = count
        self._taken: list[tuple[MetricRow, list[Sample | HistogramSample]]] = []

    def pieces(self, wanted: Wanted = ()) -> Iterator[object]:
        """Read every number, a piece with each `next`; on the thread that counts them.

        A piece may be a Deferred: then the next is wanted when it has fired.
        """
        yield from self._count(wanted)
        self._taken = [(row, list(self._readers[row.name]())) for row in self._rows]

    def take(self) -> None:
        """Read every number, at once."""
        for _ in self.pieces():
            pass

    def collect(self) -> Iterator[Metric]:
        """What was taken last; on any thread."""
        for row, samples in self._taken:
            yield _family(row, samples)

    def describe(self) -> list[Metric]:
        """The families without samples: registering needs no reading."""
        return [_family(row, ()) for row in self._rows]

    def registry(self) -> CollectorRegistry:
        """A registry with this collector alone."""
        made = CollectorRegistry()
        made.register(self)
        return made


def _family(row: MetricRow, samples: Iterable[Sample | HistogramSample]) -> Metric:
    if row.kind == "histogram":
        histogram = HistogramMetricFamily(row.name, row.help, labels=row.labels)
        for sample in samples:
            assert len(sample) == 3
            histogram.add_metric(sample[0], sample[1], sample[2])
        return histogram
    kind = CounterMetricFamily if row.kind == "counter" else GaugeMetricFamily
    family = kind(row.name, row.help, labels=row.labels)
    for sample in samples:
        assert len(sample) == 2
        family.add_metric(sample[0], sample[1])
    return family
