"""Logs that older gateways wrote: read, verified, taken on and summed up as they are."""

import json
import shutil
from pathlib import Path

import pytest
from support.verbs import amqp_gateway

from gateway.audit.digests import digest
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import LAYOUTS, SCHEMA_VERSION
from gateway.audit.segment import SegmentWriter
from gateway.audit.verify import WHOLE, verify
from gateway.net.upstreams.last_life import LastLife

LOGS = Path(__file__).parent / "audit"
OLD = [version for version in LAYOUTS if version != SCHEMA_VERSION]
every_version = pytest.mark.parametrize("version", OLD)


def log_of(version: int) -> Path:
    return LOGS / str(version)


def said(version: int) -> list[dict]:
    return [json.loads(line) for line in (log_of(version) / "records.jsonl").open()]


def shown(directory: Path) -> list[dict]:
    paths = segment_paths(directory)
    return [each for path in paths for each in records(Segment(path.name, path.read_bytes()))]


def copy_of(version: int, to: Path) -> Path:
    for path in segment_paths(log_of(version)):
        shutil.copy(path, to)
    return to


@every_version
def test_audit_cat_says_of_it_what_it_said_then(version: int):
    result = amqp_gateway("audit", "cat", str(log_of(version)))
    assert [json.loads(line) for line in result.output.splitlines()] == said(version)
    assert result.exit_code == 0


@every_version
def test_audit_verify_finds_it_whole(version: int):
    result = amqp_gateway("audit", "verify", str(log_of(version)))
    assert result.output.endswith("whole\n")
    assert verify(log_of(version)) == WHOLE


@every_version
def test_what_came_from_upstreams_is_known_from_it(version: int):
    body = digest(b"body")
    found = LastLife(recent=10).read(log_of(version))
    assert found == {"main": [digest(b"from main") ^ body]}


@every_version
def test_the_log_goes_on_behind_it_in_todays_version(version: int, tmp_path: Path):
    copy_of(version, tmp_path)
    writer = SegmentWriter(tmp_path)
    log = AuditLog(3, writer.last_sequence + 1)
    log.incarnation_started(1, "0.2")
    writer.append(log.take_block(1))
    writer.close()
    headers = [Segment(path.name, path.read_bytes()).header for path in segment_paths(tmp_path)]
    assert [header.schema for header in headers] == [version, version, SCHEMA_VERSION]
    assert shown(tmp_path)[:-1] == said(version)
    assert verify(tmp_path) == WHOLE


@every_version
def test_blocks_that_its_gateway_left_in_the_store_make_the_segments_that_it_would_have(
    version: int, tmp_path: Path
):
    blocks = b""
    for path in segment_paths(log_of(version)):
        octets = path.read_bytes()
        segment = Segment(path.name, octets)
        for block in segment.blocks():
            blocks += octets[block.offset : block.end]
    writer = SegmentWriter(tmp_path, log=segment.header.log)
    writer.append(blocks)
    log = AuditLog(3, writer.last_sequence + 1)
    log.incarnation_started(1, "0.2")
    writer.append(log.take_block(1))
    writer.close()
    made = segment_paths(tmp_path)
    for old, new in zip(segment_paths(log_of(version)), made, strict=False):
        assert (new.name, new.read_bytes()) == (old.name, old.read_bytes())
    assert len(made) == len(segment_paths(log_of(version))) + 1
    assert verify(tmp_path) == WHOLE


@every_version
def test_a_block_of_today_in_an_old_segment_is_damage(version: int, tmp_path: Path):
    path = segment_paths(copy_of(version, tmp_path))[-1]
    log = AuditLog(3, 1000)
    log.clock(1, 0)
    path.write_bytes(path.read_bytes() + log.take_block(1))
    (damage,) = verify(tmp_path).damages
    assert damage.problem == "block is of another schema version"
