"""What a store held at its beginning comes back once, each queue in order, in bounded pieces."""

import random
import sqlite3
from pathlib import Path
from queue import SimpleQueue

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.stores import Running, message, one_message, recalled, reopened, scratch

from gateway.message import Message
from gateway.store.interface import Fetched
from gateway.store.recall import kept_rows, recalling
from gateway.store.writes import TurnWriter


def pieces_of(running: Running, queues: list[int] | None = None) -> list[Fetched]:
    came: SimpleQueue[Fetched] = SimpleQueue()
    pieces: list[Fetched] = []
    while not pieces or not pieces[-1].last:
        running.store.recall(came.put, queues)
        pieces.append(came.get(timeout=30))
    return pieces


def test_queues_come_side_by_side_or_one_after_another(tmp_path: Path) -> None:
    running = Running(tmp_path)
    for position in range(1, 5):
        running.commit(one_message(position, queue_id=1 + position % 2))
    side_by_side = [entry.position for each in pieces_of(running) for entry in each.entries]
    assert side_by_side == [1, 2, 3, 4]
    one_by_one = [
        (entry.queue_id, entry.position)
        for each in pieces_of(running, [2, 1, 7])
        for entry in each.entries
    ]
    assert one_by_one == [(2, 1), (2, 3), (1, 2), (1, 4)]
    running.close()


def test_pieces_have_so_many_entries_or_octets_and_one_is_asked_for_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "PIECE_ENTRIES", 3)
    monkeypatch.setattr(recalling, "PIECE_OCTETS", 250)
    running = Running(tmp_path)
    writer = TurnWriter()
    for position in range(1, 12):
        writer.message(message(position, b"x" * (10 if position < 7 else 100)))
        writer.enqueue(1, position, position)
    running.commit(writer)
    numbers = [len(each.entries) for each in pieces_of(running)]
    assert numbers == [3, 3, 3, 2, 0]
    running.close()


def test_nothing_is_written_again_while_somebody_recalls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "PIECE_ENTRIES", 1)
    running = Running(tmp_path, slack_octets=0)
    writer = TurnWriter()
    for position in range(1, 11):
        writer.message(message(position, b"x" * 100))
        writer.enqueue(1, position, position)
    running.commit(writer)
    came: SimpleQueue[Fetched] = SimpleQueue()
    running.store.recall(came.put)
    assert [entry.position for entry in came.get(timeout=30).entries] == [1]
    gone = TurnWriter()
    for position in range(2, 10):
        gone.dequeue(1, position)
    running.commit(gone)
    running.commit(one_message(30))
    assert running.store._committer._occupancy.place(1, 10) == 1
    assert pieces_of(running)[-1].last
    for position in (31, 32):
        running.commit(one_message(position))
    assert running.store._committer._occupancy.place(1, 10) > 1
    running.close()


def test_a_row_that_cannot_be_read_again_is_an_error_and_the_end(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.commit(one_message(1))
    database: sqlite3.Connection = running.store._database._db
    database.execute("UPDATE log SET body = substr(body, 1, 20)")
    came: SimpleQueue[Fetched] = SimpleQueue()
    for queues in (None, [1]):
        running.store.recall(came.put, queues)
        piece = came.get(timeout=30)
        assert (piece.entries, piece.last) == ([], True)
        assert "checksum does not match" in str(piece.error)
    running.close()


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32), st.sampled_from([1, 7, 1000]))
def test_whatever_was_written_again_each_queue_comes_in_its_order(seed: int, kept: int) -> None:
    chance = random.Random(seed)
    with scratch() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recalling, "PIECE_ENTRIES", kept)
        patch.setattr(kept_rows, "KEPT_OCTETS", kept)
        running = Running(Path(directory), slack_octets=0)
        living: dict[tuple[int, int], tuple[int, Message]] = {}
        position = 0
        for _ in range(chance.randrange(60)):
            writer = TurnWriter()
            for _ in range(chance.randrange(10)):
                if chance.random() < 0.5 or not living:
                    position += 1
                    sent = message(position, b"x" * chance.randrange(300))
                    writer.message(sent)
                    for queue in chance.sample((1, 2, 3), chance.randrange(1, 4)):
                        writer.enqueue(queue, position, sent.id)
                        living[(queue, position)] = (sent.delivery_count, sent)
                elif chance.random() < 0.8:
                    place = chance.choice(sorted(living))
                    writer.dequeue(*place)
                    del living[place]
                else:
                    place = chance.choice(sorted(living))
                    living[place] = (living[place][0] + 1, living[place][1])
                    writer.redelivered(*place, living[place][0])
            running.commit(writer)
        running.close()
        again = Running(Path(directory), slack_octets=0)
        found = {
            (entry.queue_id, entry.position): (entry.delivery_count, entry.message)
            for entry in again.entries
        }
        assert found == living
        by_queue = [(entry.queue_id, entry.position) for entry in recalled(again.store, [3, 1, 2])]
        assert by_queue == sorted(living)
        again.close()
        assert len(reopened(Path(directory)).entries) == len(living)
