"""What a comparison tells people and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from gateway.accounting.comparing.sides import HERE, THERE
from gateway.accounting.comparing.verdicts import BUCKETS, MISSING, NO_TIME, Verdict
from gateway.accounting.telling.words import moment, number
from gateway.audit.printable import printable
from gateway.audit.schema import unsigned
from gateway.audit.story import command

if TYPE_CHECKING:
    from gateway.accounting.comparing.job import Compared, Side
    from gateway.accounting.telling.ran import Ran

LISTED: Final = 10  # on the terminal
TOLD: Final = (  # what is told if there is any, in this order, and how
    (Verdict.MISSING_THERE, "missing there"),
    (Verdict.MISSING_HERE, "missing here"),
    (Verdict.DIFFERENT, "different"),
    (Verdict.NOT_PROVEN, "cannot be proven, for want of records"),
    (Verdict.NOT_YET_THERE, "not there yet: newer than the end of that side"),
    (Verdict.NOT_YET_HERE, "not here yet: newer than the end of this side"),
    (Verdict.BEFORE, "older than the log of the side that lacks them"),
    (Verdict.IN_DOUBT, "in doubt on one side, and unknown to the other"),
)


def headline(found: Compared) -> str:
    """The verdict."""
    if not found.matched:
        return "not matched"
    told = "matched" if found.counts.get(Verdict.MATCHED) else "nothing to match"
    return f"{told} so far" if found.open else told


def summary(found: Compared, report: str) -> str:
    """A few lines for a terminal."""
    things = "queues" if found.by_queue else "ids"
    lines = [f"{headline(found)}: {found.here.name} and {found.there.name}"]
    lines += [f"  here     {_side(found.here)}", f"  there    {_side(found.there)}"]
    lines.append(f"  {things:<8} {', '.join(_counts(found))}")
    lines += [f"  age      {each}" for each in _ages(found)]
    lines += [f"  note     {each}" for each in notes(found)]
    lines += [f"  {row_text(found, row)}" for row in found.listed[:LISTED]]
    if found.differing > LISTED:
        lines.append(f"  and {number(found.differing - LISTED)} more")
    lines.append(f"  report   {report}")
    return "\n".join(printable(line) for line in lines)


def _side(side: Side) -> str:
    told = [f"{number(side.messages)} {side.of}"]
    if side.without_id:
        told.append(f"{number(side.without_id)} without an id, which nobody can compare")
    if side.ends_ms:
        told.append(f"until {moment(side.ends_ms)} UTC")
    return ", ".join(told)


def _counts(found: Compared) -> Iterator[str]:
    matched = found.counts.get(Verdict.MATCHED, 0)
    unsure = f" ({number(found.unsure)} of them sent again or turned away)" if found.unsure else ""
    yield f"{number(matched)} matched{unsure}"
    for verdict, text in TOLD:
        if found.counts.get(verdict):
            passed = ", which may be" if verdict in found.let_pass else ""
            yield f"{number(found.counts[verdict])} {text}{passed}"


def _ages(found: Compared) -> Iterator[str]:
    """How long the other side has had the time to have what is missing."""
    for verdict in MISSING.values():
        ages = found.ages.get(verdict, {})
        if set(ages) - {NO_TIME}:
            told = [f"{number(ages[each])} {each}" for each in BUCKETS if each in ages]
            yield f"{verdict}: {', '.join(told)}"


def notes(found: Compared) -> Iterator[str]:
    """What is to be known of how sure it is."""
    for side in (found.here, found.there):
        for log in side.logs:
            if log.missing or log.flawed:
                gap = f"is damaged, records that are missing: {number(log.missing)}"
                yield f"{log.path}: {gap}; `reconcile` says where"
            if log.old:
                told = "before schema version 4 what left has no id, and those of 0-10 are others"
                yield f"{log.path}: {told}"
        if side.unread:
            told = "lines not read, for their id, their count or their columns"
            yield f"{side.name}: {told}: {number(side.unread)}"
        if side.timeless:
            yield f"{side.name}: lines whose time is none: {number(side.timeless)}"
    if found.wrong and found.matched:
        yield f"messages that disagree, which is tolerated: {number(found.wrong)}"


def row_text(found: Compared, row: dict[str, Any]) -> str:  # Any: a cell of a result
    """What is to be said of one id, or one queue, and what to type for its story."""
    verdict = f"{row['verdict']}: "
    counts = f"{_times(row, HERE)} here, {_times(row, THERE)} there"
    if found.by_queue:
        return f"{verdict}queue {row['queue']}, {counts}"
    told = [_whose(row), counts]
    if row["verdict"] == Verdict.DIFFERENT:
        told.append(f"by {row['why']}")
    first = [row[f"{side}_first_ms"] for side in (HERE, THERE) if row[f"{side}_first_ms"]]
    if first:
        told.append(f"{moment(min(first), exact=True)} UTC")
    typed = trace(found, row)
    return f"{verdict}{', '.join(told)}{f'; {typed}' if typed else ''}"


def _times(row: dict[str, Any], side: str) -> str:  # Any: as above
    surely, at_most = row[side], row[f"{side}_at_most"]
    return number(surely) if surely == at_most else f"{number(surely)} to {number(at_most)}"


def _whose(row: dict[str, Any]) -> str:  # Any: as above
    if row["text"] is not None:
        return f"id {row['text']}"
    return f"id with digest {unsigned(row['id_digest']):016x}"


def trace(found: Compared, row: dict[str, Any]) -> str:  # Any: as above
    """What tells the story of the message in a log that has it; empty: no log, or several."""
    for side, name in ((found.here, HERE), (found.there, THERE)):
        if row[f"{name}_message"] is not None:
            return command(side.logs[row[f"{name}_log"]].path, message=row[f"{name}_message"])
    return ""


def as_json(found: Compared, ran: Ran) -> dict[str, Any]:  # Any: what JSON holds
    """All of it."""
    return {
        "verdict": headline(found),
        "matched": found.matched,
        "final": not found.open,
        "ended_s": round(ran.ended_s, 3),
        "ran": asdict(ran),
        "compared": "queues" if found.by_queue else "ids",
        "sides": {HERE: _side_as_json(found.here), THERE: _side_as_json(found.there)},
        "counts": {str(verdict): count for verdict, count in found.counts.items()},
        "sent_again_or_turned_away": found.unsure,
        "disagreeing_messages": found.wrong,
        "ages": {str(verdict): ages for verdict, ages in found.ages.items()},
        "notes": list(notes(found)),
        "differing": [_row_as_json(found, row) for row in found.listed],
    }


def _side_as_json(side: Side) -> dict[str, Any]:  # Any: what JSON holds
    told = side._asdict()
    told["logs"] = [log._asdict() for log in side.logs]
    return told


def _row_as_json(found: Compared, row: dict[str, Any]) -> dict[str, Any]:  # Any: as above
    told = {name: value for name, value in row.items() if value is not None}
    if not found.by_queue:
        told["id_digest"] = f"{unsigned(row['id_digest']):016x}"
    return told | {"trace": trace(found, row)}
