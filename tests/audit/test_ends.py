"""What is remembered of a log's ends, and what is not there any more."""

from hashlib import sha256
from pathlib import Path

import pytest
from support.audit_logs import UNREADABLE, balanced_log, put_unreadable

from gateway.audit.ends import (
    HEAD_OCTETS,
    NOTHING_KNOWN,
    Difference,
    LogEnd,
    LogEnds,
    beginning,
    differences,
    has_messages,
    holes,
    last_incarnation,
    newest,
    size_of,
    untold,
)
from gateway.audit.reader import Segment, last_sequence, segment_paths
from gateway.audit.records.log import AuditLog
from gateway.audit.segment import SegmentWriter


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return balanced_log(tmp_path, 30, segment_octets=2000)


def ends_of(directory: Path) -> LogEnds:
    writer = SegmentWriter(directory)
    ends = LogEnds(beginning(directory), writer.synced)
    writer.close()
    return ends


def problems(directory: Path, ends: LogEnds) -> list[str]:
    return [each.problem for each in differences(directory, ends)]


def test_the_beginning_is_the_first_record_and_its_segments_header(log: Path):
    first = beginning(log)
    assert first is not None
    octets = segment_paths(log)[0].read_bytes()
    assert (first.sequence, first.segment) == (1, 1)
    assert first.sha256 == sha256(octets[: first.offset]).hexdigest()


def test_a_log_that_is_whole_is_as_remembered_and_so_is_one_that_has_gone_on(log: Path):
    ends = ends_of(log)
    assert differences(log, ends) == []
    writer = SegmentWriter(log)
    records = AuditLog(3, writer.last_sequence + 1)
    records.clock(1, 0)
    writer.append(records.take_block(1))
    writer.close()
    assert differences(log, ends) == []


def test_of_nothing_remembered_nothing_differs(log: Path):
    assert differences(log, NOTHING_KNOWN) == []


def test_a_missing_first_segment_is_seen(log: Path):
    ends = ends_of(log)
    segment_paths(log)[0].unlink()
    (found,) = differences(log, ends)
    assert found.problem == "the log begins here; segments from number 1 on are missing"
    assert (found.segment, found.expected) == (segment_paths(log)[0].name, 1)


def test_a_missing_newest_segment_is_seen(log: Path):
    ends = ends_of(log)
    assert ends.last is not None
    segment_paths(log)[-1].unlink()
    (found,) = differences(log, ends)
    assert "is missing: the log had come to it" in found.problem
    assert found.expected == ends.last.sequence


@pytest.mark.parametrize("cut", [1, 500])
def test_a_newest_segment_that_was_cut_is_seen(log: Path, cut: int):
    ends = ends_of(log)
    path = segment_paths(log)[-1]
    path.write_bytes(path.read_bytes()[:-cut])
    (problem,) = problems(log, ends)
    assert problem.endswith("at least")


@pytest.mark.parametrize("place", [0, -1])
def test_an_end_that_was_changed_is_seen(log: Path, place: int):
    ends = ends_of(log)
    path = segment_paths(log)[place]
    octets = bytearray(path.read_bytes())
    octets[40 if place == 0 else -10] ^= 1
    path.write_bytes(octets)
    assert problems(log, ends) == ["it is not what it was"]


def test_a_log_that_is_gone_is_seen(tmp_path: Path):
    ends = LogEnds(LogEnd(1, 1, 10, "a"), LogEnd(9, 2, 10, "b"))
    assert problems(tmp_path, ends) == ["segment number 2 is missing: the log had come to it"]


def test_a_segment_that_was_left_as_it_was_is_remembered_whole(log: Path):
    path = segment_paths(log)[-1]
    whole = LogEnd(7, int(path.name.partition("-")[0]), 0, sha256(path.read_bytes()).hexdigest())
    assert differences(log, LogEnds(None, whole)) == []
    with path.open("ab") as file:
        file.write(b"x")
    assert problems(log, LogEnds(None, whole)) == ["it is not what it was"]


def test_messages_are_found_and_what_is_none_is_not(log: Path, tmp_path: Path):
    assert has_messages(log)
    empty = tmp_path / "empty"
    writer = SegmentWriter(empty)
    assert not has_messages(empty)
    records = AuditLog(1)
    records.incarnation_started(1, "1")
    records.topology(1, reason=1, node=records.name("q"))
    writer.append(records.take_block(1))
    writer.close()
    assert not has_messages(empty)


def test_the_last_life_and_the_size_are_those_of_the_segments(log: Path, tmp_path: Path):
    assert last_incarnation(log) == 2
    assert last_incarnation(tmp_path / "none") == 0
    count, octets = size_of(log)
    assert (count, octets) == (
        len(segment_paths(log)),
        sum(path.stat().st_size for path in segment_paths(log)),
    )
    (log / "odd.audit").write_bytes(b"")
    assert last_incarnation(log) == 2
    assert size_of(log) == (count, octets)


def test_a_difference_reads_as_one_line():
    assert str(Difference("s", "cut", 7)) == "s: cut (record 7)"
    assert str(Difference("", "gone", 7)) == "gone (record 7)"


