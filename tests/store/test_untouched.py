"""What others do to the files of an open store is noticed, and nothing that SQLite does itself."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stores import scratch

from gateway.audit.ends import LogEnd, LogEnds
from gateway.errors import StoreError
from gateway.store.database import Database

ROW = b"x" * 20_000
WAL = "store.sqlite-wal"


def opened(directory: Path) -> Database:
    """With a row in the file, and ten in the WAL, of which a look knows."""
    database = Database(directory / "store.sqlite")
    database.started(1)
    database.commit(1, ROW, {})
    database.checkpoint()
    for number in range(2, 12):
        database.commit(number, ROW, {})
    database.look_inside()
    return database


def cut(directory: Path, name: str, share: float) -> None:
    path = directory / name
    os.truncate(path, int(path.stat().st_size * share))


def overwrite(directory: Path, name: str) -> None:
    with (directory / name).open("r+b") as file:
        file.write(b"\0" * 100)


HARM: list[tuple[str, Callable[[Path], None]]] = [
    (WAL, lambda directory: cut(directory, WAL, 0)),
    (WAL, lambda directory: cut(directory, WAL, 0.5)),
    (WAL, lambda directory: overwrite(directory, WAL)),
    ("store.sqlite", lambda directory: cut(directory, "store.sqlite", 0)),
    ("store.sqlite", lambda directory: cut(directory, "store.sqlite", 0.5)),
    ("store.sqlite", lambda directory: overwrite(directory, "store.sqlite")),
]


def test_an_earlier_wal_in_the_place_of_this_one_is_missed_before_the_checkpoint(
    tmp_path: Path,
) -> None:
    database = opened(tmp_path)
    earlier = (tmp_path / WAL).read_bytes()
    database.checkpoint()
    for number in range(12, 20):
        database.commit(number, ROW, {})
    with (tmp_path / WAL).open("r+b") as file:
        file.write(earlier)
    with pytest.raises(StoreError, match="written over"):
        database.checkpoint()
    database.close()


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(("name", "harm"), HARM)
def test_a_file_that_is_cut_off_or_written_over_is_missed_whatever_is_written_behind(
    tmp_path: Path, name: str, harm: Callable[[Path], None], goes_on: bool
) -> None:
    database = opened(tmp_path)
    harm(tmp_path)
    if goes_on:
        for number in range(12, 40):
            database.commit(number, ROW, {})
    for _ in range(50):  # as often as it is tried again
        with pytest.raises(StoreError, match=f"{name} has been cut off or written over") as raised:
            database.look_inside()
        assert raised.value.cause == "gone"
    database.close()


def test_an_older_copy_over_the_file_is_missed_until_the_right_one_is_back(tmp_path: Path) -> None:
    database = opened(tmp_path)
    path = tmp_path / "store.sqlite"
    shutil.copyfile(path, tmp_path / "older")
    database.checkpoint()
    shutil.copyfile(path, tmp_path / "right")
    shutil.copyfile(tmp_path / "older", path)
    with pytest.raises(StoreError, match="has been cut off or written over"):
        database.look_inside()
    shutil.copyfile(tmp_path / "right", path)
    database.look_inside()
    database.close()


def test_a_wal_that_is_cut_before_anything_is_known_of_it_is_missed(tmp_path: Path) -> None:
    database = opened(tmp_path)
    database.checkpoint()
    database.commit(12, ROW, {})
    cut(tmp_path, WAL, 0)
    with pytest.raises(StoreError, match="-wal has been cut off or written over"):
        database.look_inside()
    database.close()


def test_a_hole_is_missed_in_what_was_written_since_the_last_look(tmp_path: Path) -> None:
    database = opened(tmp_path)
    known = (tmp_path / WAL).stat().st_size
    for number in range(12, 22):
        database.commit(number, ROW, {})
    os.truncate(tmp_path / WAL, known + 50_000)
    database.look_inside()  # as if that were all
    database.commit(22, ROW, {})
    with pytest.raises(StoreError, match="-wal has been cut off or written over"):
        database.look_inside()
    database.close()


def test_what_is_not_there_any_more_is_not_copied_into_the_file(tmp_path: Path) -> None:
    database = opened(tmp_path)
    cut(tmp_path, WAL, 0)
    for write in (database.checkpoint, lambda: database.stopped(0)):
        with pytest.raises(StoreError, match="has been cut off or written over"):
            write()
    database.close()
    shutil.copyfile(tmp_path / "store.sqlite", tmp_path / "copy")
    with sqlite3.connect(tmp_path / "copy") as copy:
        assert copy.execute("SELECT number FROM log").fetchall() == [(1,)]


STEPS: dict[str, Callable[[Database, int], None]] = {
    "commit": lambda database, number: database.commit(number, ROW, {(1, str(number)): b"v"}),
    "large": lambda database, number: database.commit(number, 40 * ROW, {}),
    "delete": lambda database, number: database.delete(list(range(number))),
    "remember": lambda database, number: database.remember(
        LogEnds(None, LogEnd(number, 1, number, "a"))
    ),
    "checkpoint": lambda database, _number: database.checkpoint(),
    "shrink": lambda database, _number: database.shrink(lambda: 1 << 40),
    "full": lambda database, number: refused(database, number),
}


def refused(database: Database, number: int) -> None:
    """A disk without any room for a commit, which has come some way."""
    (pages,) = database._db.execute("PRAGMA page_count").fetchone()
    database._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError):
        database.commit(number, 400 * ROW, {(1, "k"): b"v" * 4_000_000})
    database._db.execute(f"PRAGMA max_page_count = {1 << 30}")
    database.checkpoint(shrink=True)
    database.commit(number, ROW, {})


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), max_size=30))
def test_nothing_that_the_store_does_itself_is_taken_for_anothers(
    steps: list[tuple[str, bool]],
) -> None:
    with scratch() as name:
        directory = Path(name)
        database = Database(directory / "store.sqlite")
        database.started(1)
        for number, (step, looks) in enumerate(steps, 1):
            STEPS[step](database, number)
            if looks:
                database.look_inside()
        database.look_inside()
        database.stopped(0)
        database.close()
