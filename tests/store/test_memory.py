from collections.abc import Callable

from support.stores import Segments, one_message, recalled

from gateway.store.interface import Fetched
from gateway.store.memory import MemoryStore
from gateway.store.writes import TurnWriter


def test_a_memory_store_hands_over_what_it_was_given_when_opened_again() -> None:
    committed: list[int] = []
    store = MemoryStore(lambda call: call(), committed.append)
    assert store.open().held == {}
    store.submit(1, one_message(1).take(), b"")
    writer = TurnWriter()
    writer.topology(1, "queue", b"settings")
    writer.topology(1, "gone", b"settings")
    writer.topology_removed(1, "gone")
    store.submit(2, writer.take(), b"")
    assert committed == [1, 2]
    after_crash = store.open()
    assert after_crash.held == {1: 1}
    assert [entry.position for entry in recalled(store)] == [1]
    assert [row.key for row in after_crash.topology] == ["queue"]
    assert not after_crash.clean
    store.close(b"")
    assert store.open().clean


def test_a_test_decides_when_turns_count_as_committed() -> None:
    committed: list[int] = []
    calls: list[Callable[[], None]] = []
    store = MemoryStore(calls.append, committed.append)
    store.open()
    store.submit(1, b"", b"")
    assert committed == []
    calls[0]()
    assert committed == [1]


def test_audit_blocks_go_straight_to_the_segments() -> None:
    segments = Segments()
    store = MemoryStore(lambda call: call(), lambda turn: None, segments)
    store.open()
    store.submit(1, b"", b"a;")
    store.close(b"z;")
    assert segments.blocks == [b"a", b"z"]
    assert segments.closed


def test_what_lives_in_a_part_of_a_queue_is_fetched_in_one_piece() -> None:
    pieces: list[Fetched] = []
    calls: list[Callable[[], None]] = []
    store = MemoryStore(calls.append, lambda _turn: None)
    store.open()
    store.on_fetched = pieces.append
    for position in range(1, 5):
        store.submit(position, one_message(position).take(), b"")
    store.fetch(7, 1, 2, 4)
    assert pieces == []
    for call in calls:
        call()
    (piece,) = pieces
    assert (piece.request, piece.last, piece.error) == (7, True, None)
    assert [entry.position for entry in piece.entries] == [2, 3]
