"""The whole job on written logs: balanced ones, broken ones, and copies that were tampered with."""

import shutil
import struct
from pathlib import Path
from zlib import crc32

import pytest
from support.audit_logs import ScriptedGateway, balanced_log

from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.report import html_page, summary
from gateway.audit.reader import Segment, segment_paths
from gateway.audit.schema import RECORD_OCTETS


@pytest.fixture
def run(spark, tmp_path):
    def reconciled(log: Path) -> Result:
        return reconcile(spark, log, tmp_path / "out")

    return reconciled


def test_a_balanced_log_is_balanced_and_the_results_are_written(run, tmp_path):
    result = run(balanced_log(tmp_path / "log", segment_octets=1500))
    assert result.classes == {}
    assert result.balanced
    assert result.final
    assert result.sums["queues"]["entered"] == 23
    assert result.sums["queues"]["gone_with_process"] == 1
    assert result.sums["queues"]["depth"] == 16
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"breaks", "ledger", "outlets", "queues", "routes", "segments"}
    assert summary(result, "report.html").startswith("balanced: ")
    assert "Every copy of every message" in html_page(result)


def test_a_message_that_never_left_is_lost_and_named(run, tmp_path):
    gateway = ScriptedGateway(tmp_path / "log")
    ids = [gateway.publish("orders") for _ in range(3)]
    gateway.consume("orders", ids[0])
    gateway.lose("orders", ids[1])
    gateway.stop()
    result = run(gateway.close())
    assert [(row["class"], row["message"], row["node"]) for row in result.breaks] == [
        ("LOST", ids[1], "orders")
    ]
    assert f"LOST: message {ids[1]}, orders" in summary(result, "report.html")
    assert "Not balanced" in html_page(result)


def test_a_message_that_left_twice_is_a_duplicate_and_named(run, tmp_path):
    gateway = ScriptedGateway(tmp_path / "log")
    first, second = gateway.publish("orders"), gateway.publish("orders")
    gateway.consume("orders", first)
    gateway.deliver("orders", second)
    gateway.deliver("orders", second)
    gateway.accept("orders", second)
    gateway.settle("orders", second, 2, 3, 0)  # the other delivery is released
    gateway.unsettled -= 1
    gateway.stop()
    result = run(gateway.close())
    assert {(row["class"], row["message"]) for row in result.breaks} == {("DUPLICATE", second)}


def test_a_durable_message_that_a_restart_forgot_is_lost(run, tmp_path):
    gateway = ScriptedGateway(tmp_path / "log")
    kept, forgotten = gateway.publish("orders"), gateway.publish("orders")
    gateway.publish("scratch", durable=False)
    gateway.turn()  # and then killed
    gateway.lose("orders", forgotten)
    gateway.start()
    gateway.consume("orders", kept)
    result = run(gateway.close())
    assert [(row["class"], row["message"]) for row in result.breaks] == [("LOST", forgotten)]
    assert not result.final
    assert "not balanced so far" in summary(result, "r")


def test_a_copy_that_never_arrived_is_lost(run, tmp_path):
    gateway = ScriptedGateway(tmp_path / "log")
    message = gateway.publish("orders", "copies", arriving=1)
    gateway.stop()
    result = run(gateway.close())
    assert [(row["class"], row["message"]) for row in result.breaks] == [("LOST", message)]


def test_a_body_that_changed_is_mutated(run, tmp_path):
    gateway = ScriptedGateway(tmp_path / "log")
    message = gateway.publish("orders")
    gateway.deliver("orders", message, body_digest=5)
    gateway.accept("orders", message)
    gateway.stop()
    result = run(gateway.close())
    assert [(row["class"], row["message"]) for row in result.breaks] == [("MUTATED", message)]


@pytest.fixture
def copied(tmp_path) -> Path:
    log = balanced_log(tmp_path / "log", 40, segment_octets=4000)
    return Path(shutil.copytree(log, tmp_path / "copy"))


def gaps(result: Result) -> list[tuple]:
    return [
        (row["segment"], row["block"], row["offset"])
        for row in result.breaks
        if row["class"] == "LOG_GAP"
    ]


def test_an_octet_changed_is_a_gap_with_its_place(run, copied):
    path = segment_paths(copied)[1]
    octets = bytearray(path.read_bytes())
    block = list(Segment("s", bytes(octets)).blocks())[3]
    octets[block.start + 5] ^= 1
    path.write_bytes(octets)
    assert gaps(run(copied)) == [(path.name, 3, block.offset)]


def test_a_record_cut_out_is_a_gap_with_its_place(run, copied):
    path = segment_paths(copied)[0]
    octets = path.read_bytes()
    block = [block for block in Segment("s", octets).blocks() if block.kind == 2][2]
    cut = block.start + RECORD_OCTETS
    path.write_bytes(octets[:cut] + octets[cut + RECORD_OCTETS :])
    assert gaps(run(copied)) == [(path.name, block.ordinal, block.offset)]


def test_a_record_cut_out_with_care_is_a_gap_too(run, copied):
    path = segment_paths(copied)[0]
    octets = path.read_bytes()
    block = [block for block in Segment("s", octets).blocks() if block.kind == 2][2]
    content = octets[block.start : block.start + RECORD_OCTETS]
    content += octets[block.start + 2 * RECORD_OCTETS : block.end]
    head = struct.pack("<IBBH", len(content), 2, block.flags, 0)
    forged = struct.pack("<I", crc32(content, crc32(head))) + head + content
    path.write_bytes(octets[: block.offset] + forged + octets[block.end :])
    place = (path.name, block.ordinal, block.start + RECORD_OCTETS)
    assert place in gaps(run(copied))


def test_a_segment_that_is_missing_is_a_gap(run, copied):
    paths = segment_paths(copied)
    paths[1].unlink()
    assert gaps(run(copied)) == [(paths[2].name, 0, 0)]
