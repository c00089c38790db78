"""Tells people what a reconciliation found: a few lines for the terminal, one page for the rest.

The page needs nothing but itself: no script, no font, no image from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Final

from gateway.accounting.reconcile import SHOWN, Result, Row
from gateway.accounting.steps.balance import LAPSED
from gateway.accounting.steps.breaks import MEANINGS, BreakClass
from gateway.accounting.steps.identities import IDENTITIES, OUTLET, QUEUE, ROUTE, Identity
from gateway.accounting.telling.page import PAGE
from gateway.audit.printable import printable
from gateway.audit.provenance import Provenance
from gateway.audit.reader import spoken
from gateway.audit.schema import Reason
from gateway.audit.seals import key_id

LISTED: Final = 20  # breaks on the terminal
ONE_IN: Final = 64  # messages whose translations the gateway looks at
TITLES: Final = {QUEUE: "Queues", OUTLET: "Outlets", ROUTE: "Routes"}
KEYS: Final = {QUEUE: "queue", OUTLET: "outlet", ROUTE: "exchange or node"}
HEADINGS: Final = {
    "depth": "still there",
    "gone_with_process": "gone with the process",
    "gone_at_stop": "gone at the stop",
    "cut_off": "ended with the process",
    "too_late": "settled too late",
    "in_doubt": "in doubt",
}
RULES: Final = {
    QUEUE: "What was recovered or entered has left in one of these ways, or is still there.",
    OUTLET: "What was sent has ended in one of these ways, or is unsettled.",
    ROUTE: "Every copy that a route made has arrived somewhere, or was turned away.",
}


def verdict(result: Result) -> str:
    """``balanced`` or ``not balanced``, and whether that may still change."""
    word = "balanced" if result.balanced else "not balanced"
    return word if result.final else f"{word} so far"


def number(value: int) -> str:
    """With thin separators, for people."""
    return f"{value:,}"


def octets(value: int) -> str:
    """A size in the unit that fits."""
    size, units = float(value), ["octets", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "octets" else f"{size:.1f} {units[0]}"


def moment(time_ms: int | None) -> str:
    """A gateway clock's reading."""
    if time_ms is None:
        return "-"
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


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


def heading(name: str) -> str:
    """A term as people read it."""
    return HEADINGS.get(name, name.replace("_", " "))


def summary(result: Result, page: str) -> str:
    """A few lines for the terminal."""
    facts = result.log_facts
    records, size = number(facts["records"] or 0), octets(facts["octets"] or 0)
    since, until = moment(facts["first_time_ms"]), moment(facts["last_time_ms"])
    lines = [
        f"{verdict(result)}: {result.log}",
        f"  log      {records} records, {size}, {since} to {until} UTC",
    ]
    lines += [
        f"  {of.name:<8} {_terms_in_words(result.sums[of.name], of)}"
        for of in (ROUTE, QUEUE, OUTLET)
    ]
    lost = sum(row["count"] for row in result.losses)
    lines.append(f"  losses   {number(lost)} declared by translation{_checked(result.checked)}")
    if result.told["received"]:
        lines.append(f"  told     {_told_in_words(result.told)}")
    if result.published_again["ids"]:
        lines.append(f"  ids      {_again_in_words(result.published_again)}")
    lines += [f"  seals    {line}" for line in result.provenance.lines()]
    if result.half:
        lines.append(f"  end      half a block, as a gateway at work leaves it: {result.half}")
    lines += [f"  {line}" for line in break_lines(result)]
    if any(row["proven"] and row["message"] is not None for row in result.breaks):
        lines.append(f"  stories  amqp-gateway audit trace --message NUMBER {result.log}")
    lines.append(f"  report   {page}")
    return "\n".join([printable(line) for line in lines])


def _checked(checked: Row) -> str:
    """How many translations the gateway has looked at."""
    looked_at = checked["whole"] + checked["differ"]
    if not looked_at and not checked["too_large"]:
        return ""
    left = f", {number(checked['too_large'])} too large for it" if checked["too_large"] else ""
    return (
        f"; of 1 message in {ONE_IN} {number(looked_at)} translations looked at, "
        f"{number(checked['differ'])} differ{left}"
    )


def _told_in_words(told: Row) -> str:
    """What publishers know of their messages."""
    parts = [
        f"{number(told['received'])} messages published",
        f"{number(told['accepted'])} accepted",
        f"{number(told['otherwise'])} told otherwise" if told["otherwise"] else "",
        f"{number(told['in_transactions'])} in transactions" if told["in_transactions"] else "",
        f"{number(told['never'])} never told of" if told["never"] else "",
    ]
    return ", ".join([part for part in parts if part])


