"""Closed books of a log, as they are made of it one behind the other while it goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest
from pyarrow import parquet
from support.audit_logs import ScriptedGateway
from support.closed_books import close, close_log
from support.keys import Key

from gateway.accounting import __main__ as program
from gateway.accounting import session
from gateway.accounting.closing import check_state, closed, in_words, planned
from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.state.folder import Covered, Folder, State
from gateway.accounting.state.opening import OPENING as OPENED
from gateway.accounting.state.opening import Beginning, opened
from gateway.accounting.steps.breaks import COLUMNS
from gateway.accounting.steps.identities import IDENTITIES
from gateway.accounting.telling import ran
from gateway.accounting.telling.report import html_page, summary
from gateway.audit.books import (
    BREAKS,
    CLOSING,
    OPEN_ITEMS,
    OPENING,
    BookError,
    book_path,
    book_paths,
    table_path,
)
from gateway.audit.elsewhere import take_books
from gateway.audit.ends import LogEnd, beginning, last_sequence_of, log_id_in
from gateway.audit.provenance import Provenance
from gateway.audit.reader import segment_paths
from gateway.audit.retention import Policy, Retention, remove
from gateway.audit.schema import segment_numbers
from gateway.audit.shelf import Shelf


class Closing:
    """A log that grows, and its books."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log, self.books = directory / "audit", directory / "books"
        self.state, self.out = directory / "state", directory / "out"
        self.gateway = ScriptedGateway(self.log, segment_octets=2000)
        self.waiting: list[int] = []

    def grow(self, messages: int = 20) -> None:
        gateway = self.gateway
        for _ in range(messages):
            self.waiting.append(gateway.publish("orders"))
            if len(self.waiting) > 7:
                gateway.consume("orders", self.waiting.pop(0))
            gateway.turn()
        gateway.checkpoint()

    def lose(self) -> int:
        lost = self.waiting.pop()
        self.gateway.lose("orders", lost)
        return lost

    def close(self, *options: object) -> int:
        arguments = [f"--books={self.books}", f"--state={self.state}", f"--out={self.out}"]
        return program.main(["close", str(self.log), *arguments, *map(str, options)])

    @property
    def shelf(self) -> Shelf:
        shelf = Shelf(self.books)
        shelf.look()
        assert shelf.problem == ""
        return shelf

    def table(self, number: int, name: str) -> list[dict]:
        path = book_path(self.books, number)
        (book,) = [each for each in self.shelf.books() if each.number == number]
        lines = table_path(path, book, name).read_text().splitlines()
        assert len(lines) == book.tables[name].rows
        return [json.loads(line) for line in lines]

    def let_go(self) -> int:
        """What may go by the books goes, as the gateway does it; the last one's number."""
        retention, gateway = Retention(self.log), self.gateway
        retention.read_books(self.books, None)
        paths = segment_paths(self.log)
        standing = retention.look(
            Policy(keep_age_ms=1),
            log=log_id_in(self.log),
            first=beginning(self.log),
            last=LogEnd(last_sequence_of(paths), segment_numbers(paths[-1].name)[0], 0, ""),
            now_ms=gateway.now_ms + 1_000_000,
        )
        gone = standing.departing
        assert gone is not None
        gateway.log.let_go(
            gateway.now_ms,
            first_segment=gone.first_segment,
            last_segment=gone.last_segment,
            first_sequence=gone.first_sequence,
            last_sequence=gone.last_sequence,
            sha256=gateway.log.passing(gone.sha256),
            book=gone.book,
            archive=0,
        )
        gateway.turn()
        remove([path for path in paths if segment_numbers(path.name)[0] <= gone.last_segment])
        return gone.last_segment


@pytest.fixture(scope="module", autouse=True)
def one_session(spark) -> Iterator[None]:
    """All jobs of these tests are in the one session that there is."""

    @contextmanager
    def one(*_arguments: object, **_memory: object) -> Iterator:
        yield spark

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session, "spark_session", one)
        yield


