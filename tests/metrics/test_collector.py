"""What is read comes out as Prometheus reads it."""

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import Collector, MetricRow, Reader
from gateway.net.counts import Histogram

ROWS = (
    MetricRow("gateway_things_total", "counter", "Things.", ("kind",)),
    MetricRow("gateway_depth", "gauge", "Depth."),
    MetricRow("gateway_lag_seconds", "histogram", "Lag."),
)


def readers(histogram: Histogram) -> dict[str, Reader]:
    return {
        "gateway_things_total": lambda: [(("a",), 1), (('b"\n',), 2)],
        "gateway_depth": lambda: [((), 7)],
        "gateway_lag_seconds": lambda: [((), histogram.cumulative(), histogram.total)],
    }


def test_what_is_taken_is_what_is_read_until_it_is_taken_again() -> None:
    histogram = Histogram((0.1, 1.0))
    collector = Collector(ROWS, readers(histogram))
    registry = collector.registry()
    assert generate_latest(registry) == b""
    for value in (0.05, 0.1, 0.5, 3.0):
        histogram.observe(value)
    collector.take()
    histogram.observe(9.0)
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
            ("gateway_lag_seconds_bucket", "0.1"): 2,
            ("gateway_lag_seconds_bucket", "1.0"): 3,
            ("gateway_lag_seconds_bucket", "+Inf"): 4,
            ("gateway_lag_seconds_count",): 4,
            ("gateway_lag_seconds_sum",): 3.65,
        }


@pytest.mark.parametrize("wrong", [{}, {"gateway_other": list}])
def test_a_row_without_a_reader_and_a_reader_without_a_row_are_refused(
    wrong: dict[str, Reader],
) -> None:
    given = readers(Histogram((1.0,))) | wrong
    if not wrong:
        del given["gateway_depth"]
    with pytest.raises(ValueError, match="differ"):
        Collector(ROWS, given)
