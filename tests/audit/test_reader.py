"""Reading is exact: a prefix that is good, and the place where it ends."""

import json
import struct
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit_logs import balanced_log
from support.bad_logs import header_of, with_header

from gateway.audit.reader import Damage, Segment, other_files, records, segment_paths
from gateway.audit.records.log import AuditLog
from gateway.audit.segment import _header


def one_segment(turns: int = 8) -> bytes:
    log = AuditLog(1)
    log.incarnation_started(1, "0.1")
    octets = _header(1, 1, "0" * 64)
    for turn in range(turns):
        log.topology(turn, reason=1, node=log.name(f"queue {turn}"))
        octets += log.take_block(turn)
    return octets


WHOLE = one_segment()
RECORDS = list(records(Segment("s", WHOLE)))
BOUNDARIES = {block.offset for block in Segment("s", WHOLE).blocks()} | {len(WHOLE)}


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_any_changed_octet_ends_a_good_prefix_at_the_block_that_it_is_in(at: int, change: int):
    octets = bytearray(WHOLE)
    octets[at] ^= change
    segment = Segment("s", bytes(octets))
    found = list(records(segment))
    assert found == RECORDS[: len(found)]
    assert segment.damage is not None
    assert segment.damage.offset <= at
    assert len(found) < len(RECORDS)


@given(st.integers(0, len(WHOLE)))
def test_a_cut_anywhere_leaves_a_good_prefix_and_is_named(at: int):
    segment = Segment("s", WHOLE[:at])
    found = list(records(segment))
    assert found == RECORDS[: len(found)]
    assert (segment.damage is None) == (at in BOUNDARIES)
    if segment.damage is not None:
        assert segment.torn
        assert segment.good <= at


@given(st.binary(max_size=300))
def test_anything_else_is_no_segment(octets: bytes):
    segment = Segment("s", octets)
    assert list(records(segment)) == []
    assert segment.damage is not None


@pytest.mark.parametrize("name", ["old.audit", "copy-of-1.audit", "1-1.audit", "00000000001.audit"])
def test_a_file_without_the_name_of_a_segment_is_none(tmp_path: Path, name: str):
    balanced_log(tmp_path, 3)
    both = segment_paths(tmp_path)
    (tmp_path / name).write_bytes(both[0].read_bytes())
    assert segment_paths(tmp_path) == both
    assert other_files(tmp_path) == [tmp_path / name]


def test_a_segment_of_another_schema_version_is_refused_by_name():
    text = json.dumps({"schema": 99}).encode()
    segment = Segment("s", struct.pack("<8sII", b"AMQPAUDT", crc32(text), len(text)) + text)
    assert segment.damage is not None
    assert segment.damage.problem == "schema version 99 is not 1 or 2 or 3 or 4"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        *(({"incarnation": each}, "number") for each in ("x", None, -5, True, 1.5, 10**30, [])),
        *(({"number": each}, "number") for each in ("2", -1, 1 << 63)),
        *(({"record_octets": each}, "records") for each in (0, 96, "x", None)),
        *(({"fields": each}, "records") for each in ([], "x", None, [["sequence", "i64", 8]])),
        *(({"previous_sha256": each}, "hash") for each in (None, 7, "x", "\ud800" * 64)),
        *(({"log": each}, "id") for each in (None, 7, "a\x1b[2J", "\ud800")),
        *(({"schema": each}, "not a header") for each in (None, "4", True, [], {}, 10**30)),
    ],
)
def test_a_header_of_what_could_not_be_is_damaged(
    tmp_path: Path, changed: dict[str, object], problem: str
):
    path = segment_paths(balanced_log(tmp_path))[0]
    header, behind = header_of(path.read_bytes())
    segment = Segment(path.name, with_header(header | changed, behind))
    assert segment.header is None
    assert segment.damage is not None
    assert problem in segment.damage.problem
    assert list(records(segment)) == []
    assert Segment(path.name, with_header(header, behind)).damage is None


def test_damage_reads_as_one_line():
    where = "s block 1 offset 2: gap"
    assert str(Damage("s", 1, 2, "gap", 3, 4)) == f"{where} (record 3 is missing)"
    assert str(Damage("s", 1, 2, "gap", 3, 9)) == f"{where} (records 3 to 8 are missing)"
    assert str(Damage("s", 1, 2, "gap", 3)) == f"{where} (record 3 and all behind it are missing)"
    assert str(Damage("s", 1, 2, "gap", 3, 1)) == f"{where} (expected record 3, found 1)"
    assert str(Damage("s", 1, 2, "torn")) == "s block 1 offset 2: torn"


def test_records_are_json(tmp_path: Path):
    path = segment_paths(balanced_log(tmp_path))[0]
    lines = [json.dumps(record) for record in records(Segment(path.name, path.read_bytes()))]
    first = json.loads(lines[0])
    assert first["kind"] == "incarnation-started"
    assert first["version"] == "0.1"


def test_numbers_that_no_name_is_known_for_are_shown_as_numbers():
    log = AuditLog(1)
    log._record(99, 1, outcome=99, reason=999)
    (record,) = records(Segment("s", _header(1, 1, "0" * 64) + log.take_block(1)))
    assert (record["kind"], record["outcome"], record["reason"]) == ("99", "99", "999")
