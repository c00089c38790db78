"""What rests in the log is read again: what lives, as it is by then, and never anything else."""

import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.stores import Running, message, one_message, scratch

from gateway.errors import StoreError
from gateway.message import Message
from gateway.store.interface import Fetched
from gateway.store.recall import fetching, kept_rows
from gateway.store.sqlite import FILE_NAME
from gateway.store.writes import TurnWriter


def found(pieces: list[Fetched]) -> dict[int, tuple[int, bytes, Message]]:
    """By position, checked to ascend through all pieces, of which only the last is the last."""
    assert [each.last for each in pieces] == [False] * (len(pieces) - 1) + [True]
    entries = [entry for piece in pieces for entry in piece.entries]
    positions = [entry.position for entry in entries]
    assert positions == sorted(set(positions))
    return {
        entry.position: (entry.delivery_count, entry.annotations, entry.message)
        for entry in entries
    }


def batch(first: int, count: int, size: int = 50, queue_id: int = 1) -> TurnWriter:
    writer = TurnWriter()
    for position in range(first, first + count):
        writer.message(message(position, b"x" * size))
        writer.enqueue(queue_id, position, position)
    return writer


def test_what_was_submitted_before_is_fetched_whether_it_is_committed_yet_or_not(
    tmp_path: Path,
) -> None:
    running = Running(tmp_path)
    running.commit(batch(1, 3))
    running.submit(batch(4, 3))
    got = found(running.fetched(1, 2, 6))
    assert list(got) == [2, 3, 4, 5]
    assert got[4] == (4 % 3, b"", message(4, b"x" * 50))
    running.close()


def test_what_has_left_its_queue_is_not_fetched_and_other_queues_are_not(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.submit(batch(1, 4))
    running.submit(batch(11, 4, queue_id=2))
    writer = TurnWriter()
    writer.dequeue(1, 2)
    running.submit(writer)
    assert list(found(running.fetched(1, 0, 100))) == [1, 3, 4]
    assert list(found(running.fetched(2, 0, 100))) == [11, 12, 13, 14]
    assert found(running.fetched(3, 0, 100)) == {}
    running.close()


def test_the_last_delivery_count_and_annotations_come_with_a_copy(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.submit(batch(1, 2))
    writer = TurnWriter()
    writer.redelivered(1, 2, 7, b"annotations")
    running.submit(writer)
    got = found(running.fetched(1, 0, 100))
    assert got[1][:2] == (1, b"")
    assert got[2][:2] == (7, b"annotations")
    running.close()


def test_stragglers_are_found_where_they_were_written_again(tmp_path: Path) -> None:
    running = Running(tmp_path, slack_octets=0)
    for first in range(1, 200, 10):
        running.commit(batch(first, 10))
        writer = TurnWriter()
        for position in range(first, first + 9):
            writer.dequeue(1, position)
        running.commit(writer)
    assert list(found(running.fetched(1, 1, 201))) == list(range(10, 201, 10))
    running.close()


def test_an_answer_comes_in_pieces_of_bounded_octets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "PIECE_OCTETS", 1000)
    monkeypatch.setattr(kept_rows, "SHARE_OCTETS", 1500)
    running = Running(tmp_path)
    for first in range(1, 31, 3):
        running.commit(batch(first, 3, size=300))
    pieces = running.fetched(1, 1, 31)
    assert len(pieces) >= 7
    assert max(len(each.entries) for each in pieces) == 4
    assert list(found(pieces)) == list(range(1, 31))
    running.close()


def test_neighbours_in_one_row_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path)
    running.commit(batch(1, 100))
    asked: list[list[int]] = []
    some_rows = running.store._database.some_rows
    monkeypatch.setattr(
        running.store._database,
        "some_rows",
        lambda numbers: asked.append(numbers) or some_rows(numbers),
    )
    for first in range(1, 101, 10):
        running.store.fetch(first, 1, first, first + 10)
    running.reactor.run_until(lambda: len(running.pieces) == 10)
    assert [len(each.entries) for each in running.pieces] == [10] * 10
    assert asked == [[1]]
    running.close()


