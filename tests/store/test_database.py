import os
from pathlib import Path

import pytest

from gateway.audit.ends import LogEnd, LogEnds
from gateway.errors import BrokenStoreError, StoreError
from gateway.store import database as databases
from gateway.store.database import UNKNOWN_OCTETS, Database


def test_a_file_of_holes_is_shrunk_only_where_there_is_room_for_what_is_left(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.sqlite"
    database = Database(path)
    for number in range(1, 11):
        database.commit(number, b"x" * 100_000, {})
    database.delete(list(range(2, 11)))
    database.checkpoint()
    full = path.stat().st_size
    left = 2 * 100_000
    database.shrink(lambda: left)  # its copy would take all of that, and pages of its own
    assert path.stat().st_size == full
    database.shrink(lambda: 2 * left)
    assert path.stat().st_size < full // 4
    database.close()


def test_topology_is_cleared_from_a_key_on_to_in_front_of_another_before_more_is_written(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "store.sqlite")
    rows: dict[tuple[int, str], bytes | None] = {
        (1, "0"): b"below",
        (1, "a"): b"first",
        (1, "bé"): b"between",
        (1, "c"): b"behind",
        (2, "b"): b"of another kind",
    }
    database.commit(1, b"x", rows)
    database.commit(2, b"x", {(1, "a"): b"again"}, [(1, "a", "c")])
    found, damage = database.topology()
    assert damage == {}
    assert [(row.kind, row.key, row.value) for row in found] == [
        (1, "0", b"below"),
        (1, "a", b"again"),
        (1, "c", b"behind"),
        (2, "b", b"of another kind"),
    ]
    database.close()


def test_an_end_of_the_log_that_is_far_from_the_known_one_is_remembered(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.sqlite")
    begun = LogEnd(9, 2, 700, "a")
    near = LogEnd(19, 2, 700 + UNKNOWN_OCTETS - 1, "b")
    far = LogEnd(29, 2, 700 + UNKNOWN_OCTETS, "c")
    another = LogEnd(29, 3, 700, "d")
    for end, known in ((begun, begun), (near, begun), (far, far), (another, another)):
        database.remember(LogEnds(None, end), moved=True)
        assert database.known().ends.last == known
    database.remember(LogEnds(None, LogEnd(30, 3, 701, "e")))
    assert database.known().ends.last == LogEnd(30, 3, 701, "e")
    database.close()


@pytest.mark.parametrize("end", ["", "-wal", "-journal", "-shm"])
def test_a_pipe_in_the_place_of_one_of_its_files_is_told(tmp_path: Path, end: str) -> None:
    path = tmp_path / "store.sqlite"
    Database(path).close()
    pipe = path.with_name(path.name + end)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match=f"cannot open {pipe}: is no regular file"):
        Database(path)


def test_a_file_with_a_broken_page_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    database = Database(path)
    for number in range(1, 50):
        database.commit(number, b"x" * 10_000, {})
    database.stopped(49)
    database.close()
    octets = bytearray(path.read_bytes())
    octets[8192 * 2 : 8192 * 4] = b"\xff" * 8192 * 2
    path.write_bytes(octets)
    with pytest.raises(BrokenStoreError, match=f"{path} is broken: "):
        Database(path)


def test_what_is_written_as_an_incarnation_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.sqlite")
    with pytest.raises(KeyboardInterrupt), database.as_incarnation(1):
        database.commit(1, b"x", {})
        raise KeyboardInterrupt
    assert (database.last_row(), database.meta("incarnation")) == (0, 0)
    with database.as_incarnation(1):
        database.commit(1, b"x", {})
        database.write_topology({(1, "k"): b"v"})
    assert (database.last_row(), database.meta("incarnation")) == (1, 1)
    assert [database.meta(key) for key in ("clean", "log", "topology")] == [1, 1, 1]
    database.close()


def test_an_incarnation_of_no_gateway_does_not_close_what_was_not_closed(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.sqlite")
    database.started(4)
    database.close()
    database = Database(tmp_path / "store.sqlite")
    with database.as_incarnation(5):
        database.commit(1, b"x", {})
    assert [database.meta(key) for key in ("incarnation", "clean", "log")] == [5, 0, 0]
    database.close()


def test_who_is_told_to_stop_is_not_kept_by_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite"
    made = Database(path)
    for number in range(1, 50):
        made.commit(number, b"x" * 100_000, {})
    made.stopped(49)
    made.close()
    monkeypatch.setattr(databases, "LOOKED_AT", 1)
    with pytest.raises(StoreError, match="interrupted"):
        Database(path, given_up=lambda: True)
    Database(path, given_up=lambda: False).close()
