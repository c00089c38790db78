"""Tells people what a reconciliation found: a few lines for the terminal, one page for the rest.

The page needs nothing but itself: no script, no font, no image from anywhere.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from gateway.accounting.steps.identities import IDENTITIES, OUTLET, QUEUE, ROUTE, Identity
from gateway.accounting.telling import drawn, tables
from gateway.accounting.telling.page import PAGE
from gateway.accounting.telling.tables import break_text, term_names
from gateway.accounting.telling.words import (
    MORE_THAN,
    TITLES,
    heading,
    moment,
    number,
    octets,
    traced,
)
from gateway.audit import story
from gateway.audit.printable import printable

if TYPE_CHECKING:
    from gateway.accounting.reconcile import Result
    from gateway.accounting.telling.ran import Ran

Row = dict[str, Any]  # Any: a cell of a result
LISTED: Final = 20  # breaks on the terminal


def verdict(*results: Result) -> str:
    """``balanced`` or not, or nobody can say; and whether that may still change; of all logs."""
    word = "not balanced" if any(result.classes for result in results) else "not proven"
    if all(result.balanced for result in results):
        word = "balanced"
    return word if all(result.final for result in results) else f"{word} so far"


def summary(result: Result, page: str) -> str:
    """A few lines for the terminal."""
    facts = result.log_facts
    records, size = number(facts["records"] or 0), octets(facts["octets"] or 0)
    since, until = moment(facts["first_time_ms"]), moment(facts["last_time_ms"])
    lines = [
        f"{verdict(result)}: {result.log}",
        f"  log      {records} records, {size}, {since} to {until} UTC",
    ]
    if begins := _begins(result):
        lines.append(f"  begins   {begins}")
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
    lines += [f"  stories  {line}" for line in _commands(result)]
    lines.append(f"  report   {page}")
    return "\n".join([printable(line) for line in lines])


def _begins(result: Result) -> str:
    """With what, where that is not the beginning of the log."""
    book, record, why = result.beginning
    if book is not None:
        return (
            f"with what book {book.number} closed with, of segments {book.first_segment} to "
            f"{book.last_segment} and all before them, records to {number(book.last_sequence)}"
        )
    if record:
        return f"with record {number(record)}; what was open then is not known: {why}"
    return ""


def _checked(checked: Row) -> str:
    """How many translations the gateway has looked at."""
    looked_at = checked["whole"] + checked["differ"]
    if not looked_at and not checked["too_large"]:
        return ""
    left = f", {number(checked['too_large'])} too large for it" if checked["too_large"] else ""
    return f"; {number(looked_at)} translations looked at: {number(checked['differ'])} differ{left}"


def _told_in_words(told: Row) -> str:
    """What publishers know of their messages."""
    parts = [
        f"{number(told['received'])} messages published",
        f"{number(told['accepted'])} accepted",
        f"{number(told['otherwise'])} told otherwise" if told["otherwise"] else "",
        f"{number(told['in_transactions'])} in transactions" if told["in_transactions"] else "",
        f"{number(told['never'])} never told of" if told["never"] else "",
        f"{number(told['beyond'])} told of and never received" if told["beyond"] else "",
    ]
    return ", ".join([part for part in parts if part])


def _commands(result: Result) -> list[str]:
    """What to type for the stories of the breaks that are listed: one command for messages."""
    pairs = zip(result.breaks, result.stories, strict=True)
    listed = [(row["message"], its.command) for row, its in pairs if row["proven"]][:LISTED]
    asked = [(message, typed) for message, typed in listed if typed]
    numbers = list(dict.fromkeys(message for message, _typed in asked if message is not None))
    told = [story.command(traced(result.log), message=numbers)] if numbers else []
    told += [typed for message, typed in asked if message is None]
    return list(dict.fromkeys(told))


def _again_in_words(again: Row) -> str:
    """What applications published more than once, by their own ids; no fault of the gateway."""
    return (
        f"{number(again['ids'])} of applications came more than once, {number(again['messages'])} "
        f"messages too many: {again['first']} and {again['again']} have the same"
    )


def _terms_in_words(sums: Row, identity: Identity) -> str:
    parts = [
        f"{number(sums[name])} {heading(name)}"
        if sums[name] > 0
        else f"{number(-sums[name])} {MORE_THAN[identity.name]}"
        for name in term_names(identity)
        if sums.get(name)
    ]
    if sums.get(identity.rest, 0) is None:
        parts.append(f"not known what is {heading(identity.rest)}")
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


def html_page(result: Result, ran: Ran | None = None) -> str:
    """The whole page; `ran`: who says so."""
    facts = result.log_facts
    return PAGE.substitute(
        state="good" if result.balanced else "bad",
        verdict=escape(verdict(result).capitalize()),
        sentence=escape(_sentence(result)),
        covers=escape(_covers(result)),
        log=escape(printable(result.log)),
        ran="" if ran is None else _ran(ran),
        half=escape(f", which ends with half a block: {result.half}" if result.half else ""),
        records=number(facts["records"] or 0),
        segments=number(facts["segments"]),
        octets=octets(facts["octets"] or 0),
        sequence=f"{facts['first_sequence'] or '-'} to {facts['last_sequence'] or '-'}",
        first=moment(facts["first_time_ms"]),
        last=moment(facts["last_time_ms"]),
        incarnations=_runs(facts),
        classes=tables.classes(result),
        breaks=tables.breaks(result),
        ledger=tables.ledger(result),
        identities="".join(_identity(result, identity) for identity in IDENTITIES),
        flow=drawn.flow(result),
        waits=drawn.waits(result),
        told=drawn.told(result),
        migration=drawn.migration(result),
        losses=drawn.losses(result) + _checked_paragraph(result.checked),
        again=_told(result.told) + _again(result.published_again),
        seals=tables.seals(result.provenance),
    )


def _identity(result: Result, identity: Identity) -> str:
    table = tables.identity_table(result, identity)
    several = result.log_facts["runs"] and result.log_facts["runs"] > 1
    title = f"{TITLES[identity]}{', run by run' if several else ''}"
    return f'<h2 id="{identity.name}">{title}</h2><p>{tables.RULES[identity]}</p>{table}'


def _ran(ran: Ran) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in ran.versions.items())
    began, took = moment(int(ran.began_s * 1000)), ran.ended_s - ran.began_s
    facts = (
        ("", "Reconciled by", ran.who),
        ("", "When (UTC)", f"{began}, in {took:.0f} s"),
        (' class="half"', "With", versions),
        (' class="half"', "Bounds", ran.bounds),
    )
    return "".join(
        f"<div{style}><dt>{name}</dt><dd>{escape(printable(value))}</dd></div>"
        for style, name, value in facts
    )


def _runs(facts: Row) -> str:
    first, last = facts["first_run"], facts["last_run"]
    return (
        f"{number(facts['runs'])} ({first} to {last})" if facts["runs"] > 1 else f"{first or '-'}"
    )


def _covers(result: Result) -> str:
    """What the verdict is about, and whether it can change."""
    facts = result.log_facts
    if not facts["records"]:
        return "No record could be read."
    window = (
        f"It covers records {number(facts['first_sequence'])} to "
        f"{number(facts['last_sequence'])}, {moment(facts['first_time_ms'])} to "
        f"{moment(facts['last_time_ms'])} UTC"
    )
    state = "final: the last run ended in order" if result.final else "provisional"
    return f"{window}, and is {state}."


def _sentence(result: Result) -> str:
    begins = f" It begins {told}." if (told := _begins(result)) else ""
    if not result.balanced and not result.classes:
        return (
            "Nothing was found that is wrong. What does not add up cannot be proven, since not all "
            f"records can be read: {unproven_in_words(result)}.{begins}"
        )
    if not result.balanced:
        found = sum(result.classes.values())
        unproven = ""
        if result.unproven:
            unproven = (
                " What else does not add up cannot be proven, since not all records can be read: "
                f"{unproven_in_words(result)}.{begins}"
            )
        if found == 1:
            return f"One break was found, listed below with its message or its place.{unproven}"
        listed = "breaks were found, listed below with their messages or places"
        return f"{number(found)} {listed}.{unproven}"
    rest = begins + _gone(result.sums[QUEUE.name])
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
