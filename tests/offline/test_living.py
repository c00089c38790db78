"""Which copies a store holds: as a start finds them, with a memory that does not grow with them."""

from __future__ import annotations

import os
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stores import message, one_message, reopened

from gateway.errors import GatewayError
from gateway.offline import living
from gateway.offline.directory import to_read
from gateway.offline.living import Held, Living
from gateway.store.database import Database
from gateway.store.log_rows import pack_row
from gateway.store.writes import TurnWriter


def store(directory: Path, rows: list[TurnWriter]) -> Path:
    database = Database(directory / "store.sqlite")
    for number, writer in enumerate(rows, start=1):
        database.commit(number, pack_row(writer.take(), b""), {})
    database.stopped(len(rows))
    database.close()
    return directory


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("living")


STEPS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["put", "again", "leave", "count"]), st.integers(0, 7)),
        min_size=1,
        max_size=5,
    ),
    max_size=8,
)


def rows_of(steps: list[list[tuple[str, int]]]) -> list[TurnWriter]:
    """Turns that put copies into two queues, write them again, take them away, count them."""
    rows: list[TurnWriter] = []
    gone: set[int] = set()
    for row in steps:
        writer = TurnWriter()
        for step, place in row:
            queue, position = 1 + place % 2, place
            if step == "leave":
                writer.dequeue(queue, position)
                gone.add(place)
            elif step == "count":
                writer.redelivered(queue, position, place + 1, b"notes" * (place % 2))
            elif place not in gone:  # positions are never used again
                writer.message(message(place + 1, b"x" * place))
                writer.enqueue(queue, position, place + 1)
        rows.append(writer)
    return [row for row in rows if row.any()]


@given(STEPS)
def test_it_finds_what_a_start_finds(scratch: Path, steps: list[list[tuple[str, int]]]) -> None:
    for path in scratch.iterdir():
        path.unlink()
    store(scratch, rows_of(steps))
    with to_read(scratch) as database, closing(Living(database)) as found_there:
        held = found_there.held()
        found = [
            (copy.queue, copy.position, copy.delivery_count, copy.annotations, copy.message)
            for queue in sorted(held)
            for copy in found_there.copies(queue)
        ]
    recovered = reopened(scratch).entries
    assert found == [
        (each.queue_id, each.position, each.delivery_count, each.annotations, each.message)
        for each in recovered
    ]
    assert {queue: each.messages for queue, each in held.items()} == {
        queue: sum(each.queue_id == queue for each in recovered)
        for queue in {each.queue_id for each in recovered}
    }


def test_what_queues_hold_is_counted_with_octets_and_the_oldest(tmp_path: Path) -> None:
    writer = TurnWriter()
    for number in (3, 1, 2):
        writer.message(message(number, b"x" * number))
        writer.enqueue(7, 10 - number, number)
    with to_read(store(tmp_path, [writer])) as database, closing(Living(database)) as found_there:
        base = message(0).arrived_ms
        assert found_there.held() == {7: Held(7, 3, 6, base + 1, base + 3)}


def test_memory_is_that_of_a_row_however_many_there_are(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        directory = tmp_path / str(rows)
        directory.mkdir()
        writers = [TurnWriter() for _ in range(rows)]
        for at, writer in enumerate(writers):
            for number in range(at * 50, at * 50 + 50):
                writer.message(message(number + 1, b"x" * 100))
                writer.enqueue(1, number, number + 1)
        store(directory, writers)
        tracemalloc.start()
        with to_read(directory) as database, closing(Living(database)) as found_there:
            assert sum(1 for _ in found_there.copies(1)) == rows * 50
            most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(100) < 1.5 * peak(10)


def test_what_cannot_be_read_any_more_is_told_and_the_rest_is_found(tmp_path: Path) -> None:
    rows = [one_message(position) for position in range(1, 400)]
    path = store(tmp_path, rows) / "store.sqlite"
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute("PRAGMA page_size").fetchone()
    octets = os.path.getsize(path)
    with path.open("r+b") as file:
        file.seek(octets - 2 * page)
        file.write(b"\xff" * page)
    with to_read(tmp_path) as database, closing(Living(database)) as found_there:
        found = [copy.position for copy in found_there.copies(1)]
        assert found == list(range(1, len(found) + 1))
        assert 0 < len(found) < 399
        (told,) = found_there.unread
        assert told.startswith(f"rows behind number {len(found)}: ")


def test_without_room_for_its_index_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [one_message(position) for position in range(1, 400)]
    monkeypatch.setattr(living, "_SETTINGS", ("max_page_count = 3",))
    with (
        to_read(store(tmp_path, rows)) as database,
        pytest.raises(GatewayError, match=r"cannot write a temporary file \(see TMPDIR\): .*full"),
    ):
        Living(database)
