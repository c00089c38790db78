"""Segments become columns with the same values that the reader shows."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit_logs import balanced_log
from support.hand_log import HandLog

from gateway.accounting.segments import columns
from gateway.accounting.segments.columns import RECORDS_SCHEMA, SEQUENCE_MAX, record_batches
from gateway.accounting.segments.survey import segment_row
from gateway.accounting.telling.words import LATEST_MS
from gateway.audit.digests import entry_mix
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import LAYOUTS, SCHEMA_VERSION, Kind
from gateway.audit.segment import SegmentWriter

ID = st.integers(0, 2**63 - 1)
OPENED = {  # peer, actor and address of the connections in old logs
    1: [("guest", None, None), ("alice", None, None)],
    2: [("spout (qpid-cpp 1.39)", "guest", "10.0.0.1:4711")],
    3: [("spout (rhea 3.0)", "guest", "10.0.0.1:4711")],
}
OLD_LOGS = Path(__file__).parents[2] / "vectors" / "audit"


def rows(path: Path, **options: object) -> list[dict]:
    batches = record_batches(path.name, path.read_bytes(), **options)
    return [row for batch in batches for row in batch.to_pylist()]


def test_every_record_of_a_segment_is_a_row_with_its_names(tmp_path: Path):
    for path in segment_paths(balanced_log(tmp_path, 30, segment_octets=4000)):
        shown = list(records(Segment(path.name, path.read_bytes())))
        found = rows(path)
        assert [row["sequence"] for row in found] == [record["sequence"] for record in shown]
        assert [row["node"] for row in found] == [record.get("node") for record in shown]


def test_the_columns_have_the_declared_types(tmp_path: Path):
    path = segment_paths(balanced_log(tmp_path))[0]
    for batch in record_batches(path.name, path.read_bytes()):
        assert batch.schema == RECORDS_SCHEMA


def test_only_the_kinds_asked_for_come(tmp_path: Path):
    path = segment_paths(balanced_log(tmp_path))[0]
    kinds = frozenset({int(Kind.RECEIVED)})
    assert {row["kind"] for row in rows(path, kinds=kinds)} == {10}


def test_the_share_of_the_checksum_is_that_of_the_code(tmp_path: Path):
    path = segment_paths(balanced_log(tmp_path))[0]
    assert all(row["mix"] == entry_mix(row["message"], row["position"]) for row in rows(path))


def test_a_run_of_checkpoints_opens_a_window(tmp_path: Path):
    log, writer = AuditLog(1), SegmentWriter(tmp_path)
    log.incarnation_started(1, "0.1")
    for _ in range(2):
        log.queue_checkpoint(1, 0, depth=0, unsettled=0, octets=0, entered=0, checksum=0)
        log.route_checkpoint(1, 0, routed=0, pending=0)
        log.clock(1, 0)
    writer.append(log.take_block(1))
    writer.close()
    windows = [row["window"] - (1 << 32) for row in rows(segment_paths(tmp_path)[0])]
    assert windows == [0, 1, 1, 1, 2, 2, 2]


def test_windows_are_counted_over_batches(tmp_path: Path, monkeypatch):
    path = segment_paths(balanced_log(tmp_path, 30))[0]
    whole = [row["window"] for row in rows(path)]
    monkeypatch.setattr("gateway.accounting.segments.columns.BATCH_RECORDS", 1)
    assert [row["window"] for row in rows(path)] == whole


def test_a_row_about_a_segment_says_where_it_belongs(tmp_path: Path):
    path = segment_paths(balanced_log(tmp_path))[1]
    (row,) = segment_row(path.name, 1, path.read_bytes()).to_pylist()
    assert (row["number"], row["incarnation"], row["ordinal"]) == (2, 2, 1)
    assert row["last_sequence"] - row["first_sequence"] + 1 == row["records"]
    assert row["findings"] == []
    assert not row["damaged"]


def test_a_clock_that_goes_back_is_found_with_its_block(tmp_path: Path):
    log, writer = AuditLog(1), SegmentWriter(tmp_path)
    log.incarnation_started(100, "0.1")
    log.clock(90, 0)
    writer.append(log.take_block(100))
    log.clock(80, 0)
    writer.append(log.take_block(100))
    writer.close()
    path = segment_paths(tmp_path)[0]
    (row,) = segment_row(path.name, 0, path.read_bytes()).to_pylist()
    assert [finding["time_back_ms"] for finding in row["findings"]] == [10, 10]


@pytest.mark.parametrize("wrong_ms", [0, -(1 << 63), (1 << 63) - 1])
def test_whatever_a_clock_says_it_goes_back_once_to_or_from_a_time_that_there_is(
    tmp_path: Path, wrong_ms: int
):
    log = HandLog(tmp_path / "log")
    log.start()
    log.add("CLOCK", time_ms=wrong_ms)
    log.end()
    (path,) = segment_paths(log.directory)
    (row,) = segment_row(path.name, 0, path.read_bytes()).to_pylist()
    (finding,) = row["findings"]
    assert 0 < finding["time_back_ms"] <= LATEST_MS
    (batch,) = record_batches(path.name, path.read_bytes())
    assert all(0 <= each["time_ms"] <= LATEST_MS for each in batch.to_pylist())


@pytest.mark.parametrize("extreme", [-(1 << 63), (1 << 63) - 1])
def test_of_the_greatest_and_the_least_numbers_sums_and_differences_can_be_had(
    tmp_path: Path, extreme: int
):
    log = HandLog(tmp_path / "log")
    log.start()
    numbers = {"message": extreme, "position": extreme, "size": extreme}
    log.add("ENTERED", **numbers)
    log.add("QUEUE_CHECKPOINT", **numbers)
    log.add("CLOCK", sequence=extreme, **numbers)
    log.end(stopped=False)
    (path,) = segment_paths(log.directory)
    _started, entered, checkpoint, clock = rows(path)
    assert (entered["message"], entered["position"]) == (extreme, extreme)
    for each in (checkpoint, clock):
        assert 1 << 40 < abs(each["message"]) == abs(each["position"]) < 1 << 50
    assert 0 <= entered["size"] < 1 << 50
    (row,) = segment_row(path.name, 0, path.read_bytes()).to_pylist()
    (finding,) = row["findings"]
    assert clock["sequence"] == row["last_sequence"] == finding["found"]
    assert abs(clock["sequence"]) == SEQUENCE_MAX


@given(ID, ID)
def test_the_checksum_share_is_the_same_in_code_and_in_columns(message: int, position: int):
    share = entry_mix(message, position)
    column = columns.entry_mix(np.array([message]), np.array([position]))
    assert 0 <= share < 2**62
    assert [share] == column.tolist()


@pytest.mark.parametrize("version", [each for each in LAYOUTS if each != SCHEMA_VERSION])
def test_an_old_logs_columns_are_todays_with_nobody_in_the_new_ones(version: int):
    log = OLD_LOGS / str(version)
    wanted = [json.loads(line) for line in (log / "records.jsonl").open()]
    found = [row for path in segment_paths(log) for row in rows(path)]
    assert [row["sequence"] for row in found] == [record["sequence"] for record in wanted]
    opened = [row for row in found if row["kind"] == Kind.CONNECTION_OPENED]
    assert [(row["peer"], row["actor"], row["address"]) for row in opened] == OPENED[version]
    for ordinal, path in enumerate(segment_paths(log)):
        for batch in record_batches(path.name, path.read_bytes()):
            assert batch.schema == RECORDS_SCHEMA
        (row,) = segment_row(path.name, ordinal, path.read_bytes()).to_pylist()
        assert (row["damaged"], row["findings"]) == (False, [])
        assert row["last_sequence"] - row["first_sequence"] + 1 == row["records"]
