"""Closed books made of a log: what its closed segments come to, by a reconciliation of these.

`planned` says, before anything is read, what the next book is to cover; `check_state` whether the
state that is gone on from has all of what is before; and `closed` writes it by what was found.
`audit.books` says what a book is. Whatever is in the way is a `BookError` in a sentence.

The sums of a book are of everything up to its last segment, as the state carries it. So are the
breaks in its table; those that are not in that of the book before are its verdict. Spark has
written the tables that the book's are made of.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyarrow import parquet

from gateway import __version__
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.reconcile import OPEN, Result
from gateway.accounting.state.folder import Folder, State
from gateway.accounting.state.opening import Cut, left_in
from gateway.accounting.steps.breaks import IDENTITY, BreakClass
from gateway.accounting.steps.identities import QUEUE
from gateway.accounting.telling.ran import Ran
from gateway.audit import shelf
from gateway.audit.books import (
    BREAKS,
    CLOSING,
    OPEN_ITEMS,
    OPENING,
    SEGMENTS_MAX,
    Book,
    BookError,
    Covered,
    book_path,
    table_path,
)
from gateway.audit.printable import printable
from gateway.audit.provenance import Provenance
from gateway.audit.schema import segment_numbers
from gateway.audit.seals import key_id
from gateway.files.json_text import json_value
from gateway.files.whole import SECRET_MAX, read_regular

MADE_BY_MAX: Final = 255
NOT_PROVEN: Final = "cannot be proven"
# The tables of balances, by what one row of each is about: its name, and what is left of it.
BALANCES: Final = {
    "queue": ("queues", "node", "depth"),
    "outlet": ("outlets", "link", "unsettled"),
    "route": ("routes", "route", "pending"),
}
GONE: Final = ("gone_with_process", "gone_at_stop", "in_doubt")  # in the depth by the terms
NOT_TOLD: Final = ("balanced", "checkpoints", "last_stated")  # by checkpoints, not at the cut

Row = dict[str, Any]  # Any: a cell of a result


class Plan(NamedTuple):
    """The next book.

    Attributes:
        first: the number of the first segment that it covers; 0: that which the log begins with.
        last: of the last one; `until`: its name.
        before: the book before it; `None`: there is none.
        signer: who signs it; `None`: nobody.
    """

    books: Path
    log: str
    first: int
    last: int
    until: str
    before: Book | None
    signer: shelf.SignText | None


def planned(log: Location, books: Path, provenance: Provenance, key: Path | None) -> Plan | None:
    """The next book of that log; `None`: nothing was closed since the last one.

    What the books cover may have been let go: `provenance` knows that then.

    Raises:
        BookError: none can be made.
    """
    paths = location.segments(log)
    numbers = [segment_numbers(path.name)[0] for path in paths]
    signer = None if key is None else _signer(key)
    trust = provenance.trust
    if trust is not None and not (signer is not None and trust.trusts(signer.key)):
        whose = "not signed" if signer is None else f"signed by key {key_id(signer.key)}"
        raise BookError(
            f"the book would be {whose}, which --trust does not take: --key must be of these"
        )
    row = shelf.Shelf(books, trust)
    row.look()
    if row.problem:
        raise BookError(row.problem)
    provenance.take(row.books())
    before, name = row.last, location.log_id(log)
    first = 0 if before is None else before.last_segment + 1
    if not name:
        raise BookError(f"{log} has no id, as of an early version: there are no books of such")
    if before is not None:
        _check_log(log, name, numbers[-1], before)
    if len(numbers) == 1 or numbers[-2] < first:
        return None
    last = numbers[-2]
    if last - (first or numbers[0]) >= SEGMENTS_MAX:
        raise BookError(f"a book covers {SEGMENTS_MAX} segments at most, and there are more")
    return Plan(books, name, first, last, paths[-2].name, before, signer)


def _check_log(log: Location, name: str, newest: int, before: Book) -> None:
    if before.log != name:
        raise BookError(
            f"book {before.number} is of another log, with id {before.log}; that of {log} is {name}"
        )
    if newest < before.last_segment:
        raise BookError(
            f"book {before.number} covers to segment number {before.last_segment}, and {log} ends "
            f"with number {newest}: its end is gone, or it is an older copy"
        )


def _signer(path: Path) -> shelf.SignText:
    try:
        from gateway.audit.signing import Signer  # not everywhere is `cryptography`

        return Signer(read_regular(path, SECRET_MAX))
    except ImportError as error:
        raise BookError(f"a book cannot be signed: {error}") from None
    except OSError as error:
        raise BookError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise BookError(f"{path}: {error}") from None


def check_state(plan: Plan, state: State, where: Location) -> None:
    """BookError unless the state has all that the books cover, and no more than the next."""
    before = plan.before
    there = {segment_numbers(each.name)[0]: each.sha256 for each in state.segments}
    reached = max(there, default=0)
    if reached > plan.last:
        raise BookError(f"the state in {where} has gone beyond segment {plan.last}: run it again")
    if before is None:
        return
    number = before.last_segment
    if reached < number:
        raise BookError(
            f"the state in {where} reaches segment number {reached}, and book {before.number} "
            f"covers to number {number}: `reconcile --state` brings it there, from a log that has "
            "them all"
        )
    if there.get(number, "") != before.segments[-1].sha256:
        raise BookError(
            f"the state in {where} has another segment number {number} than book {before.number}"
        )


def closed(
    plan: Plan, result: Result, out: Location, scratch: Path, ran: Ran, state: Folder
) -> Book:
    """Write the book by what was found of the log up to the last segment of the plan, into `out`.

    `state`: what that run has left, which is in the book, too, as far as it goes to its end.

    Raises:
        BookError: it could not be written.
    """
    classes: dict[str, int] = {}
    breaks = _lines(scratch / "breaks.jsonl", _breaks(out, _known(plan), classes))
    if result.half:  # nothing may write that any more
        gap = str(BreakClass.LOG_GAP)
        classes[gap] = classes.get(gap, 0) + 1
    book = _covering(plan, out)._replace(
        balanced=not classes,
        final=result.final,
        classes={name: max(count, 1) for name, count in classes.items()},
        sums=_sums(result),
        made_ms=int(ran.ended_s * 1000),
        made_by=printable(ran.who)[:MADE_BY_MAX],
    )
    tables = {
        CLOSING: _lines(scratch / "closing.jsonl", _balances(result, out)),
        OPEN_ITEMS: _lines(scratch / "open_items.jsonl", _open_items(out)),
        BREAKS: breaks,
        **_state(plan, result, out, scratch, state),
    }
    if plan.before is None:
        tables[OPENING] = _lines(scratch / "opening.jsonl", ())
    return shelf.write(plan.books, book, tables, plan.signer)


def in_words(book: Book) -> str:
    """What was written."""
    word, known = "not balanced", book.tables[BREAKS].rows
    if book.balanced:
        word = "balanced" + (f" beside {known} breaks that were known" if known else "")
    signed = "not signed: whoever can write the books can write this one"
    if book.key:
        signed = f"signed by key {key_id(book.key)}"
    return (
        f"book {book.number}: segments {book.first_segment} to {book.last_segment}, records "
        f"{book.first_sequence} to {book.last_sequence}, {word}, {signed}"
    )


def _covering(plan: Plan, out: Location) -> Book:
    """What it covers, and nothing else of it yet."""
    there = {segment_numbers(row["segment"])[0]: row for row in _rows(out / "segments")}
    first = plan.first or min(there)
    rows = [there[number] for number in range(first, plan.last + 1) if number in there]
    begun = [row["first_sequence"] for row in rows if row["first_sequence"]]
    begins = plan.before.last_sequence + 1 if plan.before is not None else min(begun, default=1)
    reached, run = begins - 1, plan.before.segments[-1].incarnation if plan.before else 0
    segments: list[Covered] = []
    for number in range(first, plan.last + 1):
        row = there.get(number, {})
        reached = max(reached, row.get("last_sequence") or 0)
        run = row.get("incarnation") or run
        segments.append(Covered(reached, run, row.get("sha256") or ""))
    times = [row[name] for row in rows for name in ("first_time_ms", "last_time_ms") if row[name]]
    return Book(
        log=plan.log,
        first_segment=first,
        first_sequence=begins,
        segments=tuple(segments),
        from_ms=max(min(times, default=0), 0),
        until_ms=max([0, *times]),
        balanced=False,
        final=False,
        classes={},
        sums={},
        made_ms=0,
        made_by="",
        version=__version__,
    )


def _breaks(out: Location, known: set[bytes], classes: dict[str, int]) -> Iterator[Row]:
    """All that there are; `classes` counts those that are not `known`, in copies."""
    for row in _rows(out / "breaks"):
        if _identity(row) not in known:
            name = row["class"] if row["proven"] else f"{row['class']}, {NOT_PROVEN}"
            classes[name] = classes.get(name, 0) + row["count"]
        yield row


def _known(plan: Plan) -> set[bytes]:
    """The breaks that the book before has; none, if it was made by a version that did not say."""
    before = plan.before
    if before is None or BREAKS not in before.tables:
        return set()
    path = table_path(book_path(plan.books, before.number), before, BREAKS)
    try:
        with path.open(encoding="utf-8") as lines:
            return {_identity(json_value(line)) for line in lines}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BookError(f"book {before.number}: cannot read its table {BREAKS}: {error}") from None


def _identity(row: Row) -> bytes:
    """What makes it the same break in a later book, whatever is counted or said of it then.

    Of one that shows in another record each time, as of a message that is stuck still, the message.
    """
    moves = row["class"] == BreakClass.STUCK and row["message"] is not None
    names = [name for name in IDENTITY if not (moves and name == "incarnation")]  # recovered since
    named = [*(row[name] for name in names), row["proven"]]
    said = json.dumps([*named, None if moves else row["sequence"]])
    return blake2b(said.encode(), digest_size=16).digest()


def _sums(result: Result) -> dict[str, int]:
    """Of each identity its terms; not what is below zero, which only breaks can make."""
    return {
        f"{name}.{term}": int(value)
        for name, terms in result.sums.items()
        for term, value in terms.items()
        if term != "rows" and value is not None and value >= 0
    }


def _balances(result: Result, out: Location) -> Iterator[Row]:
    """What each queue, outlet and route has at the cut, and by which terms.

    Of the run that is past its recovery, and of one that is not yet; an outlet that has nothing
    is not told of.
    """
    since = _since(result)
    for what, (table, key, rest) in BALANCES.items():
        for row in _rows(out / table):
            if row["incarnation"] < since:
                continue
            terms = {name: row[name] for name in row if name not in (*NOT_TOLD, "of_node", key)}
            if what == "outlet":
                if not row[rest]:
                    continue
                terms["node"] = row["of_node"]
            terms[rest] -= sum(row.get(name) or 0 for name in GONE)
            yield {"what": what, "name": row[key], **terms}


def _open_items(out: Location) -> Iterator[Row]:
    """Each copy that is in a queue at the cut."""
    for row in _rows(out / OPEN):
        if row.pop("held"):
            yield row


def _since(result: Result) -> int:
    """The run that is past its recovery."""
    opened = [each["incarnation"] for each in result.incarnations if each["opened_sequence"]]
    return max(opened, default=0)


def _state(
    plan: Plan, result: Result, out: Location, scratch: Path, state: Folder
) -> dict[str, shelf.NewTable]:
    """By what a reconciliation goes on from here; none where the run has left no state of it."""
    if state.read().last != plan.until:
        return {}
    facts, depth = result.log_facts, result.sums[QUEUE.name][QUEUE.rest] or 0
    ends = (facts["last_run"] or 0, depth, facts["last_time_ms"] or 0)
    rows = itertools.chain(_rows(out / OPEN), _rows(out / "breaks"))
    messages = (row["message"] for row in rows if row["message"] is not None)
    return left_in(state, Cut(_since(result), messages, *ends), scratch)


def _rows(path: Location) -> Iterator[Row]:
    """Of a table that Spark has written, in its order, a piece at a time."""
    for file in location.tables(path):
        for batch in parquet.ParquetFile(location.opened(file)).iter_batches():
            yield from batch.to_pylist()


def _lines(path: Path, rows: Iterable[Row]) -> shelf.NewTable:
    """A table of JSON lines."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n")
            count += 1
    return shelf.NewTable(path, count)