@pytest.fixture
def closing(tmp_path) -> Closing:
    return Closing(tmp_path)


@pytest.fixture(scope="module")
def story(spark, tmp_path_factory) -> SimpleNamespace:
    """Closed, let go, closed again, which a kill ended once, and let go again."""
    closing = Closing(tmp_path_factory.mktemp("closing"))
    key, private = Key(), closing.directory / "books.key"
    private.write_bytes(key.private)
    told = SimpleNamespace(closing=closing, key=key, private=private)
    closing.grow()
    closing.gateway.deliver("orders", closing.waiting[0])
    told.waiting = list(closing.waiting)
    for _ in range(20):  # so that what is known of it is in closed segments
        closing.gateway.publish("more")
        closing.gateway.turn()
    told.there = [sha256(path.read_bytes()).hexdigest() for path in segment_paths(closing.log)[:-1]]
    told.last_sequence = last_sequence_of(segment_paths(closing.log)[:-1])
    told.codes = [closing.close(f"--key={private}")]
    told.nothing_new = closing.close()
    told.after_nothing_new = len(book_paths(closing.books))
    closing.waiting.pop(0)
    closing.grow()
    closing.gateway.stop()
    closing.gateway.start()
    closing.grow()
    told.went = [closing.let_go()]
    out = closing.waiting.pop(0)  # over the cut
    closing.gateway.deliver("orders", out)
    with pytest.MonkeyPatch.context() as killed:

        def dies(*_arguments: object) -> None:
            raise KeyboardInterrupt

        killed.setattr(Path, "rename", dies)
        told.killed = closing.close()
    (closing.books / "new-0123").mkdir()
    told.in_state = len(Folder(closing.state).read().segments)
    told.after_kill = len(book_paths(closing.books))
    told.codes.append(closing.close(f"--key={private}"))
    told.newest = segment_numbers(segment_paths(closing.log)[-1].name)[0]
    told.went.append(closing.let_go())
    told.public = closing.directory / "books.pem"
    told.public.write_bytes(key.public)
    told.trusted = closing.close(f"--trust={told.public}", f"--key={private}")
    closing.gateway.accept("orders", out)
    closing.grow()
    told.in_the_end = reconcile(
        spark, closing.log, closing.directory / "whole", state=Folder(closing.state)
    )
    told.held = sum(map(len, closing.gateway.held.values()))
    told.by_books = by_books(spark, closing)
    arguments = [f"--books={closing.books}", f"--out={closing.out}"]
    told.code = program.main(["reconcile", str(closing.log), *arguments])
    told.by_itself = reconcile(spark, closing.log, closing.directory / "by-itself")
    return told


def by_books(spark, closing: Closing) -> Result:
    """What a run says that has no state, but the books."""
    known, out = Provenance(), closing.directory / "by-books"
    assert take_books(known, closing.books, log_id_in(closing.log)) == []
    with opened(closing.log, closing.books, known, None, out) as opening:
        result = reconcile(spark, closing.log, out, known, opening=opening)
    assert not (out / OPENED).exists()
    return result


def said(result: Result) -> dict:
    keys = ("class", "message", "node", "sequence", "since", "count", "detail", "proven")
    return {
        "breaks": sorted(str([row[key] for key in keys]) for row in result.breaks),
        "sums": result.sums,
        "runs": result.incarnations,
        "queues": result.queues,
        "outlets": result.outlets,
        "routes": result.routes,
        "records": result.log_facts["records"],
    }


def test_a_book_covers_all_that_is_closed_as_it_is(story):
    first, _second = story.closing.shelf.books()
    assert (first.number, first.first_segment, first.first_sequence) == (1, 1, 1)
    assert [each.sha256 for each in first.segments] == story.there
    assert first.last_sequence == story.last_sequence
    assert (first.balanced, first.final, dict(first.classes)) == (True, False, {})
    assert first.sums["queues.depth"] == len(story.closing.table(1, OPEN_ITEMS))


