import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.stores import message, one_message

from gateway.errors import DecodeError
from gateway.message import Message
from gateway.store.log_rows import (
    STEP,
    Steps,
    check,
    pack_row,
    read_message,
    scan,
    unpack_row,
    walk,
)
from gateway.store.writes import DEQUEUE, ENQUEUE, REDELIVERED, TurnWriter


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_a_row_comes_apart_as_it_was_packed(writes: bytes, audit: bytes) -> None:
    assert unpack_row(pack_row(writes, audit)) == (writes, audit)


@given(st.binary(max_size=60), st.data())
def test_a_row_with_any_octet_changed_is_refused(writes: bytes, data: st.DataObject) -> None:
    row = bytearray(pack_row(writes, b"audit"))
    row[data.draw(st.integers(0, len(row) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DecodeError):
        unpack_row(bytes(row))


@given(st.binary(max_size=60), st.data())
def test_a_row_cut_short_anywhere_is_refused(writes: bytes, data: st.DataObject) -> None:
    row = pack_row(writes, b"audit")
    with pytest.raises(DecodeError):
        unpack_row(row[: data.draw(st.integers(0, len(row) - 1))])


@given(st.binary(max_size=200))
@example(b"\x00\x01\x00")
def test_any_octets_are_records_or_refused(octets: bytes) -> None:
    try:
        check(octets)
    except DecodeError as error:
        assert str(error)


@given(st.data())
def test_records_cut_short_within_one_are_refused(data: st.DataObject) -> None:
    writes = one_message(1).take()
    cut = data.draw(st.integers(4, len(writes) - 1))
    if cut == len(writes) - 25:  # between the message and its entry: a turn that stores nothing
        check(writes[:cut])
        return
    with pytest.raises(DecodeError):
        check(writes[:cut])


def test_records_of_another_version_are_refused() -> None:
    writes = bytearray(one_message(1).take())
    writes[1] += 1
    with pytest.raises(DecodeError, match="version 2"):
        check(bytes(writes))


def test_an_entry_needs_its_message_in_its_own_turn() -> None:
    writer = TurnWriter()
    writer.message(message(1))
    earlier = writer.take()
    writer.enqueue(1, 1, 1)
    with pytest.raises(DecodeError, match="not in its turn"):
        check(earlier + writer.take())


def test_a_body_that_begins_behind_the_payload_is_refused() -> None:
    writer = TurnWriter()
    writer.message(message(1, b"abc", body_at=4))
    with pytest.raises(DecodeError, match="body at 4"):
        check(writer.take())


class Heard:
    """What a walk tells of entries, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []
        self._messages: dict[int, Message] = {}

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        self._messages[message_id] = read_message(octets, start, end)

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        self.told.append((ENQUEUE, queue_id, position, self._messages[message_id]))

    def on_dequeue(self, queue_id: int, position: int) -> None:
        self.told.append((DEQUEUE, queue_id, position))

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        self.told.append((REDELIVERED, queue_id, position, count, annotations))

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        return

    def on_topology_removed(self, kind: int, key: str) -> None:
        return

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        return


def told_by(writes: bytes, steps: Steps) -> list[tuple[object, ...]]:
    """The same, of a scan."""
    numbers = list(steps.numbers)
    told: list[tuple[object, ...]] = []
    for at in range(0, len(numbers), STEP):
        kind, queue_id, position, what = numbers[at : at + STEP]
        if kind == ENQUEUE:
            end = what + 4 + int.from_bytes(writes[what : what + 4])
            told.append((kind, queue_id, position, read_message(writes, what, end)))
        elif kind == REDELIVERED:
            told.append((kind, queue_id, position, *steps.counted[what]))
        else:
            told.append((kind, queue_id, position))
    return told


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("mmedcatrx"), st.integers(1, 5), st.integers(0, 3)))
    )
)
def test_a_scan_finds_what_a_walk_tells(turns: list[list[tuple[str, int, int]]]) -> None:
    writer = TurnWriter()
    writes = b""
    octets = highest = 0
    for turn in turns:
        known: set[int] = set()
        for step, number, more in turn:
            if step == "m":
                before = writer.size()
                writer.message(message(number, b"x" * more))
                octets += writer.size() - before - 1
                known.add(number)
                highest = max(highest, number)
            elif step == "e" and number in known:
                writer.enqueue(more, number, number)
            elif step == "d":
                writer.dequeue(more, number)
            elif step in "ca":
                writer.redelivered(more, number, number, b"notes" if step == "a" else b"")
            elif step == "t":
                writer.topology(more, str(number), b"value")
            elif step == "r":
                writer.topology_removed(more, str(number))
            elif step == "x":
                writer.topology_cleared(more, "a", "b")
        writes += writer.take()
    heard = Heard()
    walk(writes, heard)
    steps = scan(writes)
    assert told_by(writes, steps) == heard.told
    assert (steps.message_octets, steps.highest_message_id) == (octets, highest)
