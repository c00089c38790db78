"""Copies that are sent again when they had left long ago, and the first of their records are gone.

The log is packed by hand; a state, or a closed book, has read all of it but what is planted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.whole_log import WholeLog

from gateway.accounting import __main__ as program
from gateway.accounting import session
from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.state.folder import Folder
from gateway.accounting.state.opening import opened
from gateway.audit.elsewhere import take_books
from gateway.audit.ends import log_id_in
from gateway.audit.provenance import Provenance
from gateway.audit.reader import segment_paths

OUTLET = 9


class Growing(WholeLog):
    """Messages 1 to 6 come in the first segment, and leave in the first, second and third."""

    def grow(self) -> None:
        self.begin()
        self.declare("q")
        for message in range(1, 7):
            self.publish(message, "q", link=1)
        self.tell(1)
        self.take("q", 1, OUTLET)
        self.take("q", 2, OUTLET)
        self.cut()
        self.take("q", 3, OUTLET)
        self.take("q", 4, OUTLET)
        self.cut()
        self.take("q", 5, OUTLET)
        self.say()
        self.cut()
        self.say()
        self.cut()

    def plant(self, *messages: int) -> None:
        """Some are taken again, and the first is in its queue again."""
        for message in messages:
            self.held["q"][message] = ""
            self.take("q", message, OUTLET)
        self.enter(1, "q", "q")
        self.stop()


AGAIN = [("DUPLICATE", 1), ("DUPLICATE", 2), ("DUPLICATE", 4)]


def told(result: Result) -> tuple[dict[str, int], list[tuple]]:
    rows = result.breaks
    assert {row["class"] for row in rows} <= set(result.classes)
    return result.unproven, sorted((row["class"], row["message"]) for row in rows)


def close(spark, log: Path, scratch: Path) -> None:
    """A book of all that there is by now."""

    @contextmanager
    def one(*_arguments: object, **_memory: object) -> Iterator:
        yield spark

    names = ("books", "state of books", "out of books")
    books, state, out = (scratch / name for name in names)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session, "spark_session", one)
        options = (f"--books={books}", f"--state={state}", f"--out={out}")
        assert program.main(["close", str(log), *options]) == 0


def by_book(spark, log: Path, scratch: Path) -> Result:
    known, out = Provenance(), scratch / "behind the book"
    assert take_books(known, scratch / "books", log_id_in(log)) == []
    with opened(log, scratch / "books", known, None, out) as opening:
        assert opening is not None
        return reconcile(spark, log, out, known, opening=opening)


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory) -> SimpleNamespace:
    """By the whole log, and by the state and the book when the first segment is gone."""
    scratch: Path = tmp_path_factory.mktemp("again")
    log, state = Growing(scratch / "log"), Folder(scratch / "state")
    log.grow()
    assert reconcile(spark, log.directory, scratch / "before", state=state).balanced
    close(spark, log.directory, scratch)
    log.plant(2, 4)
    whole = reconcile(spark, log.directory, scratch / "whole")
    segment_paths(log.directory)[0].unlink()
    return SimpleNamespace(
        whole=whole,
        behind=reconcile(spark, log.directory, scratch / "behind", state=state),
        by_book=by_book(spark, log.directory, scratch),
    )


def test_they_have_left_twice_as_the_whole_log_says(found):
    assert told(found.whole) == ({}, AGAIN)


def test_nothing_is_called_wrong_of_what_is_left_of_their_earlier_steps(found):
    unproven, rows = told(found.behind)
    gap = ("LOG_GAP", None)  # nobody has said that the segment may go
    assert (unproven, [row for row in rows if row != gap]) == ({}, AGAIN)


def test_behind_a_closed_book_alone_the_same_is_told(found):
    assert told(found.by_book) == ({}, AGAIN)
