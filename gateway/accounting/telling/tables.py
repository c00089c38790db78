"""The page's tables of what was judged: breaks with their stories, identities, seals."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from gateway.accounting.steps.balance import LAPSED
from gateway.accounting.steps.breaks import MEANINGS, BreakClass
from gateway.accounting.steps.identities import OUTLET, QUEUE, ROUTE, Identity
from gateway.accounting.telling.words import (
    FOLDED,
    KEYS,
    TITLES,
    cells,
    folded,
    heading,
    heads,
    left_out,
    note,
    number,
    table,
)
from gateway.audit.printable import printable
from gateway.audit.provenance import Provenance
from gateway.audit.seals import key_id

if TYPE_CHECKING:
    from gateway.accounting.reconcile import Result
    from gateway.accounting.telling.stories import Told

Row = dict[str, Any]  # Any: a cell of a result
STORIES_OPEN: Final = 20  # on the page; the others are folded
LISTED: Final = 25  # breaks of a class; the others are folded, too
RULES: Final = {
    QUEUE: "What was recovered or entered has left in one of these ways, or is still there.",
    OUTLET: "What was sent has ended in one of these ways, or is unsettled.",
    ROUTE: "Every copy that a route made has arrived somewhere, or was turned away.",
}
FILES: Final = "the Parquet files have them all"


def rows_of(result: Result, identity: Identity) -> list[Row]:
    """The result's table of an identity."""
    tables: dict[str, list[Row]] = {
        QUEUE.name: result.queues,
        OUTLET.name: result.outlets,
        ROUTE.name: result.routes,
    }
    return tables[identity.name]


def term_names(identity: Identity) -> list[str]:
    """The terms of an identity, what is left last."""
    return [*identity.term_names, identity.rest, *LAPSED[identity.name]]


def break_text(row: Row) -> str:
    """What is wrong, and where."""
    where = []
    if row["segment"] is not None:  # and of what anchors say of it, no place in it
        at = "" if row["block"] is None else f" block {row['block']} offset {row['offset']}"
        where.append(f"{row['segment']}{at}")
    if row["message"] is not None:
        where.append(f"message {row['message']}")
    if row["node"] is not None:
        where.append(f"{row['node'] or 'default exchange'}")
    place = ", ".join(where)
    text = f"{place}: {row['detail']}" if place else str(row["detail"])
    if row["proven"]:
        return text
    last = row["sequence"]
    first = min(row["since"] + 1, last)
    return f"{text} (cannot be proven: of records {first} to {last} not all can be read)"


def classes(result: Result) -> str:
    """What was looked for, and how much of it there is."""
    rows = []
    for break_class in BreakClass:
        count, unproven = (
            counts.get(str(break_class), 0) for counts in (result.classes, result.unproven)
        )
        told, state = number(count), "bad" if count else "mute" if unproven else "good"
        meaning = MEANINGS[break_class]
        if unproven:
            meaning += f"; {number(unproven)} cannot be proven"
        rows.append(
            f'<th scope="row"><code>{break_class}</code></th>'
            f'<td class="n {state}">{told}</td><td>{escape(meaning)}</td>'
        )
    head = '<th scope="col">class</th><th scope="col" class="n">found</th><th scope="col">what</th>'
    return table("Classes of breaks", head, rows)


def breaks(result: Result) -> str:
    """Each break with its story, by class, as they stand in the result."""
    if not result.breaks:
        return note("None.")
    told = []
    every = enumerate(zip(result.breaks, result.stories, strict=True))
    for name, those in groupby(every, key=lambda each: _cause(each[1][0])):
        one = [_break(row, story, is_open=at < STORIES_OPEN) for at, (row, story) in those]
        told += [f"<h3>{escape(name)}</h3>", *one[:LISTED]]
        if rest := one[LISTED:]:
            told.append(folded(len(rest), "".join(rest)))
    whole = result.break_rows
    return "".join(told) + left_out(len(result.breaks), whole, "breaks", FILES)


