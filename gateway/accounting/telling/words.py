"""Numbers, sizes, times and terms as people read them; pieces of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from gateway.accounting.steps.identities import OUTLET, QUEUE, ROUTE
from gateway.audit.printable import printable

SECOND_MS: Final = 1000
LATEST_MS: Final = 253_402_300_799_999  # the end of the year 9999: what is later is no time
FOLDED: Final = 100  # rows of a table; what is behind them is folded away
MANY: Final = 10  # columns; where there are more the letters are smaller on paper
TITLES: Final = {QUEUE: "Queues", OUTLET: "Outlets", ROUTE: "Routes"}
KEYS: Final = {QUEUE: "queue", OUTLET: "outlet", ROUTE: "exchange or node"}
HEADINGS: Final = {
    "depth": "still there",
    "gone_with_process": "gone with the process",
    "gone_at_stop": "gone at the stop",
    "cut_off": "ended with the process",
    "open_at_stop": "open at the stop",
    "too_late": "settled too late",
    "in_doubt": "in doubt",
}
MORE_THAN: Final = {  # where less than nothing is left
    QUEUE.name: "more than came",
    OUTLET.name: "more than were sent",
    ROUTE.name: "more than were made",
}
_UNITS: Final = ((60_000, "s"), (3_600_000, "min"), (86_400_000, "h"))


def number(value: float) -> str:
    """With separators; what is no whole number with two digits behind the point."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def octets(value: int) -> str:
    """A size in the unit that fits."""
    size, units = float(value), ["octets", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "octets" else f"{size:.1f} {units[0]}"


def moment(time_ms: int | None, *, exact: bool = False) -> str:
    """A gateway clock's reading; `exact`: with milliseconds."""
    if time_ms is None:
        return "-"
    time_ms = min(max(time_ms, 0), LATEST_MS)
    told = datetime.fromtimestamp(time_ms // SECOND_MS, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{told}.{time_ms % SECOND_MS:03}" if exact else told


def lasting(value_ms: float) -> str:
    """A length of time in the unit that fits."""
    if value_ms < SECOND_MS:
        return f"{value_ms:.0f} ms"
    unit_ms = SECOND_MS
    for next_ms, unit in _UNITS:
        if value_ms < next_ms:
            return f"{value_ms / unit_ms:.3g} {unit}"
        unit_ms = next_ms
    return f"{value_ms / unit_ms:.3g} days"


def heading(name: str) -> str:
    """A term as people read it."""
    return HEADINGS.get(name, name.replace("_", " "))


def cells(values: Iterable[object], style: str = "") -> str:
    """Of one row, all of one style: ``n`` is a number."""
    attribute = f' class="{style}"' if style else ""
    return "".join(f"<td{attribute}>{escape(printable(str(value)))}</td>" for value in values)


def heads(words: Iterable[str], numbers: Iterable[str] = ()) -> str:
    """The first row: columns with words, then columns with numbers."""
    told = "".join(f'<th scope="col">{escape(name)}</th>' for name in words)
    return told + "".join(f'<th scope="col" class="n">{escape(name)}</th>' for name in numbers)


def table(caption: str, head: str, rows: Sequence[str]) -> str:
    """A table that may be wider than the screen; `rows`: the cells of each.

    Of a long one the rest is folded away.
    """
    if len(rows) > FOLDED:
        rest = _table(f"{caption}, the others", head, rows[FOLDED:])
        return _table(caption, head, rows[:FOLDED]) + folded(len(rows) - FOLDED, rest)
    return _table(caption, head, rows)


def folded(count: int, rest: str) -> str:
    """So many more, for who asks; on paper it is said that they are not there, if nobody has."""
    return f'<details class="more"><summary>{number(count)} more</summary>{rest}</details>'


def _table(caption: str, head: str, rows: Sequence[str]) -> str:
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    label = escape(caption)
    return wide(
        label,
        f'<table><caption class="unseen">{label}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>",
        many=head.count("<th ") > MANY,
    )


def wide(label: str, what: str, *, many: bool = False) -> str:
    """What may be wider than the screen, and is moved there; `many`: of so many columns."""
    style = "wide many" if many else "wide"
    return f'<div class="{style}" role="region" aria-label="{label}" tabindex="0">{what}</div>'


def note(text: str) -> str:
    """What is to be known of a table, or that there is nothing."""
    return f'<p class="none">{escape(text)}</p>'


def left_out(shown: int, of: int, what: str, where: str) -> str:
    """That there is more than is shown, and where it is; empty if there is not."""
    if of <= shown:
        return ""
    return note(f"{number(shown)} of {number(of)} {what}; {where}")


def traced(log: str) -> str:
    """A log as `audit trace` is given it, which reads what is on its machine."""
    return f"COPY OF {log}" if "://" in log else log