def _again_in_words(again: Row) -> str:
    """What applications published more than once, by their own ids; no fault of the gateway."""
    return (
        f"{number(again['ids'])} of applications came more than once, {number(again['messages'])} "
        f"messages too many: {again['first']} and {again['again']} have the same"
    )


def _terms_in_words(sums: Row, identity: Identity) -> str:
    parts = [
        f"{number(sums[name])} {heading(name)}" for name in term_names(identity) if sums.get(name)
    ]
    return ", ".join(parts) or "nothing"


def break_lines(result: Result) -> list[str]:
    """The first breaks, one line each; of what cannot be proven, how much it is."""
    listed = [row for row in result.breaks if row["proven"]][:LISTED]
    lines = [f"{row['class']}: {break_text(row)}" for row in listed]
    rest = sum(result.classes.values()) - sum(row["count"] for row in listed)
    if rest > 0:
        lines.append(f"... and {number(rest)} more")
    if result.unproven:
        lines.append(
            f"cannot be proven, since not all records can be read: {unproven_in_words(result)}"
        )
    return lines


def unproven_in_words(result: Result) -> str:
    """How much of which class may be there for want of records that cannot be read."""
    counts = sorted(result.unproven.items())
    return ", ".join(f"{number(count)} {break_class}" for break_class, count in counts)


def break_text(row: Row) -> str:
    """What is wrong, and where."""
    where = []
    if row["segment"] is not None:
        where.append(f"{row['segment']} block {row['block']} offset {row['offset']}")
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


def html_page(result: Result) -> str:
    """The whole page."""
    facts = result.log_facts
    state = "good" if result.balanced else "bad"
    return PAGE.substitute(
        state=state,
        verdict=escape(verdict(result).capitalize()),
        sentence=escape(_sentence(result)),
        log=escape(result.log),
        half=escape(f", which ends with half a block: {result.half}" if result.half else ""),
        records=number(facts["records"] or 0),
        segments=number(facts["segments"]),
        octets=octets(facts["octets"]),
        sequence=f"{facts['first_sequence'] or '-'} to {facts['last_sequence'] or '-'}",
        first=moment(facts["first_time_ms"]),
        last=moment(facts["last_time_ms"]),
        incarnations=number(facts["runs"]),
        classes=_class_table(result),
        breaks=_break_table(result),
        identities="".join(_identity_table(result, identity) for identity in IDENTITIES),
        losses=_loss_table(result) + _checked_paragraph(result.checked),
        again=_told(result.told) + _again(result.published_again),
        seals=_seals(result.provenance),
    )


def _seals(provenance: Provenance) -> str:
    """How far the log is sealed, by which keys, and its last seal, for who keeps such."""
    lines = [line[0].upper() + line[1:] for line in provenance.lines()]
    told = "".join(f"<p>{escape(line)}.</p>" for line in lines)
    keys = "".join(f"<li><code>{key}</code> ({key_id(key)})</li>" for key in provenance.keys)
    listed = f"<p>Public keys, in hex digits:</p><ul>{keys}</ul>" if keys else ""
    head = provenance.head
    return told + listed + (f"<p><code>{escape(head.line())}</code></p>" if head else "")


def _sentence(result: Result) -> str:
    if not result.balanced:
        found = sum(result.classes.values())
        unproven = ""
        if result.unproven:
            unproven = (
                " What else does not add up cannot be proven, since not all records can be read: "
                f"{unproven_in_words(result)}."
            )
        if found == 1:
            return f"One break was found, listed below with its message or its place.{unproven}"
        listed = "breaks were found, listed below with their messages or places"
        return f"{number(found)} {listed}.{unproven}"
    rest = _gone(result.sums[QUEUE.name])
    rest += "".join(f" {each}" for each in result.provenance.caveats())
    if result.final:
        return f"Every copy of every message is accounted for, and the log is whole.{rest}"
    return (
        "Every copy so far is accounted for, and the log is whole. The gateway was running, or did "
        f"not end in order: what is still open may yet change.{rest}"
    )


def _gone(sums: Row) -> str:
    """What is accounted for, and gone all the same."""
    ways = {"gone_with_process": "as that was killed", "gone_at_stop": "as that stopped in order"}
    told = [f"{number(sums[name])} {how}" for name, how in ways.items() if sums.get(name)]
    if not told:
        return ""
    return f" Copies that were not durable are gone with the process: {', '.join(told)}."


