"""Samples as readers make them of what is counted."""

from __future__ import annotations

from typing import Final

from gateway.message import Encoding
from gateway.metrics import HistogramSample, Sample
from gateway.wire.durations import Durations

PROTOCOLS: Final = {Encoding.AMQP_0_10: "0-10", Encoding.AMQP_1_0: "1.0"}


def one(value: float) -> list[Sample]:
    """The one of a metric without labels."""
    return [((), value)]


def labelled(values: dict[str, int]) -> list[Sample]:
    """One for each value of its one label."""
    return [((label,), value) for label, value in values.items()]


def protocols(values: list[int]) -> list[Sample]:
    """One for each protocol, of counts by it."""
    return [((name,), values[protocol]) for protocol, name in PROTOCOLS.items()]


def gap(opened: list[int], closed: list[int]) -> list[Sample]:
    """What was opened, and is not closed."""
    return [((name,), opened[number] - closed[number]) for number, name in PROTOCOLS.items()]


def timed(labels: tuple[str, ...], durations: Durations) -> HistogramSample:
    """One histogram."""
    return labels, durations.cumulative(), durations.total_s
