"""Runs that go on from what the one before has left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet
from support.audit_logs import ScriptedGateway

from gateway.accounting import reading
from gateway.accounting.reconcile import reconcile
from gateway.accounting.state.folder import REBUILD, Folder, StateError
from gateway.accounting.steps.ages import Bounds
from gateway.accounting.telling.failing import Place, reason
from gateway.audit.reader import segment_paths
from gateway.audit.schema import Flag, Outcome


class Growing:
    """A log that grows over two runs of its gateway: what is open at each stage goes on later."""

    def __init__(self, directory: Path) -> None:
        self.gateway = ScriptedGateway(directory, segment_octets=2000)
        self.waiting: list[int] = []
        self.log = directory

    def grow(self, messages: int = 20) -> None:
        gateway = self.gateway
        for _ in range(messages):
            message = gateway.publish("orders")
            self.waiting.append(message)
            if len(self.waiting) > 7:
                gateway.consume("orders", self.waiting.pop(0))
            gateway.turn()
        gateway.checkpoint()

    def settled_again(self, *messages: int) -> None:
        """They left some segments ago, and do once more."""
        for message in messages:
            self.gateway.settle("orders", message, message, Outcome.ACCEPTED, Flag.REMOVED)

    def restart(self) -> None:
        self.gateway.stop()
        self.gateway.start()


@pytest.fixture(scope="module")
def stages(spark, tmp_path_factory) -> Iterator[dict]:
    """What runs with one state said as the log grew, and what a whole run said in the end.

    The second of them brings together what there is of the first.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "SAID_MAX", 1)
        yield grown(spark, tmp_path_factory)


def grown(spark, tmp_path_factory) -> dict:
    scratch = tmp_path_factory.mktemp("growing")
    growing, folder = Growing(scratch / "log"), Folder(scratch / "state")
    results = []

    def run(state: Folder | None = folder) -> object:
        return reconcile(spark, growing.log, scratch / f"out{len(results)}", state=state)

    for _ in range(5):  # of each of these there is a checkpoint that agrees
        growing.grow()
    results.append(run())
    for _ in range(5):
        growing.grow()
    growing.settled_again(2, 5)
    growing.restart()
    lost = growing.waiting.pop()
    growing.gateway.lose("orders", lost)
    growing.grow()
    growing.gateway.deliver("orders", growing.waiting[0])
    for _ in range(2):  # one of them leaves twice, across what is in the state
        growing.settled_again(3)
    growing.grow()
    growing.gateway.writer.close()
    results.append(run())
    again = folder.read()
    results.append(run())
    whole = run(None)
    return {
        "scratch": scratch,
        "results": results,
        "whole": whole,
        "lost": lost,
        "state": again,
        "after": folder.read(),
        "log": growing.log,
    }


def told(result) -> dict:
    keys = ("class", "message", "node", "sequence", "since", "count", "detail", "proven")
    return {
        "breaks": sorted(str([row[key] for key in keys]) for row in result.breaks),
        "sums": result.sums,
        "runs": result.incarnations,
        "queues": result.queues,
        "records": result.log_facts["records"],
        "segments": result.log_facts["segments"],
        "published_again": result.published_again,
        "figures": sorted(str(row) for row in result.figures),
    }


def test_the_last_of_several_runs_says_what_one_run_over_everything_says(stages):
    assert stages["results"][0].balanced
    assert told(stages["results"][1]) == told(stages["whole"])
    assert stages["lost"] in {row["message"] for row in stages["whole"].breaks}
    assert 3 in {row["message"] for row in stages["whole"].breaks if row["class"] == "DUPLICATE"}


def test_checkpoints_that_say_nothing_new_and_their_windows_are_not_carried_on(spark, stages):
    state = stages["after"]
    records = spark.read.parquet(str(stages["scratch"] / "state" / state.records))
    assert records.where("kind in (60, 61, 62)").count() < 20
    (said,) = state.said
    parts = spark.read.parquet(str(stages["scratch"] / "state" / said.folder))
    (sums,) = (row["sums"] for row in parts.where("sums is not null").collect())
    entered = [row for row in sums if row["kind"] == 20]
    assert sum(row["records"] for row in entered) > 5 * 20
    assert len(entered) < 5
    whole = stages["whole"].queues
    assert any(row["checkpoints"] > 10 for row in whole)


