"""What dashboards are made of: rows of panels, each with a title, a unit and PromQL expressions.

`{at}` in an expression is which gateways are looked at, `{rate}` over how long a rate is taken.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        unit: as Grafana calls it.
        queries: expression -> what its lines are called.
    """

    title: str
    unit: str
    queries: dict[str, str]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One page. `rows`: by title."""

    title: str
    rows: dict[str, tuple[Panel, ...]]


def one(title: str, unit: str, expression: str, legend: str) -> Panel:
    """A panel of one expression."""
    return Panel(title, unit, {expression: legend})


def rate(name: str, by: str, labels: str = "") -> str:
    """How fast a counter counts, in sums."""
    return f"sum by ({by}) (rate({name}{{{{{labels}{{at}}}}}}[{{rate}}]))"


def quantile(quantile: float, name: str, by: str) -> str:
    """Of a histogram, in sums."""
    rates = f"sum by (le, {by}) (rate({name}_bucket{{{{{{at}}}}}}[{{rate}}]))"
    return f"histogram_quantile({quantile}, {rates})"


def slow(title: str, name: str, by: str, legend: str) -> Panel:
    """What half of a histogram took at most, and all but a hundredth."""
    return Panel(
        title,
        "s",
        {quantile(each, name, by): f"{legend}, {each:.0%}" for each in (0.5, 0.99)},
    )


def now(name: str, labels: str = "") -> str:
    """A number as it is."""
    return f"{name}{{{{{labels}{{at}}}}}}"


def age(name: str) -> str:
    """How long ago a moment is."""
    return f"time() - {now(name)}"
