"""What is said of a metric where it is declared, and how its numbers are handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Buckets = list[tuple[str, float]]
Sample = tuple[tuple[str, ...], float]
HistogramSample = tuple[tuple[str, ...], Buckets, float]
Reader = Callable[[], Iterable[Sample | HistogramSample]]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric, as it is documented.

    Attributes:
        stable: whether its name, kind, labels and meaning are promised.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    stable: bool = True


def counter(name: str, help: str, *labels: str, stable: bool = True) -> MetricRow:
    """What never goes down but for a restart."""
    return MetricRow(name, "counter", help, labels, stable)


def gauge(name: str, help: str, *labels: str, stable: bool = True) -> MetricRow:
    """What is so now."""
    return MetricRow(name, "gauge", help, labels, stable)


def histogram(name: str, help: str, *labels: str, stable: bool = True) -> MetricRow:
    """How often something took how long."""
    return MetricRow(name, "histogram", help, labels, stable)