def head_of(log: Path, place: int) -> tuple[Path, int]:
    path = segment_paths(log)[place]
    return path, int(path.name[:10])


def test_a_log_has_no_holes(log: Path, tmp_path: Path):
    assert len(segment_paths(log)) > 3
    assert holes(log) == {}
    assert holes(tmp_path / "none") == {}


def test_a_hole_is_named_by_the_segment_and_the_record_behind_it(log: Path):
    (gone, number), (behind, _) = head_of(log, 1), head_of(log, 2)
    *_, block, _seal = Segment("", gone.read_bytes()).blocks()
    last = last_sequence(gone.read_bytes(), block)
    gone.unlink()
    text = f"segment number {number} is missing: the log goes on here"
    assert holes(log) == {(number, number): Difference(behind.name, text, last)}
    _, first = head_of(log, 0)
    ends = LogEnds(None, None, frozenset({(first, number)}))
    assert untold(holes(log), ends) == []
    assert len(untold(holes(log), NOTHING_KNOWN)) == 1


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "another", "twice"])
def test_what_is_not_the_segment_of_its_name_is_a_hole(log: Path, harm: str):
    path, number = head_of(log, 2)
    octets = path.read_bytes()
    if harm == "twice":
        path.with_name(path.name.replace("-000001", "-000000")).write_bytes(octets)
    else:
        path.write_bytes(
            {
                "cut": octets[:100],
                "changed": octets[:40] + bytes([octets[40] ^ 1]) + octets[41:],
                "empty": b"",
                "another": head_of(log, 1)[0].read_bytes(),
            }[harm]
        )
    assert list(holes(log)) == [(number, number)]


def test_a_name_of_a_number_far_away_costs_nothing(log: Path):
    path, number = head_of(log, -1)
    (log / "9999999999-000001.audit").write_bytes(path.read_bytes())
    assert set(holes(log)) == {(number + 1, 9999999998), (9999999999, 9999999999)}


def test_a_newest_segment_that_came_to_nothing_is_none(log: Path):
    _path, number = head_of(log, -1)
    (log / "9999999999-000001.audit").write_bytes(b"")
    assert holes(log) == {}
    assert newest(log) == number
    assert newest(log / "none") == 0


def test_the_record_behind_a_hole_is_named_also_where_its_block_is_a_long_one(tmp_path: Path):
    audit = AuditLog(1)
    audit.incarnation_started(1, "1")
    writer = SegmentWriter(tmp_path)
    writer.append(audit.take_block(1))
    for life in (2, 3):
        writer.close()
        audit = AuditLog(life, writer.last_sequence + 1)
        audit.incarnation_started(1, "1")
        for _ in range(HEAD_OCTETS // 50):
            audit.clock(1, 0)
        writer = SegmentWriter(tmp_path)
        writer.append(audit.take_block(1))
    writer.close()
    segment_paths(tmp_path)[1].unlink()
    (found,) = holes(tmp_path).values()
    assert found.expected == HEAD_OCTETS // 50 + 2


def test_no_more_than_the_headers_is_read(log: Path):
    for path in segment_paths(log):
        with path.open("r+b") as file:
            file.truncate(next(Segment("", path.read_bytes()).blocks()).offset)
    assert holes(log) == {}


@pytest.mark.parametrize("kind", [*UNREADABLE, "device"])
@pytest.mark.parametrize("place", [0, -1])
def test_what_has_a_segments_name_and_is_no_file_is_missed_and_nobody_waits_for_it(
    log: Path, kind: str, place: int
):
    path, number = head_of(log, place)
    ends = ends_of(log)
    path.unlink()
    if kind == "device":
        path.symlink_to("/dev/zero")
    else:
        put_unreadable(path, kind)
    (found,) = differences(log, ends)
    assert found.segment == path.name
    assert found.problem.startswith("it cannot be read: ")
    assert holes(log)[number, number].problem == found.problem
    assert last_incarnation(log) == 2
    assert has_messages(log)
    assert size_of(log)[0] == len(segment_paths(log))
    writer = SegmentWriter(log)
    assert bool(writer.damaged) == (place == -1)
    assert writer.last_sequence > 1
    assert not (log / "nowhere").exists()


def test_a_log_begins_where_it_is_said_to_whatever_was_left_of_what_went(log: Path):
    first = beginning(log, 3)
    assert first is not None
    assert first.segment == 3
    ends = ends_of(log)._replace(first=first)
    assert problems(log, ends) == []
    segment_paths(log)[1].unlink()  # the system has kept one of two that were removed
    assert problems(log, ends) == []
    assert list(holes(log, 3)) == []
    assert list(holes(log)) == [(2, 2)]
    segment_paths(log)[0].unlink()
    assert problems(log, ends) == []


def test_what_is_missing_behind_that_is_seen_also_where_some_of_what_went_is_left(log: Path):
    ends = ends_of(log)._replace(first=beginning(log, 3))
    segment_paths(log)[2].unlink()
    assert problems(log, ends) == ["the log begins here; segments from number 3 on are missing"]
