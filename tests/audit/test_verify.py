"""A whole log is held against its numbers, its chain and its checksums; a cause is told once."""

import re
import struct
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit_logs import balanced_log, busy_log

from gateway.audit.reader import Damage, Segment, segment_paths, sequence_at
from gateway.audit.records.log import AuditLog
from gateway.audit.salvage import Salvage
from gateway.audit.schema import BLOCK_HEADER, RECORD_OCTETS, SCHEMA_VERSION, BlockKind
from gateway.audit.segment import SegmentWriter, _header
from gateway.audit.verify import WHOLE, verify, verify_segment


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Of some segments."""
    return balanced_log(tmp_path, 30, segment_octets=2000)


def records_blocks(path: Path) -> list[tuple[int, int]]:
    """Where the blocks of records are."""
    blocks = Segment(path.name, path.read_bytes()).blocks()
    return [(block.offset, block.end) for block in blocks if block.kind == BlockKind.RECORDS]


def flip(path: Path, at: int) -> None:
    octets = bytearray(path.read_bytes())
    octets[at] ^= 1
    path.write_bytes(octets)


def test_a_whole_log_verifies(tmp_path: Path):
    assert verify(balanced_log(tmp_path, 30, segment_octets=2000)) == WHOLE


def test_a_missing_segment_is_named(tmp_path: Path):
    balanced_log(tmp_path, 30, segment_octets=2000)
    segment_paths(tmp_path)[1].unlink()
    (damage,) = verify(tmp_path).damages
    assert damage.problem == "segment number 2 is missing"
    assert 0 < damage.expected < damage.found


def edit(path: Path) -> None:
    """Another message id in the first record, with the right checksum."""
    octets = path.read_bytes()
    (block, *_rest) = [block for block in Segment("s", octets).blocks() if block.kind == 2]
    content = bytearray(octets[block.start : block.end])
    content[20] ^= 1
    head = octets[block.offset + 4 : block.start]
    forged = struct.pack("<I", crc32(bytes(content), crc32(head))) + head + bytes(content)
    path.write_bytes(octets[: block.offset] + forged + octets[block.end :])


def test_an_edited_segment_breaks_the_chain_even_with_right_checksums(tmp_path: Path):
    balanced_log(tmp_path, 30, segment_octets=2000, seals=False)
    path = segment_paths(tmp_path)[0]
    edit(path)
    (damage,) = verify(tmp_path).damages
    assert damage.problem == f"chain broken: {path.name} was changed"
    assert damage.segment == segment_paths(tmp_path)[1].name


def test_an_edited_segment_is_not_what_was_sealed_and_that_is_told_once(log: Path):
    path = segment_paths(log)[0]
    edit(path)
    (damage,) = verify(log).damages
    assert damage.segment == path.name
    assert re.fullmatch("records 1 to [0-9]+ are not what they were .* sealed", damage.problem)


def test_a_record_cut_out_is_a_gap_at_its_place_even_with_the_right_checksum(tmp_path: Path):
    log = AuditLog(1)
    log.incarnation_started(1, "0.1")
    for turn in range(5):
        log.clock(turn, 0)
    octets = log.take_block(1)
    names_end = BLOCK_HEADER.size + BLOCK_HEADER.unpack_from(octets)[1]
    content = octets[names_end + BLOCK_HEADER.size :]
    content = content[: 3 * RECORD_OCTETS] + content[4 * RECORD_OCTETS :]
    head = struct.pack("<IBBH", len(content), 2, 0, SCHEMA_VERSION)
    forged = struct.pack("<I", crc32(content, crc32(head))) + head + content
    header = _header(1, 1, "0" * 64)
    (tmp_path / "0000000001-000001.audit").write_bytes(header + octets[:names_end] + forged)
    place = len(header) + names_end + BLOCK_HEADER.size + 3 * RECORD_OCTETS
    assert verify(tmp_path).damages == [Damage("0000000001-000001.audit", 1, place, "gap", 4, 5)]


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_log_may_end_in_half_a_block_since_a_gateway_may_be_writing_it(tmp_path: Path, cut: int):
    path = segment_paths(balanced_log(tmp_path))[-1]
    path.write_bytes(path.read_bytes()[:-cut])
    damages, unfinished = verify(tmp_path)
    assert damages == []
    assert unfinished is not None
    assert (unfinished.segment, unfinished.problem) == (path.name, "incomplete block")


def test_half_a_block_is_damage_where_it_is_all_there_is_or_a_segment_is_looked_at_alone(
    tmp_path: Path,
):
    path = segment_paths(balanced_log(tmp_path))[-1]
    octets = path.read_bytes()
    path.write_bytes(octets[:-1])
    assert [each.problem for each in verify_segment(path).damages] == ["incomplete block"]
    for other in segment_paths(tmp_path)[:-1]:
        other.unlink()
    for content, problem in ((b"", "incomplete header"), (octets[:9], "incomplete header")):
        path.write_bytes(content)
        damages, unfinished = verify(tmp_path)
        assert ([each.problem for each in damages], unfinished) == ([problem], None)


def test_half_a_block_that_another_segment_follows_is_damage(log: Path):
    first = segment_paths(log)[0]
    first.write_bytes(first.read_bytes()[: records_blocks(first)[-1][1] - 10])
    damages, unfinished = verify(log)
    (damage,) = damages
    assert (damage.segment, damage.problem, unfinished) == (first.name, "incomplete block", None)
    assert 0 < damage.expected < damage.found


def test_an_octet_that_changed_costs_its_block_and_is_told_once(log: Path):
    path = segment_paths(log)[1]
    blocks = records_blocks(path)
    flip(path, blocks[2][0] + 30)
    (damage,) = verify(log).damages
    assert (damage.offset, damage.problem) == (blocks[2][0], "block checksum differs")
    records = (blocks[2][1] - blocks[2][0] - BLOCK_HEADER.size) // RECORD_OCTETS
    assert damage.found - damage.expected == records


def test_an_octet_of_the_last_block_of_a_segment_costs_that_alone(log: Path):
    path = segment_paths(log)[1]
    offset, end = records_blocks(path)[-1]
    flip(path, end - 1)
    (damage,) = verify(log).damages
    records = (end - offset - BLOCK_HEADER.size) // RECORD_OCTETS
    assert (damage.segment, damage.found - damage.expected) == (path.name, records)


def test_an_octet_of_the_first_block_of_all_costs_that_alone(log: Path):
    path = segment_paths(log)[0]
    offset, end = records_blocks(path)[0]
    flip(path, end - 1)
    (damage,) = verify(log).damages
    records = (end - offset - BLOCK_HEADER.size) // RECORD_OCTETS
    assert (damage.offset, damage.expected, damage.found) == (offset, 1, records + 1)


def test_a_file_of_which_nothing_can_be_read_is_one_damage(log: Path):
    path = segment_paths(log)[1]
    path.write_bytes(b"x" * 3000)
    (damage,) = verify(log).damages
    assert (damage.segment, damage.problem) == (path.name, "not an audit segment")
    assert 0 < damage.expected < damage.found


def test_names_at_the_end_of_a_segment_that_are_damaged_cost_no_record(tmp_path: Path):
    log = AuditLog(1, segment_octets=100)
    log.incarnation_started(1, "0.1")
    writer = SegmentWriter(tmp_path)
    writer.append(log.take_block(1))
    log.clock(2, 0)
    writer.append(log.take_block(2))
    writer.close()
    first, second = segment_paths(tmp_path)
    half = BLOCK_HEADER.pack(7, 2, BlockKind.NAMES, 0, SCHEMA_VERSION)
    first.write_bytes(first.read_bytes() + half + b"xx")
    (damage,) = verify(tmp_path).damages
    assert str(damage).endswith("block checksum differs")
    assert (damage.segment, damage.found) == (first.name, damage.expected)
    assert second.exists()


@pytest.mark.parametrize("cut", [0, 9])
def test_half_a_block_behind_the_gateways_last_word_is_damage(tmp_path: Path, cut: int):
    path = segment_paths(balanced_log(tmp_path))[-1]
    octets = path.read_bytes()
    path.write_bytes(octets + b"\x00" * 40 if cut == 0 else octets + octets[-cut:])
    damages, unfinished = verify(tmp_path)
    assert (len(damages), unfinished) == (1, None)


def test_an_octet_of_a_segments_header_costs_no_record(log: Path):
    path = segment_paths(log)[1]
    flip(path, 30)
    (damage,) = verify(log).damages
    assert (damage.segment, damage.problem) == (path.name, "header checksum differs")
    assert damage.found == damage.expected


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of thousands of records."""
    return busy_log(tmp_path_factory.mktemp("busy"))


