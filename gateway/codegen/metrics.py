"""Generates `docs/metrics.md`: every metric, for whoever makes dashboards and alerts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.metrics import OBJECT_METRICS, SECTIONS, MetricRow

HEAD: Final = """\
# Metrics

Written by `python -m gateway.codegen` from the rows in `gateway/metrics/`: change a row there, not
here.

Counters never go down but for a restart. Labels are from closed sets, with an `other` bucket where
a set has a limit; names of clients are never among them. What to be paged for is in
[operating](operating.md#what-to-be-paged-for).

Of a metric without a note name, kind, labels and meaning are promised: they stay as they are until
a version of the gateway that is announced as breaking them, and what takes the place of one is
there beside it for one version at least. A label may get further values. Those that are *internal*
tell how the gateway works inside; they come and go with that. The alerts and dashboards of the
chart are made of promised ones alone.

"""

OBJECTS: Final = """\
`/metrics/objects?match=orders.*` tells of the queues with such names alone: `*` stands for any
characters, `?` for one, `[ab]` for one of these; there may be ten `match`, of which one has to fit.
Of 10,000 queues each has samples of its own; all others together have one each, with the names
`other`, which says sums, and of ages and limits the largest.

"""


def table(rows: Iterable[MetricRow]) -> str:
    """Rows as a table."""
    lines = ["| Metric | Kind | Labels | What it says |", "|---|---|---|---|"]
    for row in rows:
        labels = ", ".join(f"`{label}`" for label in row.labels)
        note = "" if row.stable else " *Internal.*"
        lines.append(f"| `{row.name}` | {row.kind} | {labels} | {row.help}{note} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    sections = "\n".join(f"### {title}\n\n{table(rows)}" for title, rows in SECTIONS.items())
    return (
        f"{HEAD}## At /metrics\n\n{sections}\n"
        f"## At /metrics/objects, for each queue by name\n\n{OBJECTS}{table(OBJECT_METRICS)}"
    )


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {"../docs/metrics.md": page()}
