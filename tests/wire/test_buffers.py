"""Octets are read within their window and nowhere else, and written as they are read."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.python_programs import run_python

from gateway.errors import DecodeError
from gateway.wire.buffers import SPARE, Reader, Writer

WIDTHS = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8}


@given(st.sampled_from(sorted(WIDTHS)), st.data())
def test_an_integer_is_read_as_it_was_written_big_endian(name: str, data: st.DataObject) -> None:
    bits = 8 * WIDTHS[name]
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    value = data.draw(st.integers(low, high))
    writer = Writer()
    getattr(writer, name)(value)
    octets = writer.getvalue()
    assert octets == value.to_bytes(bits // 8, "big", signed=name[0] == "i")
    assert getattr(Reader(octets), name)() == value


@pytest.mark.parametrize("name", [*WIDTHS, "f32", "f64"])
def test_a_value_that_goes_beyond_its_window_is_not_read(name: str) -> None:
    width = WIDTHS.get(name, 4 if name == "f32" else 8)
    reader = Reader(bytes(width + 8), 3, 3 + width - 1)  # the octets are there, the window ends
    with pytest.raises(DecodeError):
        getattr(reader, name)()
    assert (reader.pos, reader.remaining()) == (3, width - 1)


@pytest.mark.parametrize(("pos", "end"), [(-1, 2), (3, 2), (0, 5), (5, -1)])
def test_a_window_lies_within_the_octets(pos: int, end: int) -> None:
    with pytest.raises(DecodeError):
        Reader(b"1234", pos, end)


def test_a_size_that_was_not_checked_takes_nothing() -> None:
    reader = Reader(b"1234", 1, 3)
    for count in (-1, 3, 2**62):
        for take in (reader.take, reader.skip, reader.sub, reader.text):
            with pytest.raises(DecodeError):
                take(count)
    assert reader.rest() == b"23"
    assert reader.rest() == b""


def test_a_reader_of_a_part_ends_where_the_part_ends() -> None:
    reader = Reader(b"12345")
    reader.skip(1)
    part = reader.sub(2)
    assert (part.rest(), reader.rest()) == (b"23", b"45")


def test_text_is_utf_8_or_an_error() -> None:
    assert Reader("né".encode()).text(3) == "né"
    with pytest.raises(DecodeError):
        Reader(b"n\xe9").text(2)


def test_sizes_that_were_left_open_are_filled_in() -> None:
    writer = Writer()
    writer.raw(bytes(7))
    writer.patch_u8(0, 0xFF)
    writer.patch_u16(1, 0xFEDC)
    writer.patch_u32(3, 0xFEDCBA98)
    assert writer.getvalue() == bytes.fromhex("fffedcfedcba98")
    writer.truncate(3)
    writer.u8(1)
    assert (writer.getvalue(), writer.size()) == (bytes.fromhex("fffedc01"), 4)


def test_taking_what_was_written_gives_the_memory_back_that_it_needed() -> None:
    writer = Writer()
    writer.raw(b"small")
    assert writer.take() == b"small"
    assert writer.take() == b""
    room = writer.out
    writer.raw(b"small")
    assert writer.take() == b"small"
    assert writer.out is room
    writer.raw(bytes(SPARE + 1))
    assert len(writer.take()) == SPARE + 1
    assert writer.out is not room
    assert writer.size() == 0


LET_GO_DEEP_DOWN = """
from gateway.wire.buffers import Reader, Writer

for make in (lambda: Reader(b"x"), Writer):
    for depth in range(1, 120):
        held, spare = make(), make()
        for _ in range(depth):
            held = [held]
        del spare  # so that the other is not the one that is kept for reuse
        del held
"""


@pytest.mark.process
def test_what_is_let_go_deep_within_others_harms_no_memory() -> None:
    # CPython puts off what is let go at the 50th level, in a way of which mypyc's acyclic classes
    # know nothing (setup.py): with its checks on, the interpreter finds what was written over.
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    run_python(LET_GO_DEEP_DOWN, environment=environment)