def test_a_run_that_finds_nothing_new_says_the_same_and_leaves_the_same(stages):
    assert told(stages["results"][2]) == told(stages["results"][1])
    assert stages["after"] == stages["state"]
    names = [path.name for path in segment_paths(stages["log"])]
    assert [each.name for each in stages["after"].segments] == names[:-1]


def test_a_segment_that_is_gone_or_changed_is_a_gap(spark, stages, tmp_path):
    log = Path(shutil.copytree(stages["log"], tmp_path / "log"))
    state = Path(shutil.copytree(stages["scratch"] / "state", tmp_path / "state"))
    first, second = segment_paths(log)[:2]
    first.unlink()
    with second.open("ab") as file:
        file.write(b"more")
    result = reconcile(spark, log, tmp_path / "out", state=Folder(state))
    gaps = {row["segment"]: row["detail"] for row in result.breaks if row["class"] == "LOG_GAP"}
    assert gaps[first.name] == "it was reconciled before, and is not there any more"
    assert "octets when it was reconciled before" in gaps[second.name]


def test_a_state_of_another_log_or_another_bound_is_refused(spark, stages, tmp_path):
    state = Path(shutil.copytree(stages["scratch"] / "state", tmp_path / "state"))
    other = Growing(tmp_path / "other")
    other.grow()
    with pytest.raises(StateError, match="is of another log"):
        reconcile(spark, other.log, tmp_path / "out", state=Folder(state))
    with pytest.raises(StateError, match="--late-after 0"):
        bounds = Bounds(late_ms=1)
        reconcile(spark, stages["log"], tmp_path / "out", bounds=bounds, state=Folder(state))


def flipped(table: Path, column: str) -> None:
    """One bit of the last page of a column; what Hadoop has beside it on this machine is gone."""
    octets, group = bytearray(table.read_bytes()), parquet.ParquetFile(table).metadata.row_group(0)
    (of,) = [
        group.column(each)
        for each in range(group.num_columns)
        if group.column(each).path_in_schema == column
    ]
    begin = of.dictionary_page_offset or of.data_page_offset
    octets[begin + of.total_compressed_size - 1] ^= 4
    table.write_bytes(octets)
    table.with_name(f".{table.name}.crc").unlink()


@pytest.mark.parametrize("which", ["records", "said"])
def test_a_flipped_bit_in_a_state_is_told_and_is_no_other_truth(spark, stages, tmp_path, which):
    directory = Path(shutil.copytree(stages["scratch"] / "state", tmp_path / "state"))
    state = Folder(directory).read()
    folder = state.records if which == "records" else state.said[0].folder
    column = "message" if which == "records" else "sums.list.element.count"
    tables = sorted((directory / folder).glob("*.parquet"))
    table = next(each for each in tables if parquet.ParquetFile(each).metadata.num_rows)
    flipped(table, column)
    with pytest.raises(Exception) as raised:  # Spark's, of whatever class
        reconcile(spark, stages["log"], tmp_path / "out", state=Folder(directory))
    told = reason(raised.value, [Place("--state", directory, anew=REBUILD)])
    assert told == f"cannot read {table}, which is damaged: {REBUILD}"


def test_what_a_run_left_that_broke_off_is_no_matter(stages, tmp_path):
    state = Path(shutil.copytree(stages["scratch"] / "state", tmp_path / "state"))
    (state / "00000099").mkdir()
    (state / "state.json.new").write_text("{")
    folder = Folder(state)
    read = folder.read()
    assert read == stages["after"]
    assert folder.fresh(read) == ("00000100", "00000101")
    folder.write(read)
    assert not (state / "00000099").exists()
    assert json.loads((state / "state.json").read_text())["records"] == read.records
