"""What went on: flow and depth, waits, clients, losses; each as a chart and as a table.

From rows of `figures`, which are few; what is left out is said.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from gateway.accounting.telling.charts import Bar, Series, bars, lines
from gateway.accounting.telling.figures import MOST, span_ms
from gateway.accounting.telling.words import (
    SECOND_MS,
    cells,
    heads,
    lasting,
    left_out,
    moment,
    note,
    number,
    table,
)
from gateway.audit.reader import spoken
from gateway.audit.schema import Reason

if TYPE_CHECKING:
    from gateway.accounting.reconcile import Result

Row = dict[str, Any]  # Any: a cell of a result
BARS: Final = 15
TABLE_ROWS: Final = 24  # of a table over time
LISTED: Final = 60  # of other tables
ELSEWHERE: Final = f"report.json has the first {MOST}"
OLD: Final = "AMQP 0-10"
NEW: Final = "AMQP 1.0"


def of_figure(result: Result, figure: str) -> list[Row]:
    """Its rows, those with the largest counts first."""
    rows = [row for row in result.figures if row["figure"] == figure]
    return sorted(rows, key=lambda row: (-(row["count"] or 0), row["name"] or ""))


def spans(result: Result) -> list[Row]:
    """Each span from the first record to the last: what came, entered and left, what was there.

    A run begins with nothing, and recovers what was kept.
    """
    rows = [row for row in result.figures if row["figure"] == "flow"]
    if not rows:
        return []
    facts = result.log_facts
    length = span_ms(facts["first_time_ms"], facts["last_time_ms"])
    there, run = 0, 0
    found: dict[int, Row] = {}
    for row in sorted(rows, key=lambda row: (row["run"], row["at_ms"])):
        there = row["change"] + (there if row["run"] == run else 0)
        run = row["run"]
        span = found.setdefault(row["at_ms"], {"at_ms": row["at_ms"], **_NOTHING})
        for name in _NOTHING:
            span[name] += row[name]
        span["there"] = there
    there, told = 0, []
    for at in range(min(found), max(found) + 1, length):
        span = found.get(at, {"at_ms": at, **_NOTHING, "there": there})
        there = span["there"]
        told.append(span)
    return told


_NOTHING: Final = {"count": 0, "entered": 0, "left": 0}


def flow(result: Result) -> str:
    """Messages and copies over time, and how many copies were in queues."""
    told = spans(result)
    if not told:
        return note("Nothing was received.")
    facts = result.log_facts
    length = span_ms(facts["first_time_ms"], facts["last_time_ms"])

    def rate(name: str) -> list[tuple[int, float]]:
        return [(span["at_ms"], span[name] * SECOND_MS / length) for span in told]

    names = {"count": "received", "entered": "entered a queue", "left": "left a queue"}
    series = [Series(text, rate(name)) for name, text in names.items()]
    depth = Series("there", [(span["at_ms"], span["there"]) for span in told], steps=True)
    head = heads(["from (UTC)"], ["received", "entered", "left", "still there"])
    group = -(-len(told) // TABLE_ROWS)
    rows = []
    for place in range(0, len(told), group):
        part = told[place : place + group]
        counts = [sum(span[name] for span in part) for name in _NOTHING]
        numbers = [number(value) for value in (*counts, part[-1]["there"])]
        rows.append(
            cells([moment(part[0]["at_ms"], exact=length < SECOND_MS)]) + cells(numbers, "n")
        )
    caption = f"Flow and depth, each line {lasting(length * group)}"
    return (
        lines(f"A second, on average of {lasting(length)}", series, number)
        + lines("Copies in all queues", [depth], number)
        + table(caption, head, rows)
    )


def waits(result: Result) -> str:
    """How long copies were in queues."""
    every = of_figure(result, "waits")
    if not every:
        return note("Nothing that entered a queue here was settled here.")
    queues, routes = of_figure(result, "waits by queue"), of_figure(result, "waits by route")
    drawn = [
        Bar(
            row["name"] or "(default exchange)",
            [row["p99_ms"], row["p95_ms"], row["p50_ms"]],
            lasting(row["p99_ms"]),
        )
        for row in queues[:BARS]
    ]
    names = ["99 of 100", "95 of 100", "half of them"]
    chart = bars(f"Until settled, of the {len(drawn)} busiest queues", names, drawn)
    return (
        _classes(of_figure(result, "waits by class"), "Copies by how long they waited", "copies")
        + chart
        + _waits_table("Until settled, by queue", "queue", every + queues, "queues")
        + _waits_table("Until settled, by route", "exchange or upstream", routes, "routes")
    )


def told(result: Result) -> str:
    """How long publishers waited until they were told how their messages ended."""
    every = of_figure(result, "told")
    if not every:
        return note("Nobody was told here of what came here.")
    routes = of_figure(result, "told by route")
    captions = "Messages by how long their publishers waited", "messages"
    table_ = _waits_table("Until told, by route", "exchange", every + routes, "routes", "told")
    return _classes(of_figure(result, "told by class"), *captions) + table_


def _classes(rows: list[Row], caption: str, what: str) -> str:
    """How many took how long: classes of the figure, four of them in one where there are many."""
    ordered = sorted(rows, key=lambda row: row["p50_ms"])
    group = -(-len(ordered) // BARS)
    drawn = []
    for place in range(0, len(ordered), max(group, 1)):
        part = ordered[place : place + group]
        count = sum(row["count"] for row in part)
        drawn.append(Bar(f"up to {lasting(part[-1]['worst_ms'])}", [count], number(count)))
    return bars(caption, [what], drawn)


def _waits_table(caption: str, key: str, rows: list[Row], what: str, ended: str = "settled") -> str:
    head = heads([key], [ended, "half of them", "95 of 100", "99 of 100", "the longest"])
    told = []
    for row in rows[:LISTED]:
        whole = row["figure"] in ("waits", "told")
        name = "all" if whole else row["name"] or "(default exchange)"
        times = [row[each] for each in ("p50_ms", "p95_ms", "p99_ms", "worst_ms")]
        numbers = [number(row["count"]), *map(lasting, times)]
        told.append(cells([name]) + cells(numbers, "n"))
    return table(caption, head, told) + left_out(len(told), len(rows), what, ELSEWHERE)


def migration(result: Result) -> str:
    """Who still speaks 0-10, and what is used that is not offered."""
    clients, uses = of_figure(result, "clients"), of_figure(result, "features")
    protocols: dict[str, int] = {}
    for row in of_figure(result, "protocols"):
        protocols[row["name"]] = protocols.get(row["name"], 0) + row["count"]
    if not protocols and not uses:
        return note("No client was connected, or the log does not say who.")
    told = "".join(f"<p>{escape(text)}</p>" for text in _progress(clients, protocols))
    opened = [Series(name, _filled(result, name)) for name in sorted(protocols)]
    chart = lines("Connections that clients opened", opened, number) if opened else ""
    head = heads(["protocol", "user", "client", "first (UTC)", "last (UTC)"], ["connections"])
    ordered = sorted(clients, key=lambda row: (row["name"] != OLD, -row["count"]))
    rows = [
        cells([row["name"], row["of"], row["client"] or "-", *_times(row)])
        + cells([number(row["count"])], "n")
        for row in ordered[:LISTED]
    ]
    listed = table("Clients, those of 0-10 first", head, rows) if rows else ""
    return (
        told
        + chart
        + listed
        + left_out(len(rows), len(clients), "clients", ELSEWHERE)
        + _uses(uses)
    )


def _progress(clients: list[Row], protocols: dict[str, int]) -> list[str]:
    whole = sum(protocols.values())
    old = [row for row in clients if row["name"] == OLD]
    if not whole:
        return []
    if not protocols.get(OLD):
        return ["No client spoke AMQP 0-10."]
    last = moment(max((row["last_ms"] for row in old), default=None))
    count = number(len(old)) if len(clients) < MOST else "the busiest"
    return [
        f"{number(protocols[OLD])} of {number(whole)} connections spoke AMQP 0-10, of {count} "
        f"{'client' if len(old) == 1 else 'clients'}; the last one was opened at {last} UTC."
    ]


def _filled(result: Result, protocol: str) -> list[tuple[int, float]]:
    """Of each span how many were opened, also where none were."""
    facts = result.log_facts
    length = span_ms(facts["first_time_ms"], facts["last_time_ms"])
    rows = [row for row in of_figure(result, "protocols") if row["name"] == protocol]
    counts = {row["at_ms"]: row["count"] for row in rows}
    first, last = facts["first_time_ms"] // length * length, facts["last_time_ms"]
    return [(at, counts.get(at, 0)) for at in range(first, last + 1, length)]


def _uses(uses: list[Row]) -> str:
    if not uses:
        return note("Nobody has used what the gateway does not offer.")
    summed: dict[str, int] = {}
    for row in uses:
        summed[row["name"]] = summed.get(row["name"], 0) + row["count"]
    most = sorted(summed.items(), key=lambda each: -each[1])
    drawn = [Bar(name, [count], number(count)) for name, count in most[:BARS]]
    head = heads(["what", "user", "client", "first (UTC)", "last (UTC)"], ["uses"])
    rows = [
        cells([row["name"], row["of"] or "(not logged in)", row["client"] or "-", *_times(row)])
        + cells([number(row["count"])], "n")
        for row in uses[:LISTED]
    ]
    return (
        bars("What is used that the gateway does not offer", ["uses"], drawn)
        + table("What is used that the gateway does not offer", head, rows)
        + left_out(len(rows), len(uses), "uses", ELSEWHERE)
    )


def _times(row: Row) -> tuple[str, str]:
    return moment(row["first_ms"]), moment(row["last_ms"])


def losses(result: Result) -> str:
    """Values that did not cross, by mapping row, client and queue."""
    if not result.losses:
        return note("None.")
    by_row: dict[str, int] = {}
    for row in result.losses:
        by_row[row["row"]] = by_row.get(row["row"], 0) + row["count"]
    most = sorted(by_row.items(), key=lambda each: (-each[1], each[0]))
    drawn = [Bar(name, [count], number(count)) for name, count in most[:BARS]]
    head = heads(["mapping row", "policy", "queue", "user", "client"], ["values"])
    rows = [
        f"<td><code>{escape(str(row['row']))}</code></td>"
        + cells(
            [policy(row["reason"]), *(row[name] or "-" for name in ("node", "actor", "client"))]
        )
        + cells([number(row["count"])], "n")
        for row in result.losses_by_client[:LISTED]
    ]
    caption = "Declared losses by mapping row, queue and client"
    more = left_out(
        len(rows), len(result.losses_by_client), "lines", "report.json has the first 500"
    )
    return bars("Values by mapping row", ["values"], drawn) + table(caption, head, rows) + more


def policy(reason: int) -> str:
    """What the mapping said to do with a value."""
    return spoken(Reason(reason).name) if reason in set(Reason) else str(reason)
