"""The whole job on written logs: balanced ones, broken ones, and copies that were tampered with."""

import os
import shutil
import struct
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import pytest
from support.audit_logs import ScriptedGateway, balanced_log, busy_log
from support.opened import opened
from support.spark_work import Work, several_partitions

from gateway.accounting.judging import log_breaks
from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.segments.chain import clock_breaks, with_previous
from gateway.accounting.segments.view import read
from gateway.accounting.telling.report import html_page, summary
from gateway.audit.reader import Block, Segment, segment_paths
from gateway.audit.schema import RECORD_OCTETS, SCHEMA_VERSION, BlockKind, Outcome

# What Spark has to do with several partitions, and so with a log of any size. Who makes these more,
# makes each run slower; who makes them fewer, says so here.
JOBS, SHUFFLES = 45, 49
ALONE = 26, 11  # of a log so small that it stays in one partition


@pytest.fixture(scope="module")
def balanced(spark, tmp_path_factory) -> SimpleNamespace:
    """A balanced log that was reconciled in several partitions, and what that took."""
    scratch = tmp_path_factory.mktemp("balanced")
    log, out = balanced_log(scratch / "log", segment_octets=1500), scratch / "out"
    work = Work(spark)
    with several_partitions(spark), opened(log) as files:
        result = reconcile(spark, log, out)
    took = work.counted()
    return SimpleNamespace(log=log, out=out, result=result, took=took, files=files)


def test_a_balanced_log_is_balanced_and_the_results_are_written(balanced):
    result = balanced.result
    assert result.classes == {}
    assert result.balanced
    assert result.final
    assert result.sums["queues"]["entered"] == 23
    assert result.sums["queues"]["gone_at_stop"] == 1
    assert "the process: 1 as that stopped in order. It is not signed." in html_page(result)
    assert result.sums["queues"]["depth"] == 16
    written = {path.name for path in balanced.out.iterdir()}
    assert written == {"breaks", "figures", "ledger", "outlets", "queues", "routes", "segments"}
    assert summary(result, "report.html").startswith("balanced: ")
    assert "Every copy of every message" in html_page(result)
    assert "unsigned: whoever can write" in summary(result, "report.html")


def test_it_takes_no_more_jobs_and_shuffles_than_before_and_each_segment_is_read_once(balanced):
    assert balanced.took == (JOBS, SHUFFLES)
    names = [path.name for path in segment_paths(balanced.log)]
    assert len(names) > 3
    heads = [names[0]]  # the driver looks there which log it is
    assert balanced.files == dict.fromkeys(names, 1) | dict.fromkeys(heads, 2)


class Broken:
    """A log with one break of each class, each in a queue of its own, and what was found in it."""

    def __init__(self, directory: Path) -> None:
        gateway = ScriptedGateway(directory)
        self.fine = gateway.publish("fine")
        gateway.consume("fine", self.fine)
        others = [gateway.publish("lost", exchange="lost") for _ in range(3)]
        self.lost = others[1]
        gateway.lose("lost", self.lost)
        self.duplicate = gateway.publish("twice")
        gateway.deliver("twice", self.duplicate)
        gateway.deliver("twice", self.duplicate)
        position = gateway.accept("twice", self.duplicate)
        gateway.settle("twice", self.duplicate, position, Outcome.RELEASED, 0)
        gateway.unsettled -= 1
        self.mutated = gateway.publish("changed")
        gateway.deliver("changed", self.mutated, body_digest=5)
        gateway.accept("changed", self.mutated)
        self.strayed = gateway.publish("one", "two", exchange="stray", arriving=1)
        self.forgotten = gateway.publish("durable")
        self.kept = gateway.publish("durable")
        self.transient = gateway.publish("transient", durable=False)
        gateway.stop()
        gateway.lose("durable", self.forgotten)
        gateway.start()
        gateway.consume("durable", self.kept)
        self.log = gateway.close()


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Broken:
    return Broken(tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="module")
def result(spark, broken, tmp_path_factory) -> Result:
    return reconcile(spark, broken.log, tmp_path_factory.mktemp("out"))


def classes_of(result: Result, message: int) -> set[str]:
    return {row["class"] for row in result.breaks if row["message"] == message}