def test_more_rows_than_are_kept_are_fetched_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "KEPT_OCTETS", 0)
    monkeypatch.setattr(kept_rows, "SHARE_ROWS", 2)
    running = Running(tmp_path)
    for position in range(1, 10):
        running.commit(one_message(position))
    assert list(found(running.fetched(1, 1, 10))) == list(range(1, 10))
    assert list(found(running.fetched(1, 1, 10))) == list(range(1, 10))
    running.close()


def test_a_row_that_cannot_be_read_is_told_of_and_never_given_out(tmp_path: Path) -> None:
    running = Running(tmp_path)
    for first in (1, 4, 7):
        running.commit(batch(first, 3))
    database: sqlite3.Connection = running.store._database._db
    (body,) = database.execute("SELECT body FROM log WHERE number = 2").fetchone()
    other = bytes([*body[:-1], body[-1] ^ 1])
    database.execute("UPDATE log SET body = ? WHERE number = 2", (other,))
    pieces = running.fetched(1, 1, 10)
    assert list(found(pieces)) == [1, 2, 3, 7, 8, 9]
    assert pieces[-1].error is not None
    assert "row 2: checksum does not match" in str(pieces[-1].error)
    running.reactor.run_until(lambda: bool(running.reactor.failures))
    assert running.reactor.failures == ["row 2: checksum does not match"]
    assert (tmp_path / FILE_NAME).exists()
    running.close()


def test_a_row_that_the_disk_does_not_give_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path)
    for first in (1, 4, 7):
        running.commit(batch(first, 3))
    database = running.store._database
    row = database.row

    def some_rows(numbers: list[int]) -> dict[int, bytes]:
        return {number: one_row(number) for number in numbers}

    def one_row(number: int) -> bytes:
        if number == 2:
            raise StoreError("cannot read the store: disk I/O error")
        return row(number)

    monkeypatch.setattr(database, "some_rows", some_rows)
    monkeypatch.setattr(database, "row", one_row)
    pieces = running.fetched(1, 1, 10)
    assert list(found(pieces)) == [1, 2, 3, 7, 8, 9]
    assert "row 2: cannot read the store" in str(pieces[-1].error)
    running.close()


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32), st.sampled_from([0, 1000, 10**6]))
def test_whatever_goes_on_meanwhile_what_stays_is_fetched_as_it_is(seed: int, slack: int) -> None:
    chance = random.Random(seed)
    with scratch() as directory:
        running = Running(Path(directory), slack_octets=slack)
        living: dict[int, tuple[int, Message]] = {}
        position = 0
        asked: list[tuple[int, dict[int, tuple[int, Message]], int, int]] = []
        for _ in range(chance.randrange(1, 60)):
            writer = TurnWriter()
            for _ in range(chance.randrange(6)):
                if chance.random() < 0.6 or not living:
                    position += 1
                    sent = message(position, b"x" * chance.randrange(200))
                    writer.message(sent)
                    writer.enqueue(1, position, sent.id)
                    living[position] = (sent.delivery_count, sent)
                elif chance.random() < 0.8:
                    gone = chance.choice(sorted(living))
                    writer.dequeue(1, gone)
                    del living[gone]
                    for _number, expected, _first, _behind in asked:
                        expected.pop(gone, None)
                else:
                    again = chance.choice(sorted(living))
                    living[again] = (living[again][0] + 1, living[again][1])
                    writer.redelivered(1, again, living[again][0])
                    for _number, expected, _first, _behind in asked:
                        expected.pop(again, None)
            running.submit(writer)
            if chance.random() < 0.4:
                first = chance.randrange(position + 1)
                behind = first + chance.randrange(40)
                expected = {n: living[n] for n in living if first <= n < behind}
                asked.append((len(asked) + 1, expected, first, behind))
                running.store.fetch(len(asked), 1, first, behind)
        running.wait()
        running.reactor.run_until(lambda: sum(each.last for each in running.pieces) == len(asked))
        assert [each.request for each in running.pieces if each.last] == [
            number for number, *_rest in asked
        ]
        for number, expected, first, behind in asked:
            got = found(running.of(number))
            assert all(first <= each < behind for each in got)
            kept = {each: (got[each][0], got[each][2]) for each in expected}
            assert kept == expected
        running.close()
