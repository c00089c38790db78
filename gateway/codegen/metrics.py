"""Generates `docs/metrics.md`: every metric, for whoever makes dashboards and alerts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.metrics import METRICS, OBJECT_METRICS, MetricRow

HEAD: Final = """\
# Metrics

Written by `python -m gateway.codegen` from `gateway/metrics.py`: change a row there, not here.

Counters never go down but for a restart. Labels are from closed sets, with an `other` bucket where
a set has a limit; names of clients are never among them. What to be paged for is in
[operating](operating.md#what-to-be-paged-for).

"""


def table(rows: Iterable[MetricRow]) -> str:
    """Rows as a table."""
    lines = ["| Metric | Kind | Labels | What it says |", "|---|---|---|---|"]
    for row in rows:
        labels = ", ".join(f"`{label}`" for label in row.labels)
        lines.append(f"| `{row.name}` | {row.kind} | {labels} | {row.help} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    return (
        f"{HEAD}## At /metrics\n\n{table(METRICS)}\n"
        f"## At /metrics/objects, for each queue by name\n\n{table(OBJECT_METRICS)}"
    )


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {"../docs/metrics.md": page()}