def _cause(row: Row) -> str:
    return f"{row['class']}{'' if row['proven'] else ', cannot be proven'}"


def _break(row: Row, story: Told, *, is_open: bool) -> str:
    count = f" ({number(row['count'])} copies)" if row["count"] > 1 else ""
    text = escape(printable(break_text(row)) + count)
    typed = f"<p><code>{escape(story.command)}</code></p>" if story.command else ""
    if not story.lines:
        return f'<div class="break"><p>{text}</p>{typed}</div>'
    steps = escape("\n".join(story.lines))
    opened = " open" if is_open else ""
    return (
        f'<div class="break"><details{opened}><summary>{text}</summary>'
        f'<pre tabindex="0">{steps}</pre></details>{typed}</div>'
    )


def identity_table(result: Result, identity: Identity) -> str:
    """What came and what became of it, of each thing in each run; those that disagree first."""
    rows = rows_of(result, identity)
    if not rows:
        return note("Nothing happened here.")
    shown = [name for name in term_names(identity) if any(row.get(name) for row in rows)]
    several = len({row["incarnation"] for row in rows}) > 1
    words = [KEYS[identity], *(["run"] if several else []), "checkpoints"]
    head = heads(words, map(heading, shown))
    told = [_identity_row(row, identity, shown, several) for row in _in_order(rows, identity)]
    of = result.sums[identity.name]["rows"]
    caption = f"{TITLES[identity]}{' of each run' if several else ''}"
    return table(caption, head, told) + left_out(len(rows), of, identity.name, FILES)


def _in_order(rows: list[Row], identity: Identity) -> list[Row]:
    """As they stand, but of many those first of which more is to be told."""
    if len(rows) <= FOLDED:
        return rows
    came = identity.term_names[: identity.incoming]
    return sorted(rows, key=lambda row: (row["balanced"], -sum(row[name] for name in came)))


def _identity_row(row: Row, identity: Identity, shown: list[str], several: bool) -> str:
    name = row[identity.key]
    label = "(default exchange)" if name == "" else str(name)
    if identity is OUTLET:
        label = f"{name} on {row['of_node']}" if row["of_node"] else str(name)
        label += f", to {row['leads_to']}" if row.get("leads_to") else ""
    mark = '<span class="good">agree</span>' if row.get("checkpoints") else "none"
    if not row["balanced"]:
        mark = '<span class="bad">disagree</span>'
    told = cells([label, *([row["incarnation"]] if several else [])]) + f"<td>{mark}</td>"
    return told + cells([_told(row, column) for column in shown], "n")


def _told(row: Row, column: str) -> str:
    """A term; what is left may not be known."""
    return "-" if column in row and row[column] is None else number(row.get(column) or 0)


def ledger(result: Result) -> str:
    """Each queue over all runs; empty where there is one run, whose table says it."""
    rows = result.over_runs
    if not rows:
        return ""
    shown = [name for name in term_names(QUEUE) if any(row.get(name) for row in rows)]
    head = heads([KEYS[QUEUE]], map(heading, shown))
    told = [cells([row["node"]]) + cells([_told(row, name) for name in shown], "n") for row in rows]
    of = result.over_runs[0]["of"]
    shown_as = table("Queues over all runs", head, told)
    what = "<h2>Queues over all runs</h2><p>What a run recovered is the same copy still.</p>"
    return what + shown_as + left_out(len(rows), of, "queues", FILES)


def seals(provenance: Provenance) -> str:
    """How far the log is sealed, by which keys, and its last seal, for who keeps such."""
    lines = [line[0].upper() + line[1:] for line in provenance.lines()]
    told = "".join(f"<p>{escape(line)}.</p>" for line in lines)
    keys = "".join(f"<li><code>{key}</code> ({key_id(key)})</li>" for key in provenance.keys)
    listed = f"<p>Public keys, in hex digits:</p><ul>{keys}</ul>" if keys else ""
    head = provenance.head
    return told + listed + (f"<p>Its head: <code>{escape(head.line())}</code></p>" if head else "")
