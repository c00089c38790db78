import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.stores import message, one_message

from gateway.errors import DecodeError
from gateway.store.log_rows import check, pack_row, unpack_row
from gateway.store.writes import TurnWriter


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
