"""The page of metrics is as the table of metrics is."""

from pathlib import Path

from gateway.codegen import metrics
from gateway.metrics import METRICS, OBJECT_METRICS

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_what_the_table_yields() -> None:
    assert PAGE.read_text(encoding="utf-8") == metrics.page(), "run: python -m gateway.codegen"


def test_every_metric_stands_on_the_page_once() -> None:
    for row in (*METRICS, *OBJECT_METRICS):
        assert metrics.page().count(f"| `{row.name}` |") == 1, row.name