def _class_table(result: Result) -> str:
    rows = []
    for break_class in BreakClass:
        count = result.classes.get(str(break_class), 0)
        meaning, unproven = MEANINGS[break_class], result.unproven.get(str(break_class), 0)
        if unproven:
            meaning += f"; {number(unproven)} cannot be proven"
        state = "bad" if count else "mute" if unproven else "good"
        rows.append((str(break_class), number(count), meaning, state))
    return "".join(
        f'<tr><td><code>{name}</code></td><td class="n {state}">{count}</td>'
        f"<td>{escape(meaning)}</td></tr>"
        for name, count, meaning, state in rows
    )


def _break_table(result: Result) -> str:
    if not result.breaks:
        return '<p class="none">None.</p>'
    body = "".join(
        f"<tr><td><code>{row['class']}</code></td><td>{escape(_message_of(row))}</td>"
        f"<td>{escape(break_text(row | {'message': None}))}</td>"
        f'<td class="n">{number(row["count"])}</td></tr>'
        for row in result.breaks
    )
    note = _cut_note(len(result.breaks), "breaks")
    head = _cells("th", ["class", "message", "what and where"], "") + _cells("th", ["count"], "n")
    return _wide(head, body) + note


def _wide(head: str, body: str) -> str:
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _message_of(row: Row) -> str:
    if row["message"] is None:
        return "-"
    return f"{row['message']}"


def _identity_table(result: Result, identity: Identity) -> str:
    rows = rows_of(result, identity)
    shown = [name for name in term_names(identity) if any(row.get(name) for row in rows)]
    several = len({row["incarnation"] for row in rows}) > 1
    head = _cells("th", [*(["run"] if several else []), KEYS[identity]], "")
    head += _cells("th", [heading(name) for name in shown], "n") + _cells("th", [""], "n")
    body = "".join(f"<tr>{_identity_row(row, identity, shown, several)}</tr>" for row in rows)
    table = '<p class="none">Nothing happened here.</p>'
    if rows:
        table = _wide(head, body)
    note = _cut_note(len(rows), identity.name)
    return f"<h2>{TITLES[identity]}</h2><p>{RULES[identity]}</p>{table}{note}"


def _identity_row(row: Row, identity: Identity, shown: list[str], several: bool) -> str:
    name = row[identity.key]
    label = "(default exchange)" if name == "" else str(name)
    if identity is OUTLET:
        label = f"{name} on {row['of_node']}" if row["of_node"] else str(name)
        label += f", to {row['leads_to']}" if row.get("leads_to") else ""
    cells = _cells("td", [*([row["incarnation"]] if several else []), label], "")
    cells += _cells("td", [number(row.get(column) or 0) for column in shown], "n")
    mark = '<span class="good">balanced</span>'
    if not row["balanced"]:
        mark = '<span class="bad">checkpoint disagrees</span>'
    return f'{cells}<td class="n">{mark}</td>'


def _cells(tag: str, values: Iterable[object], style: str) -> str:
    attribute = f' class="{style}"' if style else ""
    return "".join(f"<{tag}{attribute}>{escape(str(value))}</{tag}>" for value in values)


def _loss_table(result: Result) -> str:
    if not result.losses:
        return '<p class="none">None.</p>'
    body = "".join(
        f"<tr><td><code>{escape(str(row['row']))}</code></td><td>{_reason(row['reason'])}</td>"
        f'<td class="n">{number(row["count"])}</td></tr>'
        for row in result.losses
    )
    return (
        "<table><thead><tr><th>mapping row</th><th>policy</th>"
        f'<th class="n">values</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _checked_paragraph(checked: Row) -> str:
    words = _checked(checked).removeprefix("; ")
    return f"<p>{words[0].upper()}{words[1:]}.</p>" if words else ""


def _told(told: Row) -> str:
    """What publishers were told, where the log says it."""
    if not told["received"]:
        return ""
    return f"<h2>Publishers</h2><p>{_told_in_words(told)}.</p>"


def _again(again: Row) -> str:
    """What applications published more than once, if they did."""
    if not again["ids"]:
        return ""
    return f"<h2>Ids of applications</h2><p>{_again_in_words(again).capitalize()}.</p>"


def _reason(reason: int) -> str:
    return spoken(Reason(reason).name) if reason in set(Reason) else str(reason)


def _cut_note(rows: int, what: str) -> str:
    if rows < SHOWN:
        return ""
    return f'<p class="none">The first {SHOWN}; the Parquet files have all {what}.</p>'
