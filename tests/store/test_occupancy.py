import random

from hypothesis import given
from hypothesis import strategies as st
from support.stores import message

from gateway.store.log_rows import scan
from gateway.store.occupancy import Occupancy
from gateway.store.recovery import Replay
from gateway.store.rewriting import living_part
from gateway.store.writes import TurnWriter


class Log:
    """Rows in a dict, with the bookkeeping and the rewriting of the real log."""

    def __init__(self, slack: int = 0) -> None:
        self.rows: dict[int, bytes] = {}
        self.occupancy = Occupancy()
        self.slack = slack
        self.number = 0
        self.rewritten = 0

    def commit(self, writes: bytes, *, stragglers: int = 3) -> None:
        parts: list[bytes] = []
        while self.occupancy.overgrown(self.slack) and len(parts) < stragglers:
            victim = self.occupancy.take_victim()
            if not victim:
                break
            parts.append(living_part(victim, self.rows[victim], self.occupancy))
        self.rewritten += sum(map(len, parts))
        self.number += 1
        row = b"".join([*parts, writes])
        self.rows[self.number] = row
        self.occupancy.add(self.number, len(row), scan(row))

    def delete(self) -> None:
        for number in self.occupancy.take_dead():
            del self.rows[number]

    def octets(self) -> int:
        return sum(map(len, self.rows.values()))

    def recovered(self) -> dict[tuple[int, int], tuple[int, int]]:
        replay = Replay()
        for number in sorted(self.rows):
            replay.apply(self.rows[number])
        return {
            (e.queue_id, e.position): (e.delivery_count, e.message.id) for e in replay.entries()
        }


def places(occupancy: Occupancy) -> dict[int, list[tuple[int, int]]]:
    return {queue: occupancy.living(queue, 0, 2**40) for queue in sorted(occupancy.places)}


def enqueue(writer: TurnWriter, position: int, size: int = 100) -> None:
    writer.message(message(position, b"x" * size))
    writer.enqueue(1, position, position)


def dequeue(*positions: int) -> bytes:
    writer = TurnWriter()
    for position in positions:
        writer.dequeue(1, position)
    return writer.take()


def batch(first: int, count: int) -> bytes:
    writer = TurnWriter()
    for position in range(first, first + count):
        enqueue(writer, position)
    return writer.take()


def test_a_row_goes_when_its_last_entry_has_left_and_the_dequeues_go_with_it() -> None:
    log = Log(slack=10**9)
    log.commit(batch(1, 2))
    log.commit(dequeue(1))
    log.delete()
    assert sorted(log.rows) == [1, 2]
    log.commit(dequeue(2))
    log.delete()
    assert log.rows == {}


def test_a_dequeue_stays_as_long_as_the_row_that_it_names() -> None:
    log = Log(slack=10**9)
    log.commit(batch(1, 2))
    log.commit(dequeue(1))
    log.commit(batch(3, 1))
    log.commit(dequeue(3))
    log.delete()
    assert sorted(log.rows) == [1, 2]
    assert list(log.recovered()) == [(1, 2)]


def test_what_was_enqueued_and_dequeued_in_one_row_needs_no_row() -> None:
    log = Log()
    log.commit(batch(1, 2) + dequeue(1, 2))
    log.delete()
    assert log.rows == {}


def test_a_dequeue_of_nothing_is_not_kept() -> None:
    log = Log()
    log.commit(dequeue(1, 2, 3))
    log.delete()
    assert log.rows == {}


def test_one_straggler_does_not_keep_the_log_that_passes_behind_it() -> None:
    log = Log(slack=20_000)
    log.commit(batch(1, 10))
    for position in range(11, 5001, 10):
        # Each row holds the dequeues of the row before: a chain down to the straggler, position 1.
        log.commit(dequeue(*range(max(position - 10, 2), position)) + batch(position, 10))
        log.delete()
        assert log.octets() < 32_000
    assert (1, 1) in log.recovered()
    assert len(log.recovered()) == 11


def test_a_static_backlog_is_not_written_again_and_again() -> None:
    log = Log(slack=20_000)
    for first in range(1, 10_001, 100):
        log.commit(batch(first, 100))
    backlog = log.octets()
    for position in range(10_001, 40_001, 10):
        log.commit(batch(position, 10) + dequeue(*range(max(position - 10, 10_001), position)))
        log.delete()
    passed = 3000 * len(batch(1, 10))
    assert log.rewritten < passed / 50
    assert log.octets() < 1.1 * backlog + 20_000


