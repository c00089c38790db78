"""What a run begins with whose log has let segments go; test_closing tells that it is right."""

import json
from pathlib import Path

import pytest
from support.audit_logs import balanced_log
from support.closed_books import book_of_log, tables_in
from support.results import broken, found

from gateway.accounting.state.folder import Covered, Folder, Said, State, StateError, in_text
from gateway.accounting.state.opening import OPENING, PARTS, RECORDS, Beginning, opened, why_none
from gateway.accounting.steps.ages import WAITS
from gateway.accounting.steps.breaks import COLUMNS
from gateway.accounting.telling.report import summary
from gateway.audit.books import BREAKS, STATE, BookError, book_path
from gateway.audit.ends import log_id_in
from gateway.audit.provenance import Provenance
from gateway.audit.reader import segment_paths
from gateway.audit.shelf import NewTable, Shelf, write


class Begun:
    """A log whose first three segments have gone, and a book of the first four."""

    def __init__(
        self, directory: Path, *, breaks: int = 0, text: str = "", without: str = ""
    ) -> None:
        self.log, self.work = balanced_log(directory / "log", segment_octets=1000), directory
        self.books = directory / "books"
        state = State(
            log_id_in(self.log),
            0,
            tuple(Covered(path.name, 9, "") for path in segment_paths(self.log)[:4]),
            (Said("1", 77),),
            "2",
        )
        written = {
            STATE: text or in_text(state, {}),
            PARTS: "parts",
            f"{RECORDS}-0": "one",
            f"{RECORDS}-1": "other",
            BREAKS: "".join(
                json.dumps(dict.fromkeys(COLUMNS) | {"class": name, "detail": detail}) + "\n"
                for name, detail in (("LOST", "gone"), ("STUCK", f"{WAITS} for 31 days"))
            ),
        }
        tables = tables_in(directory / "tables")
        for name, content in written.items():
            path = directory / "tables" / f"{name}.parquet"
            path.write_text(content)
            tables[name] = NewTable(path, breaks if name == BREAKS else 1)
        tables.pop(without, None)
        write(self.books, book_of_log(self.log, 1, 4), tables)
        for path in segment_paths(self.log)[:3]:
            path.unlink()

    @property
    def known(self) -> Provenance:
        provenance, shelf = Provenance(), Shelf(self.books)
        shelf.look()
        provenance.take(shelf.books())
        return provenance

    def opened(self, state: Folder | None = None):
        return opened(self.log, self.books, self.known, state, self.work)


def test_a_state_is_made_of_the_book_while_it_is_needed(tmp_path):
    begun = Begun(tmp_path, breaks=1)
    with begun.opened() as opening:
        state = opening.folder.read()
        assert [len(state.segments), state.log] == [4, log_id_in(begun.log)]
        (said,) = state.said
        assert said.last_ms == 77
        made = {path.parent.name: set() for path in (tmp_path / OPENING).glob("*/*")}
        for path in (tmp_path / OPENING).glob("*/*"):
            made[path.parent.name].add(path.read_text())
        assert made == {said.folder: {"parts"}, state.records: {"one", "other"}}
        assert [row["class"] for row in opening.known] == ["LOST"]
    assert not (tmp_path / OPENING).exists()


def test_a_new_state_begins_with_it_and_stays_unless_the_book_has_breaks(tmp_path):
    folder = Folder(tmp_path / "state")
    with Begun(tmp_path / "wrong", breaks=1).opened(folder) as opening:
        assert opening is None
    begun = Begun(tmp_path / "right")
    with begun.opened(folder) as opening:
        assert opening.folder is folder
    assert len(folder.read().segments) == 4
    with begun.opened(folder) as opening:
        assert opening is None


def test_without_need_or_without_a_book_that_says_it_there_is_none(tmp_path):
    begun = Begun(tmp_path / "one", without=STATE)
    with begun.opened() as opening:
        assert opening is None
    assert why_none(begun.known.books, 4).startswith("book 1 was made by a version that left")
    assert why_none(begun.known.books, 9) == "no closed book that covers it is given"
    assert why_none([], 9) == "no closed books are given"
    whole = balanced_log(tmp_path / "whole", segment_octets=1000)
    with opened(whole, begun.books, begun.known, None, tmp_path) as opening:
        assert opening is None


def test_a_log_that_ends_before_the_book_does_has_lost_its_end(tmp_path):
    begun = Begun(tmp_path)
    for path in segment_paths(begun.log)[1:]:
        path.unlink()
    with pytest.raises(BookError, match="ends with number 4: its end is gone"), begun.opened():
        pass


def test_a_table_that_was_changed_and_a_state_of_another_version_are_told(tmp_path):
    begun = Begun(tmp_path / "changed")
    known = begun.known
    (book_path(begun.books, 1) / f"{PARTS}.parquet").write_text("Parts")
    with (
        pytest.raises(BookError, match="its table parts is not what it was"),
        opened(begun.log, begun.books, known, None, tmp_path),
    ):
        pass
    begun = Begun(tmp_path / "other", text='{"form": "1.1"}')
    with pytest.raises(StateError, match=r"book 1: its state is of version 1\.1"), begun.opened():
        pass
    assert not (tmp_path / "other" / OPENING).exists()


def test_what_it_begins_with_is_told_and_what_nobody_can_know_is_no_number():
    sums = found().sums | {"queues": {"entered": 3, "accepted": 5, "depth": None, "rows": 1}}
    late = Beginning(None, 12_001, "no closed books are given")
    unproven = [broken("DUPLICATE", proven=False, since=3)]
    lines = summary(
        found(
            sums=sums,
            beginning=late,
            breaks=unproven,
            unproven={"DUPLICATE": 1},
            stories=found(breaks=unproven).stories,
        ),
        "r",
    ).splitlines()
    assert lines[0].startswith("not proven")
    assert (
        "  begins   with record 12,001; what was open then is not known: no closed books"
        in (lines[2])
    )
    assert "  queues   3 entered, 5 accepted, not known what is still there" in lines