def test_a_message_that_never_left_is_lost_and_named(result, broken):
    assert classes_of(result, broken.lost) == {"LOST"}
    assert f"LOST: message {broken.lost}, lost: " in summary(result, "report.html")
    (line,) = [each for each in summary(result, "r").splitlines() if "audit trace" in each]
    assert f" --message {broken.lost} " in line
    assert line.endswith(result.log)
    assert f"{broken.lost}  entered       lost, durable" in html_page(result)


def test_a_message_that_left_twice_is_a_duplicate_and_named(result, broken):
    assert classes_of(result, broken.duplicate) == {"DUPLICATE"}
    assert f"DUPLICATE: message {broken.duplicate}, twice: " in summary(result, "report.html")


def test_a_body_that_changed_is_mutated(result, broken):
    assert classes_of(result, broken.mutated) == {"MUTATED"}


def test_a_copy_that_never_arrived_is_lost(result, broken):
    assert classes_of(result, broken.strayed) == {"LOST"}


def test_a_durable_message_that_a_restart_forgot_is_lost(result, broken):
    assert classes_of(result, broken.forgotten) == {"LOST"}


def test_what_is_in_order_is_not_among_the_breaks(result, broken):
    others = {broken.fine, broken.kept, broken.transient}
    assert not others & {row["message"] for row in result.breaks}
    assert all(row["message"] is not None for row in result.breaks)


def test_a_log_that_did_not_end_in_order_is_judged_so_far(result):
    assert not result.balanced
    assert not result.final
    assert summary(result, "r").startswith("not balanced so far: ")
    assert "Not balanced so far" in html_page(result)


@pytest.fixture
def copied(tmp_path) -> Path:
    log = balanced_log(tmp_path / "log", 40, segment_octets=4000)
    return Path(shutil.copytree(log, tmp_path / "copy"))


@pytest.fixture
def gaps(spark, frames):
    def found(log: Path) -> list[tuple]:
        segments = read(spark, log, view="segments").coalesce(1)
        paired, stated = with_previous(segments), frames.records()
        steps = [*log_breaks(paired, stated), clock_breaks(paired, stated)]
        rows = reduce(type(segments).unionByName, steps).orderBy("segment", "block").collect()
        assert {row["class"] for row in rows} <= {"LOG_GAP"}
        return [(row["segment"], row["block"], row["offset"]) for row in rows]

    return found


def record_blocks(octets: bytes) -> list[Block]:
    return [block for block in Segment("s", octets).blocks() if block.kind == BlockKind.RECORDS]


def test_a_whole_log_has_no_gap(gaps, copied):
    assert gaps(copied) == []


def test_an_octet_changed_is_a_gap_with_its_place(gaps, copied):
    path = segment_paths(copied)[1]
    octets = bytearray(path.read_bytes())
    block = list(Segment("s", bytes(octets)).blocks())[3]
    octets[block.start + 5] ^= 1
    path.write_bytes(octets)
    assert gaps(copied) == [(path.name, 3, block.offset)]


def test_a_record_cut_out_is_a_gap_with_its_place(gaps, copied):
    path = segment_paths(copied)[0]
    octets = path.read_bytes()
    block = record_blocks(octets)[2]
    cut = block.start + RECORD_OCTETS
    path.write_bytes(octets[:cut] + octets[cut + RECORD_OCTETS :])
    assert gaps(copied) == [(path.name, block.ordinal, block.offset)]


def test_a_record_cut_out_with_care_is_a_gap_and_breaks_the_chain(gaps, copied):
    first, second = segment_paths(copied)[:2]
    octets = first.read_bytes()
    block = record_blocks(octets)[2]
    content = octets[block.start : block.start + RECORD_OCTETS]
    content += octets[block.start + 2 * RECORD_OCTETS : block.end]
    head = struct.pack("<IBBH", len(content), 2, block.flags, SCHEMA_VERSION)
    forged = struct.pack("<I", crc32(content, crc32(head))) + head + content
    first.write_bytes(octets[: block.offset] + forged + octets[block.end :])
    place = (first.name, block.ordinal, block.start + RECORD_OCTETS)
    assert gaps(copied) == [place, (second.name, 0, 0)]


def test_a_segment_that_is_missing_is_a_gap(gaps, copied):
    paths = segment_paths(copied)
    paths[1].unlink()
    assert gaps(copied) == [(paths[2].name, 0, 0)]


