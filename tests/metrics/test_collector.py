"""What is read comes out as Prometheus reads it."""

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import Collector, MetricRow, Reader
from gateway.wire.durations import BOUNDS_US, Durations

ROWS = (
    MetricRow("gateway_things_total", "counter", "Things.", ("kind",)),
    MetricRow("gateway_depth", "gauge", "Depth."),
    MetricRow("gateway_lag_seconds", "histogram", "Lag."),
)


def readers(durations: Durations) -> dict[str, Reader]:
    return {
        "gateway_things_total": lambda: [(("a",), 1), (('b"\n',), 2)],
        "gateway_depth": lambda: [((), 7)],
        "gateway_lag_seconds": lambda: [((), durations.cumulative(), durations.total_s)],
    }


def test_what_is_taken_is_what_is_read_until_it_is_taken_again() -> None:
    durations = Durations()
    collector = Collector(ROWS, readers(durations))
    registry = collector.registry()
    assert generate_latest(registry) == b""
    durations.add(100, 3)
    durations.add(BOUNDS_US[-1] + 1)
    collector.take()
    durations.add(9)
    for text, parse in (
        (generate_latest(registry).decode(), text_string_to_metric_families),
        (generate_openmetrics(registry).decode(), parse_openmetrics),
    ):
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in parse(text)
            for sample in family.samples
        }
        assert samples == {
            ("gateway_things_total", "a"): 1,
            ("gateway_things_total", 'b"\n'): 2,
            ("gateway_depth",): 7,
            **{("gateway_lag_seconds_bucket", repr(bound / 1e6)): 3 for bound in BOUNDS_US},
            ("gateway_lag_seconds_bucket", "+Inf"): 4,
            ("gateway_lag_seconds_count",): 4,
            ("gateway_lag_seconds_sum",): 1800.000301,
        }


@pytest.mark.parametrize("wrong", [{}, {"gateway_other": list}])
def test_a_row_without_a_reader_and_a_reader_without_a_row_are_refused(
    wrong: dict[str, Reader],
) -> None:
    given = readers(Durations()) | wrong
    if not wrong:
        del given["gateway_depth"]
    with pytest.raises(ValueError, match="differ"):
        Collector(ROWS, given)