def test_where_nothing_new_is_closed_no_book_is_written(story):
    assert (story.nothing_new, story.after_nothing_new) == (0, 1)


def test_the_next_book_opens_with_what_the_one_before_closed_with(story):
    first, second = story.closing.shelf.books()
    assert story.codes == [0, 0]
    assert (second.number, second.first_segment) == (2, first.last_segment + 1)
    assert (second.last_segment, second.balanced) == (story.newest - 1, True)
    assert story.closing.table(1, OPENING) == []
    assert story.closing.table(2, OPENING) == story.closing.table(1, CLOSING)


def test_the_log_may_go_behind_the_books_and_is_balanced_without(story):
    assert story.went == [book.last_segment for book in story.closing.shelf.books()]
    assert story.in_the_end.balanced


def test_without_a_state_what_follows_opens_with_what_the_last_book_closed_with(story):
    assert (story.by_books.balanced, story.code) == (True, 0)
    assert said(story.by_books) == said(story.in_the_end)
    assert story.by_books.sums["queues"]["depth"] == story.held
    (line,) = [each for each in told_lines(story.by_books) if each.startswith("begins")]
    last = story.closing.shelf.last
    assert line == (
        f"begins   with what book 2 closed with, of segments {last.first_segment} to "
        f"{last.last_segment} and all before them, records to {last.last_sequence}"
    )


def test_without_books_it_says_what_it_begins_with_and_counts_nothing_that_nobody_can_know(story):
    result = story.by_itself
    assert (result.balanced, result.classes) == (False, {})
    assert result.unproven
    first = result.log_facts["first_sequence"]
    assert result.beginning == Beginning(None, first, "no closed books are given")
    assert [result.sums[of.name][of.rest] for of in IDENTITIES] == [None, None, None]
    lines = told_lines(result)
    assert lines[0] == f"not proven so far: {story.closing.log}"
    assert f"begins   with record {first}; what was open then is not known: no closed books" in (
        "\n".join(lines)
    )
    assert "-" not in "".join(each for each in lines if each.startswith(("queues", "outlets")))
    assert "Nothing was found that is wrong. What does not add up cannot be" in html_page(result)


def test_what_books_know_is_wrong_is_told_behind_them_once(spark, closing):
    closing.grow()
    known = closing.lose()
    closing.gateway.publish("more", durable=False)  # which goes with its run
    closing.grow()
    closing.gateway.stop()
    closing.gateway.start()
    closing.grow()
    assert closing.close() == 1
    last = closing.shelf.last.last_segment
    new = closing.lose()
    closing.grow()
    with_state = reconcile(
        spark, closing.log, closing.directory / "whole", state=Folder(closing.state)
    )
    for path in segment_paths(closing.log)[:last]:
        path.unlink()
    result = by_books(spark, closing)
    assert {known, new} == {row["message"] for row in result.breaks}
    assert said(result) == said(with_state)


def told_lines(result: Result) -> list[str]:
    return [line.strip() for line in summary(result, "report.html").splitlines()]


def test_what_a_kill_leaves_between_state_and_book_is_gone_on_from(story):
    assert (story.killed, story.after_kill) == (3, 1)
    assert story.in_state == story.newest - 1


def test_a_book_is_signed_by_the_key_that_is_given(story, capsys):
    shelf = Shelf(story.closing.books, story.key.trusted())
    shelf.look()
    assert (shelf.problem, shelf.last.number) == ("", 2)
    assert story.closing.close(f"--trust={story.public}") == 3
    assert "the book would be not signed, which --trust does not take" in capsys.readouterr().err
    assert story.trusted == 0


