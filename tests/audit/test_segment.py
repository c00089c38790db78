"""Segments on disk: rotation, the chain, restarts, torn tails, full disks."""

import os
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit_logs import balanced_log
from support.bad_logs import BEHIND, deep
from support.faulty_disk import FAULTS, FULL, SHORT, UNSYNCED, FaultyDisk
from support.stores import scratch

from gateway.audit.ends import LogEnd, LogEnds, differences
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import NO_LIFE, BlockKind, segment_name
from gateway.audit.sealing import Sealer
from gateway.audit.seals import seal_in
from gateway.audit.segment import SegmentWriter
from gateway.audit.verify import WHOLE, verify


def sequences(directory: Path) -> list[int]:
    return [
        record["sequence"]
        for path in segment_paths(directory)
        for record in records(Segment(path.name, path.read_bytes()))
    ]


def blocks(count: int, **options: int) -> list[bytes]:
    log = AuditLog(1, **options)
    log.incarnation_started(1, "0.1")
    turns = []
    for _ in range(count):
        log.topology(1, reason=1, node=log.name("q"))
        turns.append(log.take_block(1))
    return turns


def test_what_was_appended_can_be_read(tmp_path: Path):
    writer = SegmentWriter(tmp_path)
    for block in blocks(3):
        writer.append(block)
    writer.close()
    assert sequences(tmp_path) == [1, 2, 3, 4]
    assert verify(tmp_path) == WHOLE
    assert writer.last_sequence == 4


def test_segments_are_chained_and_numbered_on(tmp_path: Path):
    writer = SegmentWriter(tmp_path)
    for block in blocks(6, segment_octets=300):
        writer.append(block)
    writer.close()
    assert writer.segments > 2
    assert sequences(tmp_path) == list(range(1, 8))
    assert verify(tmp_path) == WHOLE


def test_a_log_that_is_written_again_in_full_stays_as_it_is(tmp_path: Path):
    turns = blocks(6, segment_octets=300)
    writer = SegmentWriter(tmp_path)
    for _ in range(2):
        for block in turns:
            writer.append(block)
        writer.append(b"".join(turns))
    writer.close()
    assert sequences(tmp_path) == list(range(1, 8))
    assert verify(tmp_path) == WHOLE


@given(st.integers(0, 10**6), st.integers(100, 2000))
def test_after_a_crash_anywhere_the_missing_blocks_make_the_same_log(cut: int, octets: int):
    turns = blocks(12, segment_octets=octets)
    with tempfile.TemporaryDirectory() as scratch:
        whole, broken = Path(scratch, "whole"), Path(scratch, "broken")
        for directory in (whole, broken):
            writer = SegmentWriter(directory)
            for block in turns:
                writer.append(block)
            writer.close()
        last = segment_paths(broken)[-1]
        os.truncate(last, cut % (last.stat().st_size + 1))
        reopened = SegmentWriter(broken)
        reopened.append(b"".join(turns))
        reopened.close()
        assert sequences(broken) == sequences(whole)
        assert verify(broken) == WHOLE


def test_a_torn_tail_is_cut_and_counted(tmp_path: Path):
    balanced_log(tmp_path)
    last = segment_paths(tmp_path)[-1]
    with last.open("ab") as file:
        file.write(b"torn")
    writer = SegmentWriter(tmp_path)
    assert writer.cut_octets == 4
    assert writer.damaged == ""
    writer.close()
    assert verify(tmp_path) == WHOLE


def test_a_tail_of_zeros_is_torn_too(tmp_path: Path):
    balanced_log(tmp_path)
    with segment_paths(tmp_path)[-1].open("ab") as file:
        file.write(bytes(1000))
    assert SegmentWriter(tmp_path).cut_octets == 1000


def with_a_hole(directory: Path, at: int) -> Path:
    """The log's last segment, of which some was not written by the system before a power cut."""
    path = segment_paths(directory)[-1]
    octets = bytearray(path.read_bytes())
    octets[at : at + 150] = bytes(150)
    path.write_bytes(octets)
    return path


def ended(path: Path, offset: int) -> LogEnd:
    segment = Segment(path.name, path.read_bytes())
    assert segment.header is not None
    return LogEnd(1, segment.header.number, offset, "")


