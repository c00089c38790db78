"""What stands behind damage is read as it was written: damage costs the block that it is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.reader import Block, Segment, records
from gateway.audit.records.log import AuditLog
from gateway.audit.salvage import Salvage
from gateway.audit.schema import BLOCK_HEADER, SCHEMA_VERSION, BlockKind
from gateway.audit.segment import _header

NAME = "0000000001-000001.audit"
TURNS = 8


def one_segment() -> bytes:
    log = AuditLog(1)
    log.incarnation_started(1, "0.1")
    octets = _header(1, 1, "0" * 64)
    for turn in range(TURNS):
        for each in range(3):
            log.topology(turn, reason=1, node=log.name(f"queue {turn} {each}"))
        octets += log.take_block(turn)
    return octets


WHOLE = one_segment()
BLOCKS = list(Segment(NAME, WHOLE).blocks())
RECORDS = [record["sequence"] for record in records(Segment(NAME, WHOLE))]


def salvaged(octets: bytes, name: str = NAME) -> tuple[Salvage, list[int]]:
    salvage = Salvage(Segment(name, octets))
    found = [record["sequence"] for record in records(salvage.segment, salvage.blocks())]
    return salvage, found


def in_block(at: int) -> Block | None:
    return next((block for block in BLOCKS if block.offset <= at < block.end), None)


def numbers(block: Block | None) -> set[int]:
    if block is None or block.kind != BlockKind.RECORDS:
        return set()
    return {int.from_bytes(WHOLE[at : at + 8], "little") for at in block.places()}


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_an_octet_that_changed_costs_its_block(at: int, change: int):
    octets = bytearray(WHOLE)
    octets[at] ^= change
    salvage, found = salvaged(bytes(octets))
    lost = numbers(in_block(at))
    assert found == [number for number in RECORDS if number not in lost]
    assert len(salvage.damages) + (salvage.unfinished is not None) == 1


@given(st.data())
def test_octets_that_are_gone_or_too_many_cost_the_blocks_that_they_touch(data: st.DataObject):
    start = data.draw(st.integers(0, len(WHOLE)))
    end = data.draw(st.integers(start, min(len(WHOLE), start + 2000)))
    other = data.draw(st.binary(max_size=50))
    octets = WHOLE[:start] + other + WHOLE[end:]
    _salvage, found = salvaged(octets)
    touched = [block for block in BLOCKS if block.offset < end and start < block.end]
    lost = {number for block in touched for number in numbers(block)}
    # What begins or ends where octets were put in may be read or not; nothing is made up.
    around = [
        block for block in BLOCKS if block.end in (start, end) or block.offset in (start, end)
    ]
    doubtful = {number for block in around for number in numbers(block)}
    assert set(RECORDS) - lost - doubtful <= set(found) <= set(RECORDS)
    assert found == sorted(set(found))


def test_of_a_damage_the_records_are_told_that_are_missing():
    block = [block for block in BLOCKS if block.kind == BlockKind.RECORDS][2]
    octets = bytearray(WHOLE)
    octets[block.start + 40] ^= 1
    salvage, _found = salvaged(bytes(octets))
    (damage,) = salvage.damages
    missing = numbers(block)
    assert (damage.block, damage.offset) == (block.ordinal, block.offset)
    assert (damage.expected, damage.found) == (min(missing), max(missing) + 1)


def test_a_header_is_made_up_for_by_the_name():
    octets = bytearray(WHOLE)
    octets[20] ^= 1
    salvage, found = salvaged(bytes(octets))
    assert found == RECORDS
    assert [damage.problem for damage in salvage.damages] == ["header checksum differs"]
    header = salvage.segment.header
    assert header is not None
    assert (header.number, header.incarnation) == (1, 1)


def test_of_a_file_without_the_name_of_a_segment_nothing_is_guessed():
    octets = bytearray(WHOLE)
    octets[20] ^= 1
    salvage, found = salvaged(bytes(octets), "some.audit")
    assert (found, salvage.segment.header) == ([], None)


def test_records_that_are_numbered_as_before_are_not_taken_twice():
    """As where a block was copied behind damage."""
    second = BLOCKS[3]
    octets = WHOLE[: second.end] + b"\x00" * 5 + WHOLE[second.offset :]
    _salvage, found = salvaged(octets)
    assert found == RECORDS


def test_what_looks_like_blocks_everywhere_is_searched_for_so_long_only():
    """A header every twelve octets that says that all behind it is its content."""
    count = 20_000
    total = count * BLOCK_HEADER.size
    forged = b"".join(
        BLOCK_HEADER.pack(0, total - (each + 1) * BLOCK_HEADER.size, 1, 0, SCHEMA_VERSION)
        for each in range(count)
    )
    salvage, found = salvaged(WHOLE + b"\x07" * 3 + forged)
    assert found == RECORDS
    assert salvage.damages


@pytest.mark.parametrize("tail", [b"\x00" * 100, WHOLE[BLOCKS[-1].offset : -10]])
def test_a_tail_that_was_never_filled_is_no_damage(tail: bytes):
    salvage, found = salvaged(WHOLE[: BLOCKS[-1].offset] + tail)
    assert (salvage.damages, found) == ([], RECORDS[:-3])
    assert salvage.unfinished is not None