def test_a_book_closes_with_what_every_queue_outlet_and_route_has(story):
    rows = {(row["what"], row["name"]): row for row in story.closing.table(1, CLOSING)}
    assert set(rows) == {
        *(("queue", "orders"), ("queue", "more"), ("outlet", 7), ("route", "amq.direct"))
    }
    assert (rows["queue", "orders"]["depth"], rows["queue", "orders"]["incarnation"]) == (7, 1)
    assert rows["queue", "orders"]["entered"] == 20
    assert (rows["outlet", 7]["unsettled"], rows["outlet", 7]["node"]) == (1, "orders")
    assert rows["route", "amq.direct"]["pending"] == 0
    items = story.closing.table(1, OPEN_ITEMS)
    assert [each["message"] for each in items if each["node"] == "orders"] == story.waiting
    assert len(items) == rows["queue", "orders"]["depth"] + rows["queue", "more"]["depth"]
    names = {"durable", "entered_ms", "entered_sequence", "incarnation", "message", "node"}
    assert set(items[0]) == {*names, "position"}


def test_what_is_lost_or_missing_makes_a_book_that_is_not_balanced_and_its_segments_stay(
    closing, capsys
):
    closing.grow()
    lost = closing.lose()
    closing.grow()
    closing.grow()
    segment_paths(closing.log)[1].unlink()
    assert closing.close() == 1
    book = closing.shelf.last
    assert not book.balanced
    assert {"LOST", "LOG_GAP"} <= {name.split(",")[0] for name in book.classes}
    assert [each.sha256 == "" for each in book.segments][:3] == [False, True, False]
    assert ", not balanced, not signed: " in capsys.readouterr().out
    retention = Retention(closing.log)
    retention.read_books(closing.books, None)
    standing = retention.look(
        Policy(keep_age_ms=1),
        log=log_id_in(closing.log),
        first=beginning(closing.log),
        last=LogEnd(1, book.last_segment + 1, 0, ""),
        now_ms=closing.gateway.now_ms + 1_000_000,
    )
    assert standing.departing is None
    assert standing.why.startswith("book 1 is not balanced")
    known = closing.table(1, BREAKS)
    assert lost in {row["message"] for row in known}
    again = closing.lose()
    closing.grow()
    closing.grow()
    assert closing.close() == 1
    assert dict(closing.shelf.last.classes) == {"LOST": 1}  # what was known is of book 1
    both = closing.table(2, BREAKS)
    assert {lost, again} <= {row["message"] for row in both}
    assert len(both) == len(known) + 1


def test_what_does_not_go_together_is_refused_in_a_sentence(closing, capsys):
    closing.grow()

    def refused() -> str:
        assert closing.close() == 3
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        return err

    close(closing.books, 1, 2)
    assert "book 1 is of another log, with id" in refused()
    shutil.rmtree(closing.books)
    close_log(closing.books, closing.log, 1, 2)
    assert "reaches segment number 0, and book 1 covers to number 2" in refused()
    newest = len(segment_paths(closing.log))
    for path in segment_paths(closing.log)[1:]:
        path.rename(path.with_suffix(".aside"))
    assert f"and {closing.log} ends with number 1: its end is gone" in refused()
    for path in closing.log.glob("*.aside"):
        path.rename(path.with_suffix(".audit"))
    assert len(segment_paths(closing.log)) == newest
    (book_path(closing.books, 1) / "closing.jsonl").write_text("")
    assert "book 1: its table closing is not what it was" in refused()
    assert len(book_paths(closing.books)) == 1


def test_a_state_that_has_other_segments_or_goes_further_is_refused(closing):
    closing.grow()
    close_log(closing.books, closing.log, 1, 2)
    plan = planned(closing.log, closing.books, Provenance(), None)
    names = [path.name for path in segment_paths(closing.log)]
    other = State(segments=tuple(Covered(name, 1, "0" * 64) for name in names[:2]))
    with pytest.raises(BookError, match="has another segment number 2 than book 1"):
        check_state(plan, other, Path("state"))
    further = State(segments=tuple(Covered(name, 1, "0" * 64) for name in names))
    with pytest.raises(BookError, match="has gone beyond segment"):
        check_state(plan, further, Path("state"))


class Empty:
    """A state's directory in which nothing is yet."""

    def read(self) -> State:
        return State()


NO_STATE = Empty()