@given(data=st.data())
def test_any_bit_of_a_large_log_is_one_cause_and_costs_the_records_of_its_block(
    busy: Path, data: st.DataObject
):
    path = data.draw(st.sampled_from(segment_paths(busy)))
    octets = path.read_bytes()
    at = data.draw(st.integers(0, len(octets) - 1))
    blocks = [each for each in Segment(path.name, octets).blocks() if each.offset <= at < each.end]
    numbers = [
        sequence_at(octets, place)
        for block in blocks
        if block.kind == BlockKind.RECORDS
        for place in block.places()
    ]
    flipped = octets[at] ^ 1 << data.draw(st.integers(0, 7))
    path.write_bytes(octets[:at] + bytes([flipped]) + octets[at + 1 :])
    try:
        damages, unfinished = verify(busy)
        kept = [
            sequence_at(octets, place)
            for block in Salvage(Segment(path.name, path.read_bytes())).blocks()
            if block.kind == BlockKind.RECORDS
            for place in block.places()
        ]
    finally:
        path.write_bytes(octets)
    (damage,) = [*damages, *([] if unfinished is None else [unfinished])]
    assert damage.segment == path.name
    assert not set(numbers) & set(kept)
    if damage.found:
        assert list(range(damage.expected, damage.found)) == numbers


def test_several_damages_are_told_each(log: Path):
    paths = segment_paths(log)
    flip(paths[0], records_blocks(paths[0])[1][0] + 5)
    flip(paths[2], records_blocks(paths[2])[0][0] + 50)
    flip(paths[4], records_blocks(paths[4])[1][0])
    told = [(damage.segment, damage.found > damage.expected) for damage in verify(log).damages]
    assert told == [(paths[each].name, True) for each in (0, 2, 4)]


def test_a_segment_alone_may_begin_with_any_number(log: Path):
    assert [verify_segment(path) for path in segment_paths(log)] == [WHOLE] * len(
        segment_paths(log)
    )