def test_what_a_power_cut_made_of_octets_that_were_not_synced_is_cut(tmp_path: Path) -> None:
    balanced_log(tmp_path, seals=False)
    whole = segment_paths(tmp_path)[-1].read_bytes()
    *_, before, damaged, _ = Segment("", whole).blocks()
    path = with_a_hole(tmp_path, damaged.offset + 3)
    octets = path.read_bytes()
    for end in (None, ended(path, len(whole)), ended(path, damaged.end), ended(path, 0)):
        assert SegmentWriter(tmp_path, end).cut == ""
        assert path.read_bytes() == octets
    writer = SegmentWriter(tmp_path, ended(path, before.end))
    assert f"offset {damaged.offset}: block" in writer.cut
    assert (writer.damaged, writer.cut_octets) == ("", len(whole) - before.end)
    assert writer.last_sequence == sequences(tmp_path)[-1]
    writer.append(whole[damaged.offset :])  # as the store has it
    writer.close()
    assert (path.read_bytes(), verify(tmp_path).damages) == (whole, [])


def test_a_segment_begun_behind_what_was_synced_may_be_cut_anywhere(tmp_path: Path) -> None:
    balanced_log(tmp_path, seals=False)
    first, last = segment_paths(tmp_path)
    whole = last.read_bytes()
    block = next(Segment("", whole).blocks())
    with_a_hole(tmp_path, block.offset)
    writer = SegmentWriter(tmp_path, ended(first, 10))
    assert writer.cut != ""
    assert last.read_bytes() == whole[: block.offset]
    writer.append(whole[block.offset :])
    writer.close()
    assert (last.read_bytes(), verify(tmp_path).damages) == (whole, [])


def begun(directory: Path) -> Path:
    """A log whose newest segment has its header, and nothing else."""
    balanced_log(directory, seals=False)
    path = segment_paths(directory)[-1]
    os.truncate(path, next(Segment(path.name, path.read_bytes()).blocks()).offset)
    return path


@pytest.mark.parametrize("others", [True, False])
def test_a_segment_that_was_begun_stays_for_ever(tmp_path: Path, others: bool) -> None:
    path = begun(tmp_path)
    if not others:
        segment_paths(tmp_path)[0].unlink()
    header, before = path.read_bytes(), sequences(tmp_path)
    for _ in range(2):
        writer = SegmentWriter(tmp_path)
        assert writer.last_sequence == len(before)
        assert writer.synced[1:3] == (2, len(header))
        writer.close()
        assert (path.read_bytes(), writer.cut_octets) == (header, 0)
    records = AuditLog(3, writer.last_sequence + 1)
    records.incarnation_started(1, "0.1")
    writer = SegmentWriter(tmp_path)
    writer.append(records.take_block(1))
    writer.close()
    assert path.read_bytes() == header
    assert segment_paths(tmp_path)[-1].name == "0000000003-000003.audit"
    assert verify(tmp_path) == WHOLE


def test_a_segment_that_was_begun_takes_the_records_of_its_own_life(tmp_path: Path) -> None:
    balanced_log(tmp_path, seals=False)
    path = segment_paths(tmp_path)[-1]
    whole = path.read_bytes()
    at = next(Segment(path.name, whole).blocks()).offset
    os.truncate(path, at)
    writer = SegmentWriter(tmp_path)
    writer.append(whole[at:])
    writer.close()
    assert (path.read_bytes(), verify(tmp_path)) == (whole, WHOLE)


def test_numbers_of_records_behind_damage_count_before_a_segment_that_was_begun(
    tmp_path: Path,
) -> None:
    begun(tmp_path)
    first = segment_paths(tmp_path)[0]
    octets = bytearray(first.read_bytes())
    last = sequences(tmp_path)[-1]
    octets[-200] ^= 1
    first.write_bytes(octets)
    assert SegmentWriter(tmp_path).last_sequence == last


def test_the_end_is_in_a_segment_as_soon_as_it_is_begun(tmp_path: Path) -> None:
    turns = blocks(2)
    writer = SegmentWriter(tmp_path)
    assert writer.synced.segment == 0
    writer.append(turns[0])
    path = segment_paths(tmp_path)[0]
    at = next(Segment(path.name, path.read_bytes()).blocks()).offset
    assert writer.synced[:3] == (0, 1, at)
    assert differences(tmp_path, LogEnds(None, writer.synced)) == []
    writer.append(turns[1])
    writer.sync()
    assert writer.synced[:3] == (3, 1, path.stat().st_size)


