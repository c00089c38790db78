"""What one who is not its gateway reads of a store, and that nothing is touched."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from support.stores import one_message

from gateway.audit.ends import NOTHING_KNOWN, LogEnd, LogEnds
from gateway.errors import StoreError
from gateway.store.database import Database
from gateway.store.lock import LOCK_NAME
from gateway.store.log_rows import pack_row
from gateway.store.outside import contents, damage, known
from gateway.store.sqlite import FILE_NAME

ENDS = LogEnds(LogEnd(1, 1, 10, "a"), LogEnd(9, 2, 20, "b"))


def store(directory: Path, *, killed: bool, messages: int = 0) -> None:
    """What a gateway leaves; a killed one, with all of it in the WAL; the first message is gone."""
    directory.mkdir()
    life = directory / "life"
    life.mkdir()
    database = Database(life / FILE_NAME)
    database.remember(ENDS)
    for number in range(1, messages + 1):
        database.commit(number, *row_of(number))
    if killed:
        for path in life.iterdir():
            shutil.copy(path, directory / path.name)
    database.stopped(messages)
    database.close()
    if not killed:
        shutil.copy(life / FILE_NAME, directory / FILE_NAME)
    shutil.rmtree(life)
    (directory / LOCK_NAME).touch()


def row_of(number: int) -> tuple[bytes, dict[tuple[int, str], bytes | None]]:
    """A row of the log with a message; the last of three takes the first away."""
    writer = one_message(number)
    if number == 3:
        writer.dequeue(1, 1)
    return pack_row(writer.take(), b""), {(1, "q"): b"row"}


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("killed", [True, False])
def test_what_is_remembered_is_read_and_nothing_touched(tmp_path: Path, killed: bool) -> None:
    data = tmp_path / "data"
    store(data, killed=killed)
    assert (FILE_NAME + "-wal" in content(data)) == killed
    before = content(data)
    assert known(data).ends == ENDS
    assert content(data) == before
    (data / LOCK_NAME).unlink()  # a copy of the files alone
    assert known(data).ends == ENDS


def test_a_store_that_is_used_or_not_there_is_an_error(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store(data, killed=False)
    lock = os.open(data / LOCK_NAME, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(StoreError, match="a gateway is using"):
        known(data)
    os.close(lock)
    (data / FILE_NAME).write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match="cannot read"):
        known(data)
    (data / FILE_NAME).write_bytes(b"")
    assert known(data).ends == NOTHING_KNOWN
    (data / FILE_NAME).unlink()
    with pytest.raises(StoreError, match="there is no"):
        known(data)


def test_a_whole_store_has_no_damage_and_is_not_touched(tmp_path: Path) -> None:
    for killed in (True, False):
        data = tmp_path / str(killed)
        store(data, killed=killed)
        before = content(data)
        assert damage(data) == []
        assert content(data) == before


def changed(data: Path, statement: str) -> list[str]:
    """The damage when somebody has done that to it."""
    store(data, killed=False)
    with sqlite3.connect(data / FILE_NAME) as database:
        database.execute("PRAGMA journal_mode = DELETE").fetchall()
        database.execute(statement)
    database.close()
    return damage(data)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("INSERT INTO log VALUES (7, x'0102')", "row 7 of 2 octets: "),
        ("INSERT INTO log VALUES (7, 'text')", "row 7 of 0 octets"),
        ("INSERT INTO topology VALUES (1, 'q', x'00', 5)", "topology 1 'q': checksum does not"),
        ("UPDATE meta SET value = 3 WHERE key = 'log'", "the table log has 0 rows, and had 3"),
        ("UPDATE meta SET value = 9 WHERE key = 'format'", "it has format 9; this program has 1"),
        ("UPDATE meta SET value = 'x' WHERE key = 'log'", "it is broken: invalid literal"),
    ],
)
def test_each_row_that_is_not_as_it_was_written_is_told(
    tmp_path: Path, statement: str, told: str
) -> None:
    (line,) = changed(tmp_path / "data", statement)
    assert told in line


@pytest.mark.parametrize(("at", "octets"), [(0, 100), (8192, 8192), (100, 12)])
def test_a_file_that_is_broken_is_damage(tmp_path: Path, at: int, octets: int) -> None:
    data = tmp_path / "data"
    store(data, killed=False)
    with (data / FILE_NAME).open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * octets)
    (line,) = damage(data)
    assert line.startswith("it is broken: ")


@pytest.mark.parametrize("name", [FILE_NAME, FILE_NAME + "-wal", LOCK_NAME])
def test_nobody_waits_for_a_pipe_in_the_place_of_one_of_its_files(
    tmp_path: Path, name: str
) -> None:
    data = tmp_path / "data"
    store(data, killed=True)
    (data / name).unlink()
    os.mkfifo(data / name)
    for look in (known, damage):
        with pytest.raises(StoreError, match=f"{data / name}: is no regular file"):
            look(data)


def test_a_store_that_was_emptied_is_not_opened_and_its_wal_stays(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store(data, killed=True, messages=3)
    path, wal = data / FILE_NAME, data / f"{FILE_NAME}-wal"
    whole, left = path.read_bytes(), wal.read_bytes()
    assert left
    path.write_bytes(b"")
    for look in (known, damage, contents, lambda directory: Database(directory / FILE_NAME)):
        with pytest.raises(StoreError, match=f"is empty, but .* of {len(left)} octets"):
            look(data)
        assert wal.read_bytes() == left
    path.write_bytes(whole)
    assert sum(contents(data).held.values()) == 2


@pytest.mark.parametrize("killed", [True, False])
def test_what_queues_hold_is_counted_and_nothing_touched(tmp_path: Path, killed: bool) -> None:
    data = tmp_path / "data"
    store(data, killed=killed, messages=3)
    before = content(data)
    found = contents(data)
    assert found.held == {1: 2}
    assert [(row.kind, row.key) for row in found.topology] == [(1, "q")]
    assert content(data) == before


def test_what_a_gateway_uses_is_not_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store(data, killed=False)
    lock = os.open(data / LOCK_NAME, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(StoreError, match="a gateway is using"):
        contents(data)
    os.close(lock)
