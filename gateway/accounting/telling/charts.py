"""Charts as SVG inside the page: lines over time, and bars. No script, no font, no colours of
their own: the page's style has those, so that they are right in the dark and on paper.

What a chart shows stands in a table beside it, for who cannot see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final, NamedTuple

from gateway.accounting.telling.words import wide
from gateway.audit.printable import printable

WIDTH: Final = 720
HEIGHT: Final = 190
LEFT: Final = 64
RIGHT: Final = 12
TOP: Final = 12
FOOT: Final = 24
BAR: Final = 20
LABEL: Final = 200
VALUE: Final = 80
_LETTERS: Final = 30  # of a label that fit into `LABEL`
_DAY_MS: Final = 24 * 60 * 60 * 1000
_STEPS: Final = (1, 2, 5)


class Series(NamedTuple):
    """One line: its name, and at which moment it had which value."""

    name: str
    points: Sequence[tuple[int, float]]
    steps: bool = False  # it stays at a value until the next one


class Bar(NamedTuple):
    """One bar: parts of the same bar are drawn one over the other, the longest first."""

    name: str
    values: Sequence[float]
    told: str


def lines(title: str, series: Sequence[Series], told: Callable[[float], str]) -> str:
    """Values over time; `told`: a value for people."""
    moments = [at for each in series for at, _value in each.points]
    top = _round_up(max((value for each in series for _at, value in each.points), default=0))
    first, last = (min(moments), max(moments)) if moments else (0, 0)
    span = max(last - first, 1)

    def across(at: int) -> float:
        return LEFT + (at - first) / span * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return TOP + (1 - value / top) * (HEIGHT - TOP - FOOT)

    drawn = [_grid(up, top, told), _moments(first, last, across)]
    for number, each in enumerate(series):
        drawn.append(f'<path class="s{number}" d="{_path(each, across, up)}"/>')
        if len(each.points) == 1:  # of which a line has no length
            at, value = each.points[0]
            drawn.append(
                f'<circle class="s{number}" cx="{across(at):.1f}" cy="{up(value):.1f}" r="3"/>'
            )
    return _figure(title, [each.name for each in series], HEIGHT, drawn)


def bars(title: str, names: Sequence[str], rows: Sequence[Bar]) -> str:
    """One bar below the other; `names`: of the parts of each."""
    longest = max((value for row in rows for value in row.values), default=0) or 1
    room = WIDTH - LABEL - VALUE
    drawn = []
    for place, row in enumerate(rows):
        at = TOP + place * BAR
        name = printable(row.name)
        label = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        drawn.append(
            f'<text x="{LABEL - 8}" y="{at + 13}" text-anchor="end">{escape(label)}</text>'
        )
        ordered = sorted(enumerate(row.values), key=lambda each: -each[1])
        for number, value in ordered:
            wide = max(value / longest * room, 1 if value else 0)
            drawn.append(
                f'<rect class="s{number}" x="{LABEL}" y="{at + 3}" width="{wide:.1f}" height="13"/>'
            )
        end = LABEL + max(row.values, default=0) / longest * room
        drawn.append(f'<text x="{end + 6:.1f}" y="{at + 13}">{escape(row.told)}</text>')
    return _figure(title, names, TOP + len(rows) * BAR + 6, drawn)


def _figure(title: str, names: Sequence[str], height: int, drawn: Sequence[str]) -> str:
    keys = "".join(
        f'<li><span class="s{number}"></span>{escape(name)}</li>'
        for number, name in enumerate(names)
    )
    legend = f'<ul class="legend">{keys}</ul>' if len(names) > 1 else ""
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>{legend}"
        f"{wide(escape(title), _svg(title, height, drawn))}</figure>"
    )


def _svg(title: str, height: int, drawn: Sequence[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(title)}">{"".join(drawn)}</svg>'


def _grid(up: Callable[[float], float], top: float, told: Callable[[float], str]) -> str:
    drawn = ""
    for part in (0.0, 0.5, 1.0):
        height = up(part * top)
        drawn += (
            f'<line x1="{LEFT}" y1="{height:.1f}" x2="{WIDTH - RIGHT}" y2="{height:.1f}"/>'
            f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">'
            f"{escape(told(part * top))}</text>"
        )
    return drawn


def _moments(first: int, last: int, across: Callable[[int], float]) -> str:
    """Three moments below; the day where there are several."""
    if not last:
        return ""
    form = "%H:%M:%S" if last - first < _DAY_MS else "%m-%d %H:%M"
    drawn = ""
    ends = ((first, "start"), ((first + last) // 2, "middle"), (last, "end"))
    for at, anchor in ends if last > first else ends[:1]:
        text = datetime.fromtimestamp(at / 1000, UTC).strftime(form)
        drawn += f'<text x="{across(at):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{text}</text>'
    return drawn


def _path(series: Series, across: Callable[[int], float], up: Callable[[float], float]) -> str:
    drawn: list[str] = []
    for at, value in series.points:
        x, y = f"{across(at):.1f}", f"{up(value):.1f}"
        if not drawn:
            drawn.append(f"M{x} {y}")
        elif series.steps:
            drawn.append(f"H{x}V{y}")
        else:
            drawn.append(f"L{x} {y}")
    return "".join(drawn)


def _round_up(value: float) -> float:
    """To the next of 1, 2, 5, 10, ...; never 0."""
    step = 1.0
    while True:
        for each in _STEPS:
            if each * step >= value:
                return each * step
        step *= 10