def test_damaged_lengths_lead_to_no_number_that_never_was(tmp_path: Path) -> None:
    balanced_log(tmp_path, seals=False)
    path = segment_paths(tmp_path)[-1]
    *_, damaged, _ = Segment("", path.read_bytes()).blocks()
    with_a_hole(tmp_path, damaged.offset + 50)
    octets = bytearray(path.read_bytes())
    at = damaged.end - damaged.record_octets
    octets[at : at + 8] = b"\xff" * 7 + b"\x7f"
    path.write_bytes(octets)
    before = sequences(tmp_path)[-1]
    writer = SegmentWriter(tmp_path)
    assert "checksum" in writer.damaged
    assert before < writer.last_sequence < before + 100


def test_damage_that_no_crash_makes_is_left_and_the_log_goes_on_behind_it(tmp_path: Path):
    balanced_log(tmp_path)
    last = segment_paths(tmp_path)[-1]
    octets = bytearray(last.read_bytes())
    octets[-200] ^= 1
    last.write_bytes(octets)
    before = sequences(tmp_path)
    writer = SegmentWriter(tmp_path)
    assert "block checksum differs" in writer.damaged
    assert writer.last_sequence > before[-1]
    log = AuditLog(3, writer.last_sequence + 1)
    log.incarnation_started(1, "0.1")
    writer.append(log.take_block(1))
    writer.close()
    assert last.read_bytes() == octets
    assert len(segment_paths(tmp_path)) == 3
    assert verify(tmp_path).damages[0].problem == "block checksum differs"


def test_what_goes_on_behind_a_destroyed_header_is_of_the_life_that_wrote_it(
    tmp_path: Path,
) -> None:
    first, second, third = blocks(3)
    writer = SegmentWriter(tmp_path)
    writer.append(first)
    writer.close()
    path = segment_paths(tmp_path)[0]
    path.write_bytes(bytes(64) + path.read_bytes()[64:])
    writer = SegmentWriter(tmp_path)
    writer.append(second)
    writer.append(third)
    writer.close()
    assert [path.name for path in segment_paths(tmp_path)] == [path.name, segment_name(1, 2)]


def test_what_the_log_has_before_a_segment_that_is_none_is_not_written_again(
    tmp_path: Path,
) -> None:
    first, second, third = blocks(3)
    writer = SegmentWriter(tmp_path)
    writer.append(first + second)
    writer.close()
    held = writer.last_sequence
    deep(tmp_path)
    writer = SegmentWriter(tmp_path)
    assert writer.last_sequence == held
    writer.append(first + second + third)
    writer.close()
    found = verify(tmp_path).damages
    assert (found[0].segment, found[0].problem) == (BEHIND, "header is not a header")
    assert all("expected record" not in str(each) for each in found)