def broken(name: str, sequence: int, **said: object) -> dict:
    return (
        dict.fromkeys(COLUMNS)
        | {"class": name, "count": 1, "proven": True, **said}
        | {"sequence": sequence}
    )


def found_in(closing: Closing, *breaks: dict, half: str = "") -> SimpleNamespace:
    """What Spark leaves of a log with these breaks, as far as a book is made of it."""
    rows = [
        {
            "segment": path.name,
            "incarnation": 1,
            "sha256": "0" * 64,
            "first_sequence": number,
            "last_sequence": number,
            "first_time_ms": 1,
            "last_time_ms": 2,
        }
        for number, path in enumerate(segment_paths(closing.log)[:-1], start=1)
    ]
    for table, content in (("segments", rows), ("breaks", list(breaks))):
        shutil.rmtree(closing.out / table, ignore_errors=True)
        (closing.out / table).mkdir(parents=True)
        if content:
            made = pyarrow.Table.from_pylist(content)
            parquet.write_table(made, closing.out / table / "part-00000.parquet")
    return SimpleNamespace(half=half, final=False, sums={}, incarnations=[])


def test_what_cannot_be_proven_and_half_a_block_at_the_end_are_no_balance(closing, tmp_path):
    closing.grow()
    plan = planned(closing.log, closing.books, Provenance(), None)
    found = found_in(closing, broken("LOST", 3, count=2, proven=False), half="block 5")
    book = closed(plan, found, closing.out, tmp_path, ran.here(1, 2, ""), NO_STATE)
    assert not book.balanced
    assert book.classes == {"LOST, cannot be proven": 2, "LOG_GAP": 1}
    covered = len(segment_paths(closing.log)) - 1
    assert (book.last_sequence, book.from_ms, book.until_ms) == (covered, 1, 2)


def test_what_a_book_before_has_is_no_more_in_the_verdict(closing, tmp_path):
    closing.grow()
    unproven = broken("LOST", 3, message=7, node="orders", proven=False)
    stuck = broken("STUCK", 4, message=8, node="orders", incarnation=1)
    told = []
    for breaks in (
        [unproven, stuck],
        [
            unproven | {"count": 3},
            stuck | {"sequence": 50, "incarnation": 2, "detail": "for longer"},
        ],
        [unproven | {"proven": True}, stuck],
    ):
        plan = planned(closing.log, closing.books, Provenance(), None)
        found = found_in(closing, *breaks)
        book = closed(plan, found, closing.out, tmp_path, ran.here(1, 2, ""), NO_STATE)
        told.append((dict(book.classes), in_words(book).split(", ")[2]))
        closing.grow()
    assert told == [
        ({"LOST, cannot be proven": 1, "STUCK": 1}, "not balanced"),
        ({}, "balanced beside 2 breaks that were known"),
        ({"LOST": 1}, "not balanced"),
    ]


@pytest.mark.parametrize("text", ["{}", "[" * 100_000])
def test_a_table_of_breaks_that_cannot_be_read_is_told(closing, tmp_path, text):
    closing.grow()
    plan = planned(closing.log, closing.books, Provenance(), None)
    closed(plan, found_in(closing), closing.out, tmp_path, ran.here(1, 2, ""), NO_STATE)
    closing.grow()
    plan = planned(closing.log, closing.books, Provenance(), None)
    (book_path(closing.books, 1) / "breaks.jsonl").write_text(text)
    with pytest.raises(BookError, match="book 1: cannot read its table breaks"):
        closed(plan, found_in(closing), closing.out, tmp_path, ran.here(1, 2, ""), NO_STATE)


@pytest.mark.parametrize(
    ("content", "told"), [(None, "cannot read"), (b"no key", "there is no private key in it")]
)
def test_a_key_that_is_none_is_told_before_anything_is_read(
    closing, tmp_path, capsys, content, told
):
    closing.grow(1)
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    assert closing.close(f"--key={tmp_path / 'key'}") == 3
    assert told in capsys.readouterr().err