def test_a_block_cut_off_the_end_of_a_closed_segment_is_a_gap(gaps, copied):
    first, second = segment_paths(copied)[:2]
    octets = first.read_bytes()
    first.write_bytes(octets[: record_blocks(octets)[-1].offset])
    assert gaps(copied) == [(second.name, 0, 0)]


@pytest.fixture(scope="module")
def busy(tmp_path_factory) -> Path:
    return busy_log(tmp_path_factory.mktemp("busy"), lost_in=(5, 55))


def flipped(log: Path, directory: Path, *places: tuple[int, int, int]) -> Path:
    """A copy with one bit changed in each segment, block and octet of it."""
    shutil.copytree(log, directory)
    for segment, ordinal, octet in places:
        path = segment_paths(directory)[segment]
        octets = bytearray(path.read_bytes())
        blocks = list(Segment("s", bytes(octets)).blocks())
        octets[octet if ordinal < 0 else blocks[ordinal].offset + octet] ^= 4
        path.write_bytes(octets)
    return directory


def ordinals(log: Path, segment: int, kind: BlockKind) -> list[int]:
    octets = segment_paths(log)[segment].read_bytes()
    return [block.ordinal for block in Segment("s", octets).blocks() if block.kind == kind]


def one_bit(log: Path, what: str) -> tuple[int, int, int]:
    """Where it is: in the middle of the log, in a segment with everything in it."""
    if what == "header":
        return 3, -1, 60
    if what == "names":
        return 2, ordinals(log, 2, BlockKind.NAMES)[0], 30
    found = ordinals(log, 2, BlockKind.RECORDS)
    return 2, found[-1] if what == "last" else found[4], 500


# Each is a reconciliation: all of them with GATEWAY_EXPLORE.
FLIPPED = ("records", "names", "last", "header", "segment")
FEW = FLIPPED if "GATEWAY_EXPLORE" in os.environ else ("records", "segment")


@pytest.mark.parametrize("what", FEW)
def test_one_flipped_bit_is_one_break_and_nothing_else_is_called_one(spark, busy, tmp_path, what):
    """Nor where a whole segment is missing."""
    log = flipped(busy, tmp_path / "log", *([one_bit(busy, what)] if what != "segment" else []))
    if what == "segment":
        segment_paths(log)[2].unlink()
    result = reconcile(spark, log, tmp_path / "out")
    # Of which two were lost before and behind the bit, in one queue.
    assert result.classes == {"LOG_GAP": 1, "LOST": 2}
    assert [row["class"] for row in result.breaks[:3]] == ["LOG_GAP", "LOST", "LOST"]
    assert None not in {row["message"] for row in result.breaks[1:3]}
    assert result.breaks[0]["segment"] == segment_paths(log)[3 if what == "header" else 2].name
    assert all(row["since"] < row["sequence"] for row in result.breaks[3:])
    assert not any(row["proven"] for row in result.breaks[3:])
    assert bool(result.unproven) == (what != "header")  # of which no record is missing
    told = summary(result, "report.html")
    assert ("cannot be proven" in told) == (what != "header")
    gap, *_lost = [line for line in told.splitlines() if " message" in line or "LOG_GAP" in line]
    assert gap.startswith("  LOG_GAP: ")
    assert gap.endswith("are missing)") == (what not in ("names", "header"))


def test_half_a_block_at_the_end_makes_it_balanced_so_far(spark, tmp_path):
    gateway = ScriptedGateway(tmp_path / "log")
    gateway.consume("orders", gateway.publish("orders"))
    gateway.checkpoint()
    gateway.consume("orders", gateway.publish("orders"))
    gateway.checkpoint()
    path = segment_paths(gateway.close())[-1]
    path.write_bytes(path.read_bytes()[:-50])
    work = Work(spark)
    result = reconcile(spark, path.parent, tmp_path / "out")
    assert work.counted() == ALONE
    assert (result.balanced, result.final) == (True, False)
    assert summary(result, "r").startswith("balanced so far: ")
    assert f"  end      half a block, as a gateway at work leaves it: {path.name}" in summary(
        result, "r"
    )
    assert "which ends with half a block: " in html_page(result)