def test_what_goes_on_behind_missing_segments_is_of_the_life_that_wrote_it(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    writer.go_on_behind(4, 3)
    writer.append(blocks(2)[1])
    writer.close()
    assert [path.name for path in segment_paths(tmp_path)] == [segment_name(3, 5)]


def test_a_new_incarnation_starts_a_segment_of_its_own(tmp_path: Path):
    balanced_log(tmp_path)
    names = [path.name for path in segment_paths(tmp_path)]
    assert names == ["0000000001-000001.audit", "0000000002-000002.audit"]


def test_a_full_disk_leaves_whole_blocks_and_the_append_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    turns = blocks(3)
    writer = SegmentWriter(tmp_path)
    writer.append(turns[0])
    size = segment_paths(tmp_path)[0].stat().st_size
    disk = FaultyDisk(monkeypatch)
    disk.fail(SHORT)
    with pytest.raises(OSError, match="No space"):
        writer.append(turns[1])
    assert segment_paths(tmp_path)[0].stat().st_size == size
    writer.append(turns[1] + turns[2])
    writer.sync()
    writer.close()
    assert sequences(tmp_path) == [1, 2, 3, 4]
    assert verify(tmp_path) == WHOLE


def test_a_torn_block_that_cannot_be_cut_at_once_is_cut_before_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    turns = blocks(2)
    writer = SegmentWriter(tmp_path)
    writer.append(turns[0])
    size = segment_paths(tmp_path)[0].stat().st_size
    disk = FaultyDisk(monkeypatch)
    disk.fail(SHORT)
    real = disk._real["ftruncate"]
    disk._real["ftruncate"] = refuse
    with pytest.raises(OSError, match="No space"):
        writer.append(turns[1])
    assert segment_paths(tmp_path)[0].stat().st_size > size
    with pytest.raises(OSError, match="not now"):
        writer.append(turns[1])
    disk._real["ftruncate"] = real
    writer.append(turns[1])
    writer.close()
    assert sequences(tmp_path) == [1, 2, 3]
    assert verify(tmp_path) == WHOLE


def refuse(_file: int, _size: int) -> None:
    raise OSError("not now")


def test_a_disk_that_is_full_when_a_segment_starts_leaves_the_log_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    turns = blocks(4, segment_octets=100)
    writer = SegmentWriter(tmp_path)
    writer.append(turns[0])
    writer.sync()
    FaultyDisk(monkeypatch).fail(FULL, times=2)
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            writer.append(turns[1])
    for block in turns[1:]:
        writer.append(block)
    writer.close()
    assert sequences(tmp_path) == [1, 2, 3, 4, 5]
    assert verify(tmp_path) == WHOLE


def test_after_a_failed_sync_what_was_unsynced_goes_into_a_new_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    turns = blocks(4)
    writer = SegmentWriter(tmp_path)
    disk = FaultyDisk(monkeypatch)
    writer.append(turns[0] + turns[1])
    writer.sync()
    end = writer.synced
    writer.append(turns[2])
    disk.fail(UNSYNCED)
    with pytest.raises(OSError, match="Input/output"):
        writer.sync()
    assert (writer.synced, writer.last_sequence) == (end, 4)
    assert writer.unsynced_octets == len(turns[2])
    writer.append(turns[3])
    writer.sync()
    first, second = segment_paths(tmp_path)
    assert first.stat().st_size == end.offset
    assert writer.synced == (5, 2, second.stat().st_size, writer.synced.sha256)
    assert writer.unsynced_octets == 0
    assert sequences(tmp_path) == [1, 2, 3, 4, 5]
    assert verify(tmp_path) == WHOLE


def test_a_segment_that_takes_another_ones_place_can_be_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    turns = blocks(3)
    writer = SegmentWriter(tmp_path)
    disk = FaultyDisk(monkeypatch)
    writer.append(turns[0])  # has the names
    writer.sync()
    writer.append(turns[1])
    disk.fail(UNSYNCED, times=2)  # and the next one's header
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            writer.sync()
    writer.sync()
    writer.append(turns[2])
    writer.close()
    last = segment_paths(tmp_path)[-1]
    shown = [*records(Segment(last.name, last.read_bytes()))]
    assert [record["node"] for record in shown] == ["q", "q"]
    assert verify(tmp_path) == WHOLE


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("times", [1, 3])
def test_whatever_fails_at_any_operation_the_log_is_whole_in_the_end(fault: str, times: int):
    turns = blocks(8, segment_octets=700)
    at, failed = 0, times
    while failed:  # until the fault comes too late for all its times
        scratch_directory = scratch()
        directory = Path(scratch_directory.name)
        with pytest.MonkeyPatch.context() as monkeypatch:
            failed = written_with(directory, turns, FaultyDisk(monkeypatch), fault, at, times)
        assert sequences(directory) == list(range(1, 10)), f"at {at}"
        assert verify(directory) == WHOLE, f"at {at}"
        assert no_names_are_missing(directory), f"at {at}"
        scratch_directory.cleanup()
        at += 1
    assert at > 10


def written_with(
    directory: Path, turns: list[bytes], disk: FaultyDisk, fault: str, at: int, times: int
) -> int:
    """Write a log on a disk with a fault, trying again; how often it failed."""
    writer = SegmentWriter(directory)
    disk.fail(fault, at=at, times=times)
    for number, turn in enumerate(turns):
        until_done(lambda turn=turn: writer.append(turn))
        if number % 2:
            until_done(writer.sync)
    until_done(writer.close)
    return disk.failed


def until_done(step) -> None:
    for _ in range(10):
        try:
            return step()
        except OSError:
            pass
    raise AssertionError("it never works")


def no_names_are_missing(directory: Path) -> bool:
    for path in segment_paths(directory):
        segment = Segment(path.name, path.read_bytes())
        for record in records(segment):
            if str(record.get("node", "")).startswith("#"):
                return False
    return True


def sealing(directory: Path, life: int = 1, **options: int) -> tuple[SegmentWriter, AuditLog]:
    """A writer that seals for this life, which has begun."""
    writer = SegmentWriter(directory)
    writer.sealer = Sealer(life, lambda: 5)
    log = AuditLog(life, writer.last_sequence + 1, **options)
    log.incarnation_started(1, "0.1", writer.incarnation or NO_LIFE)
    writer.append(log.take_block(1))
    return writer, log


def step(writer: SegmentWriter, log: AuditLog) -> None:
    log.clock(1, 0)
    writer.append(log.take_block(1))


def seals(directory: Path) -> list[tuple[str, int]]:
    """Of each seal its segment, and the record that it comes behind."""
    found = []
    for path in segment_paths(directory):
        segment = Segment(path.name, path.read_bytes())
        for block in segment.blocks():
            if block.kind == BlockKind.SEAL:
                head = seal_in(segment.octets[block.start : block.end], "", 0, block.offset)
                assert head is not None
                found.append((path.name, head.sequence))
    return found


def test_a_seal_is_on_disk_and_is_the_end_of_the_log(tmp_path: Path):
    writer, _log = sealing(tmp_path)
    writer.seal()
    assert writer.sealer is not None
    head = writer.sealer.head
    assert head is not None
    octets = segment_paths(tmp_path)[0].read_bytes()
    assert head.sha256 == sha256(octets[: head.offset]).hexdigest()
    assert (head.log, head.segment, head.sequence, head.time_ms) == (writer.log, 1, 1, 5)
    assert writer.synced.offset == len(octets)
    assert verify(tmp_path) == WHOLE


def test_nothing_new_is_not_sealed_again(tmp_path: Path):
    writer, log = sealing(tmp_path)
    writer.seal()
    writer.seal()
    assert [record for _name, record in seals(tmp_path)] == [1]
    step(writer, log)
    writer.seal()
    assert [record for _name, record in seals(tmp_path)] == [1, 2]


def test_a_segment_is_sealed_when_it_is_closed(tmp_path: Path):
    writer, log = sealing(tmp_path, segment_octets=100)
    for _ in range(3):
        step(writer, log)
    first, second, third, _open = [path.name for path in segment_paths(tmp_path)]
    assert seals(tmp_path) == [(first, 1), (second, 2), (third, 3)]


def test_what_another_life_has_left_is_never_sealed(tmp_path: Path):
    writer, log = sealing(tmp_path)
    step(writer, log)
    writer.sync()
    step(writer, log)
    owed = log
    log.clock(1, 0)
    left = log.take_block(1)
    writer = SegmentWriter(tmp_path)
    writer.sealer = Sealer(2, lambda: 5)
    writer.append(left)  # from the store
    writer.seal()
    assert seals(tmp_path) == []
    assert writer.last_sequence == owed.next_sequence - 1
    log = AuditLog(2, writer.last_sequence + 1)
    log.incarnation_started(1, "0.1", 1)
    writer.append(log.take_block(1))
    writer.seal()
    assert [name for name, _record in seals(tmp_path)] == ["0000000002-000002.audit"]
    assert verify(tmp_path) == WHOLE


def test_a_seal_that_may_not_be_on_disk_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    disk = FaultyDisk(monkeypatch)
    writer, log = sealing(tmp_path)
    writer.seal()
    step(writer, log)
    writer.sync()
    disk.fail(UNSYNCED)
    with pytest.raises(OSError, match="error"):
        writer.seal()
    assert writer.sealer is not None
    assert writer.sealer.head is not None
    assert writer.sealer.head.sequence == 1
    writer.seal()
    first, second = [path.name for path in segment_paths(tmp_path)]
    assert seals(tmp_path) == [(first, 1), (second, 2)]
    step(writer, log)
    writer.seal()
    writer.close()
    assert sequences(tmp_path) == [1, 2, 3]
    assert verify(tmp_path) == WHOLE


@given(st.lists(st.sampled_from(["step", "seal", "sync", *FAULTS]), max_size=25))
def test_whatever_the_disk_refuses_seals_are_of_what_is_there(steps: list[str]):
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as monkeypatch:
        directory = Path(scratch)
        disk = FaultyDisk(monkeypatch)
        writer, log = sealing(directory, segment_octets=700)
        owed = b""
        for each in steps:
            if each in FAULTS:
                disk.fail(each)
                continue
            try:
                if each == "step":
                    log.clock(1, 0)
                    owed += log.take_block(1)
                    writer.append(owed)
                    owed = b""
                elif each == "seal":
                    writer.seal()
                else:
                    writer.sync()
            except OSError:
                pass
        disk.heal()
        writer.append(owed)
        writer.seal()
        writer.close()
        assert verify(directory) == WHOLE
        assert sequences(directory) == list(range(1, log.next_sequence))
        assert seals(directory)[-1][1] == log.next_sequence - 1


def test_a_log_keeps_its_id_and_another_has_another(tmp_path: Path):
    writer, _log = sealing(tmp_path / "one")
    writer.close()
    ids = {SegmentWriter(tmp_path / name).log for name in ("one", "one", "two", "three")}
    assert writer.log in ids
    assert len(ids) == 3
    assert SegmentWriter(tmp_path / "four", log="ab").log == "ab"