def test_what_lives_in_a_row_that_was_garbage_from_the_first_is_written_again_once() -> None:
    log = Log(slack=10_000)
    writer = TurnWriter()
    enqueue(writer, 1)
    enqueue(writer, 2)
    records = bytes(1000)  # of the audit log, which the row has, too
    log.number = 1
    log.rows[1] = writer.take()
    log.occupancy.add(1, len(log.rows[1]) + len(records), scan(log.rows[1]))
    log.commit(dequeue(1))
    log.slack = 0
    log.commit(b"")
    assert log.rows[3].count(b"x" * 100) == 1
    log.delete()
    assert sorted(log.rows) == [3]
    assert not log.occupancy.overgrown(0)


def test_a_row_that_has_an_entry_twice_is_written_again_with_one() -> None:
    log = Log(slack=10_000)
    writer = TurnWriter()
    for _ in range(2):
        enqueue(writer, 1)
    log.commit(writer.take())
    again = living_part(1, log.rows[1], log.occupancy)
    assert again.count(b"x" * 100) == 1
    log.commit(again)
    log.delete()
    assert sorted(log.rows) == [2]
    assert list(log.recovered()) == [(1, 1)]


def test_annotations_survive_the_rows_that_they_were_written_in() -> None:
    log = Log()
    log.commit(batch(1, 50))
    writer = TurnWriter()
    writer.redelivered(1, 7, 3, b"before")
    writer.redelivered(1, 8, 3, b"taken away")
    log.commit(writer.take() + batch(51, 50))
    writer.redelivered(1, 7, 4, b"annotations")
    writer.redelivered(1, 8, 4)
    log.commit(writer.take() + batch(101, 50))
    log.commit(dequeue(*[n for n in range(1, 151) if n not in (7, 8)]))
    for _ in range(3):
        log.commit(b"")
        log.delete()
    replay = Replay()
    for number in sorted(log.rows):
        replay.apply(log.rows[number])
    kept = [(entry.delivery_count, entry.annotations) for entry in replay.entries()]
    assert kept == [(4, b"annotations"), (4, b"")]
    assert log.octets() < 800


def test_a_delivery_count_survives_the_rows_that_it_was_written_in() -> None:
    log = Log()
    log.commit(batch(1, 50))
    writer = TurnWriter()
    writer.redelivered(1, 7, 3)
    log.commit(writer.take() + batch(51, 50))
    log.commit(dequeue(*[n for n in range(1, 101) if n != 7]))
    for _ in range(3):
        log.commit(b"")
        log.delete()
    assert log.recovered() == {(1, 7): (3, 7)}
    assert log.octets() < 400


@given(st.integers(0, 2**32), st.integers(0, 2000), st.integers(1, 8))
def test_any_traffic_leaves_what_it_should_in_bounded_space(
    seed: int, slack: int, stragglers: int
) -> None:
    chance = random.Random(seed)
    log = Log(slack)
    model: dict[tuple[int, int], tuple[int, int]] = {}
    position = 0
    for _ in range(chance.randrange(1, 120)):
        writer = TurnWriter()
        for _ in range(chance.randrange(8)):
            what = chance.random()
            if what < 0.5 or not model:
                position += 1
                place = (chance.randrange(3), position)
                sent = message(position, b"x" * chance.randrange(200))
                writer.message(sent)
                writer.enqueue(*place, position)
                model[place] = (sent.delivery_count, position)
            elif what < 0.9:
                place = chance.choice(sorted(model))
                writer.dequeue(*place)
                del model[place]
            else:
                place = chance.choice(sorted(model))
                count = model[place][0] + 1
                writer.redelivered(*place, count)
                model[place] = (count, model[place][1])
        log.commit(writer.take(), stragglers=stragglers)
        assert log.recovered() == model
        if chance.random() < 0.5:
            log.delete()
            assert log.recovered() == model
    for _ in range(200):
        log.commit(b"", stragglers=stragglers)
        log.delete()
    assert log.recovered() == model
    living = sum(len(f"{p}") + 300 for p in model)
    assert log.octets() <= 3 * living + slack + 500
    again = Occupancy()
    for number in sorted(log.rows):
        again.add(number, len(log.rows[number]), scan(log.rows[number]))
    assert places(again) == places(log.occupancy)
    assert again.counted == log.occupancy.counted
