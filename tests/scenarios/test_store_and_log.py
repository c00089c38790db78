"""Store and audit log belong together: neither is begun anew, cut or emptied without a word."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from prometheus_client import generate_latest
from support import gateway_process
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.audit.ends import LogEnd
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.verify import WHOLE, verify
from gateway.cli.main import commands
from gateway.clients.client import Login
from gateway.clients.letter import Letter, Typed
from gateway.errors import StartupError, UnknownStoreError
from gateway.net.data_directory import UNFINISHED_FILE
from gateway.store import outside
from gateway.store.database import Database


def lived(directory: Path, *, messages: int = 3, stop: bool = True) -> WholeGateway:
    """A gateway that took some durable messages into queue q."""
    gateway = WholeGateway(directory).start()
    client = gateway.connect_0_10()
    gateway.result(client.declare_queue("q", durable=True))
    for _ in range(messages):
        gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=True)))
    if stop:
        gateway.stop()
    return gateway


def told(directory: Path, kind: str) -> list[dict[str, Any]]:
    return [
        record
        for path in segment_paths(directory / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
        if record["kind"] == kind
    ]


def depth(gateway: WholeGateway) -> int:
    queue = gateway.service.bridge.default_host.topology.find_queue("q")
    return 0 if queue is None else queue.depth


def empty(directory: Path) -> None:
    for path in directory.glob("store.sqlite*"):
        path.unlink()
    (directory / "store.sqlite").touch()


def remove(directory: Path) -> None:
    for path in directory.glob("store.sqlite*"):
        path.unlink()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(each) for each in arguments])


def served(data: Path) -> subprocess.CompletedProcess[str]:
    """A gateway that does not start, as a process: it takes signals and standard error for its."""
    options = (f"data_directory={data}", "listen.amqp=127.0.0.1:0")
    return gateway_process.run("serve", *(part for each in options for part in ("--set", each)))


@pytest.mark.parametrize(("harm", "found"), [(remove, "missing"), (empty, "empty")])
def test_a_store_that_is_gone_beside_a_log_with_messages_is_refused(
    tmp_path: Path, harm: Any, found: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    for _ in range(2):  # the first refusal has not made one
        with pytest.raises(UnknownStoreError, match=f"is {found}, .*--accept-new-store"):
            WholeGateway(data)
    assert verify(data / "audit") == WHOLE


@pytest.mark.process
def test_the_command_refuses_with_exit_code_2(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    remove(data)
    refused = served(data)
    assert (refused.returncode, "--accept-new-store" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("harm", "found"), [(remove, "missing"), (empty, "empty")])
def test_who_says_that_it_is_meant_starts_anew_and_the_log_says_so(
    tmp_path: Path, harm: Any, found: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    last = told(data, "incarnation-stopped")[-1]["sequence"]
    harm(data)
    gateway = WholeGateway(data, accept_new_store=True).start()
    assert depth(gateway) == 0
    gateway.stop()
    (record,) = told(data, "store-accepted")
    assert (record["store"], record["last_sequence"]) == (found, last)
    starts = told(data, "incarnation-started")
    assert [each["incarnation"] for each in starts] == [1, 2]
    assert record["sequence"] == starts[-1]["sequence"] + 1
    assert verify(data / "audit") == WHOLE
    WholeGateway(data).start().stop()  # and from then on it is the store


def test_a_new_directory_and_a_log_without_messages_need_no_word(tmp_path: Path) -> None:
    data = tmp_path / "data"
    WholeGateway(data).start().stop()
    remove(data)
    WholeGateway(data).start().stop()
    assert told(data, "store-accepted") == []
    assert [each["incarnation"] for each in told(data, "incarnation-started")] == [1, 2]


@pytest.mark.parametrize("place", [0, -1])
def test_a_first_or_newest_segment_that_is_gone_is_told_loudly(tmp_path: Path, place: int) -> None:
    data = tmp_path / "data"
    lived(data)
    lived(data)
    segment_paths(data / "audit")[place].unlink()
    alone = run("audit", "verify", data / "audit").exit_code
    assert alone == (1 if place == 0 else 0)  # nothing in the log says where it ended
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "missing" in verified.output) == (1, True)
    with capturedLogs() as captured:
        gateway = WholeGateway(data).start()
    assert depth(gateway) == 6
    lines = [formatEvent(each) for each in captured if each["log_level"].name == "critical"]
    assert len(lines) == 1
    assert "the audit log is not what it was" in str(lines[0])
    assert gateway.service.store.counts.log_differences == 1
    gateway.stop()
    (record,) = told(data, "log-differs")
    assert "missing" in record["problem"]
    # Told once, and for ever: no later start makes the log whole again.
    again = WholeGateway(data).start()
    assert again.service.store.counts.log_differences == 0
    again.stop()
    assert len(told(data, "log-differs")) == 1
    for where in (data, data / "audit"):
        later = run("audit", "verify", where)
        assert (later.exit_code, record["problem"] in later.output) == (1, True)


def test_a_newest_segment_that_was_cut_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    path = segment_paths(data / "audit")[-1]
    whole = Segment(path.name, path.read_bytes())
    *_, last = whole.blocks()
    path.write_bytes(whole.octets[: last.offset])
    assert run("audit", "verify", data / "audit").exit_code == 0
    assert run("audit", "verify", data).exit_code == 1
    gateway = WholeGateway(data).start()
    assert gateway.service.store.counts.log_differences == 1
    gateway.stop()


def test_a_torn_end_that_is_cut_off_is_told_and_counted(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data, stop=False)
    copy = shutil.copytree(data, tmp_path / "killed")
    with segment_paths(copy / "audit")[-1].open("ab") as file:
        file.write(b"torn")
    with capturedLogs() as logged:
        gateway = WholeGateway(copy).start()
    lines = [formatEvent(event) for event in logged]
    assert "the audit log ended in 4 octets that were no whole records: cut off" in lines
    collector = gateway.service.collector
    collector.take()
    samples = generate_latest(collector.registry()).decode().splitlines()
    assert "gateway_audit_log_cut_bytes 4.0" in samples
    gateway.stop()
    assert verify(copy / "audit") == WHOLE


@pytest.mark.parametrize("octets", [b"notes", bytes(200), None])
def test_a_file_that_is_no_segment_is_named_and_left_alone(
    tmp_path: Path, octets: bytes | None
) -> None:
    lived(tmp_path)
    [only] = segment_paths(tmp_path / "audit")
    other = tmp_path / "audit" / "copy-of-1.audit"
    other.write_bytes(only.read_bytes() if octets is None else octets)
    before = other.read_bytes()
    with capturedLogs() as logged:
        gateway = WholeGateway(tmp_path).start()
        assert depth(gateway) == 3
        gateway.stop()
    lines = [formatEvent(event) for event in logged]
    assert "audit log: copy-of-1.audit is no segment, and left alone" in lines
    assert other.read_bytes() == before
    done = run("audit", "verify", tmp_path)
    assert done.exit_code == 0
    assert "no segment, and not looked at: copy-of-1.audit" in done.stderr
    assert "2 segments" in done.stdout


def all_sequences(directory: Path) -> dict[int, str]:
    return {
        record["sequence"]: record["kind"]
        for path in segment_paths(directory / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
    }


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("harm", [Path.unlink, cut, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("every", [False, True])
def test_numbers_of_lost_records_are_never_given_again(
    tmp_path: Path, harm: Any, every: bool
) -> None:
    data = tmp_path / "data"
    lived(data)
    lived(data)
    before = all_sequences(data)
    for path in segment_paths(data / "audit")[0 if every else -1 :]:
        harm(path)
    WholeGateway(data).start().stop()
    after = all_sequences(data)
    assert set(before) - set(after)  # the hole
    assert [each for each in before if each in after and after[each] != before[each]] == []
    problems = [damage.problem for damage in verify(data / "audit").damages]
    assert "gap" in problems


def test_a_start_that_comes_to_nothing_hides_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    lived(data)
    segment_paths(data / "audit")[-1].unlink()
    gateway = WholeGateway(data)
    shutil.copytree(data, tmp_path / "killed")  # before anything of this life is on disk
    gateway.start().stop()
    assert run("audit", "verify", tmp_path / "killed").exit_code == 1
    again = WholeGateway(tmp_path / "killed").start()
    assert again.service.store.counts.log_differences == 1
    again.stop()
    assert len(told(tmp_path / "killed", "log-differs")) == 1


def test_what_the_store_remembers_is_there_after_a_kill_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    gateway = lived(data, stop=False)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    database = Database(tmp_path / "killed" / "store.sqlite")
    ends = database.known().ends
    database.close()
    assert ends.first is not None
    assert ends.last is not None
    assert ends.last.sequence >= told(data, "incarnation-stopped")[0]["sequence"]
    again = WholeGateway(tmp_path / "killed").start()
    assert again.service.store.counts.log_differences == 0
    assert depth(again) == 6
    again.stop()


def remembered(directory: Path) -> LogEnd:
    """Where the log had come to, as its store knows."""
    last = outside.known(directory).ends.last
    assert last is not None
    return last


def killed(tmp_path: Path, *, lives: int = 1, durable: bool = False) -> Path:
    """A copy of a gateway's directory in the middle of its last life, before its log is synced."""
    data = tmp_path / "data"
    for _ in range(lives):
        lived(data)
    gateway = WholeGateway(data).start()
    if not lives:
        gateway.result(gateway.connect_0_10().declare_queue("q"))
    for _ in range(5):
        send(gateway, durable=durable)
    gateway.wait_until(lambda: gateway.service.store.counts.turns_waiting == 0)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    return tmp_path / "killed"


@pytest.mark.parametrize("lives", [0, 1, 2])
def test_the_last_life_of_a_killed_gateway_does_not_vanish_unnoticed(
    tmp_path: Path, lives: int
) -> None:
    data = killed(tmp_path, lives=lives)
    assert run("audit", "verify", data).exit_code == 0
    before = all_sequences(data)
    segment_paths(data / "audit")[-1].unlink()
    verified = run("audit", "verify", data)
    assert (verified.exit_code, f"segment number {lives + 1} is missing" in verified.output) == (
        1,
        True,
    )
    with capturedLogs() as captured:
        gateway = WholeGateway(data).start()
    assert [f"number {lives + 1} is missing" in line for line in criticals(captured)] == [True]
    assert gateway.service.store.counts.log_differences == 1
    gateway.stop()
    after = all_sequences(data)
    assert [each for each in before if each in after and after[each] != before[each]] == []
    assert len(told(data, "log-differs")) == 1
    WholeGateway(data).start().stop()
    assert len(told(data, "log-differs")) == 1
    assert run("audit", "verify", data).exit_code == 1


def test_a_segment_that_a_killed_gateway_had_just_begun_does_not_vanish_unnoticed(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    gateway = WholeGateway(data, "audit.segment_size=64KiB").start()
    gateway.result(gateway.connect_0_10().declare_queue("q"))
    while len(segment_paths(data / "audit")) < 3:
        send(gateway, durable=False)
    gateway.wait_until(lambda: gateway.service.store.counts.turns_waiting == 0)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    segment_paths(tmp_path / "killed" / "audit")[-1].unlink()
    verified = run("audit", "verify", tmp_path / "killed")
    assert (verified.exit_code, "segment number 3 is missing" in verified.output) == (1, True)


def test_an_older_log_beside_a_killed_store_is_told_and_written_again(tmp_path: Path) -> None:
    lived(tmp_path / "data")
    shutil.copytree(tmp_path / "data" / "audit", tmp_path / "old")
    data = killed(tmp_path, durable=True)
    before = all_sequences(data)
    shutil.rmtree(data / "audit")
    shutil.copytree(tmp_path / "old", data / "audit")
    assert run("audit", "verify", data).exit_code == 1
    with capturedLogs() as captured:
        gateway = WholeGateway(data).start()
    lines = [str(formatEvent(each)) for each in captured]
    assert len(criticals(captured)) == 1
    assert len([line for line in lines if "are written again from the store" in line]) == 1
    assert gateway.service.store.counts.log_differences == 1
    assert depth(gateway) == 11
    gateway.stop()
    after = all_sequences(data)
    assert [each for each in before if after.get(each, before[each]) != before[each]] == []
    received = [each for each, kind in before.items() if kind == "received"]
    assert [each for each in received if each not in after] == []


@pytest.mark.parametrize("octets", [0, 100, "header"])
def test_what_a_power_cut_leaves_of_a_life_that_has_just_begun_is_no_difference(
    tmp_path: Path, octets: int | str
) -> None:
    """Of its segment the header is on disk when the store knows of it, and may be all there is."""
    data = tmp_path / "data"
    lived(data)
    gateway = WholeGateway(data)
    shutil.copytree(data, tmp_path / "cut")  # the store has this life, and the log does not
    gateway.start().stop()
    path = segment_paths(data / "audit")[-1]
    whole = Segment(path.name, path.read_bytes())
    end = next(whole.blocks()).offset if octets == "header" else octets
    (tmp_path / "cut" / "audit" / path.name).write_bytes(whole.octets[:end])
    for _ in range(3):  # and that life, and the next ones, are cut off, too
        shutil.copytree(tmp_path / "cut", tmp_path / "next")
        again = WholeGateway(tmp_path / "next")
        assert again.service.store.counts.log_differences == 0
        shutil.rmtree(tmp_path / "cut")
        shutil.copytree(tmp_path / "next", tmp_path / "cut")
        again.start().stop()
        assert run("audit", "verify", tmp_path / "next").exit_code == 0
        shutil.rmtree(tmp_path / "next")


def another(path: Path) -> None:
    """In its place is a copy of the segment before it."""
    before = path.parent / f"{int(path.name[:10]) - 1:010}{path.name[10:]}"
    [copied] = [each for each in segment_paths(path.parent) if each.name[:10] == before.name[:10]]
    path.write_bytes(copied.read_bytes())


def no_header(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (Path.unlink, "segment number 2 is missing"),
        (another, "by its header it is segment number 1"),
        (no_header, "its header cannot be read"),
    ],
)
def test_a_hole_between_segments_is_told_once_and_for_ever(
    tmp_path: Path, harm: Any, problem: str, stopped: bool
) -> None:
    data = tmp_path / "data"
    for _ in range(3):
        lived(data)
    if not stopped:
        data = killed(tmp_path)
    harm(segment_paths(data / "audit")[1])
    with capturedLogs() as captured:
        gateway = WholeGateway(data).start()
    assert [problem in line for line in criticals(captured)] == [True]
    assert gateway.service.store.counts.log_differences == 1
    send(gateway, durable=True)
    gateway.stop()
    (record,) = told(data, "log-differs")
    assert problem in record["problem"]
    lived(data)
    assert len(told(data, "log-differs")) == 1


def test_a_hole_that_becomes_larger_or_another_one_is_told_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for _ in range(7):
        lived(data, messages=0)
    paths = segment_paths(data / "audit")
    for gone, problem in (
        ([2], "segment number 3 is missing"),
        ([3], "segments number 3 to 4 are missing"),
        ([5, 6], "segments number 6 to 7 are missing"),
        ([], ""),
    ):
        for each in gone:
            paths[each].unlink()
        before = len(told(data, "log-differs"))
        WholeGateway(data).start().stop()
        problems = [each["problem"] for each in told(data, "log-differs")[before:]]
        assert [problem in each for each in problems] == [True] * bool(gone)
    assert run("audit", "verify", data).exit_code == 1


def test_a_hole_is_told_again_by_the_next_start_where_the_one_before_came_to_nothing(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    for _ in range(3):
        lived(data)
    segment_paths(data / "audit")[1].unlink()
    gateway = WholeGateway(data)
    shutil.copytree(data, tmp_path / "killed")
    gateway.start().stop()
    again = WholeGateway(tmp_path / "killed").start()
    assert again.service.store.counts.log_differences == 1
    again.stop()


STORE = "store.sqlite*"


def put_back(old: Path, data: Path) -> None:
    """An older copy of the store, beside the log as it is."""
    remove(data)
    for path in old.glob(STORE):
        shutil.copy(path, data / path.name)


def without_its_wal(tmp_path: Path) -> Path:
    """Killed in its second life, and the WAL removed."""
    lived(tmp_path / "data")
    gateway = lived(tmp_path / "data", stop=False)
    shutil.copytree(tmp_path / "data", tmp_path / "killed")
    gateway.stop()
    (tmp_path / "killed" / "store.sqlite-wal").unlink()
    return tmp_path / "killed"


def of_an_earlier_life(tmp_path: Path) -> Path:
    lived(tmp_path / "data")
    shutil.copytree(tmp_path / "data", tmp_path / "old")
    lived(tmp_path / "data")
    put_back(tmp_path / "old", tmp_path / "data")
    return tmp_path / "data"


def of_the_same_life(tmp_path: Path) -> Path:
    gateway = lived(tmp_path / "data", stop=False)
    shutil.copytree(tmp_path / "data", tmp_path / "old")
    send(gateway, durable=True)
    shutil.copytree(tmp_path / "data", tmp_path / "killed")
    gateway.stop()
    put_back(tmp_path / "old", tmp_path / "killed")
    return tmp_path / "killed"


def send(gateway: WholeGateway, *, durable: bool) -> None:
    client = gateway.connect_0_10()
    gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=durable)))


OLDER = [without_its_wal, of_an_earlier_life, of_the_same_life]


@pytest.mark.parametrize("made", OLDER)
def test_a_store_that_is_older_than_its_log_is_refused_and_named(tmp_path: Path, made: Any) -> None:
    data = made(tmp_path)
    before = {path: path.read_bytes() for path in (data / "audit").iterdir()}
    for _ in range(2):  # the first refusal has not changed that
        with pytest.raises(UnknownStoreError, match=r"is older than .*--accept-new-store"):
            WholeGateway(data)
        verified = run("audit", "verify", data)
        assert (verified.exit_code, "store is older" in verified.output) == (1, True)
    assert {path: path.read_bytes() for path in (data / "audit").iterdir()} == before


@pytest.mark.parametrize("made", OLDER)
def test_an_older_store_that_is_meant_is_told_for_ever(tmp_path: Path, made: Any) -> None:
    data = made(tmp_path)
    with capturedLogs() as captured:
        gateway = WholeGateway(data, accept_new_store=True).start()
    critical = [str(formatEvent(each)) for each in captured if each["log_level"].name == "critical"]
    assert ["the store is older" in line for line in critical] == [True]
    assert gateway.service.store.counts.log_differences == 1
    shutil.copytree(data, tmp_path / "untold")  # before anything of this life is on disk
    gateway.stop()
    (record,) = told(data, "store-accepted")
    assert record["store"] == "older than the audit log"
    assert "the store is older" in told(data, "log-differs")[0]["problem"]
    WholeGateway(data).start().stop()  # and from then on it is the store
    assert len(told(data, "store-accepted")) == 1
    assert run("audit", "verify", data).exit_code == 1


def test_an_accepted_store_of_the_same_life_is_refused_again_until_the_log_tells(
    tmp_path: Path,
) -> None:
    data = of_the_same_life(tmp_path)
    gateway = WholeGateway(data, accept_new_store=True)
    shutil.copytree(data, tmp_path / "untold")
    gateway.start().stop()
    with pytest.raises(UnknownStoreError, match="is older than"):
        WholeGateway(tmp_path / "untold")


def test_what_only_the_log_has_makes_no_store_older(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    gateway = lived(data, stop=False)
    shutil.copytree(data, tmp_path / "old")
    send(gateway, durable=False)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    put_back(tmp_path / "old", tmp_path / "killed")
    assert run("audit", "verify", tmp_path / "killed").exit_code == 0
    again = WholeGateway(tmp_path / "killed").start()
    assert depth(again) == 6
    again.stop()


def test_a_last_row_that_cannot_be_read_is_no_older_store(tmp_path: Path) -> None:
    data = tmp_path / "data"
    gateway = lived(data, stop=False)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    path = tmp_path / "killed" / "store.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM audit_log")
        database.execute("UPDATE log SET body = zeroblob(9)")
    copy = tmp_path / "copy"
    again = WholeGateway(tmp_path / "killed", accept_damaged_store=True).start()
    assert again.service.store.counts.rows_damaged > 0
    shutil.copytree(tmp_path / "killed", copy)  # killed again, with the rows set aside
    again.stop()
    WholeGateway(copy).start().stop()


@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
def test_after_a_power_cut_the_store_writes_again_what_has_not_reached_the_disk(
    tmp_path: Path, part: float
) -> None:
    data = tmp_path / "data"
    lived(data)
    gateway = lived(data, stop=False)
    send(gateway, durable=False)
    send(gateway, durable=True)
    shutil.copytree(data, tmp_path / "cut")
    gateway.stop()
    path = segment_paths(tmp_path / "cut" / "audit")[-1]
    octets = bytearray(path.read_bytes())
    first = remembered(tmp_path / "cut").offset  # up to there it was on disk
    at = first + int(part * (len(octets) - first))
    octets[at : at + 64] = bytes(64)  # of many writes of which the system had done the others
    before = all_sequences(tmp_path / "cut")
    path.write_bytes(octets)
    assert run("audit", "verify", tmp_path / "cut").exit_code == 1
    with capturedLogs() as captured:
        again = WholeGateway(tmp_path / "cut").start()
    lines = [str(formatEvent(each)) for each in captured if each["log_level"].name == "error"]
    assert ["were not surely on disk" in line for line in lines] == [True]
    assert depth(again) == 7
    again.stop()
    after = all_sequences(tmp_path / "cut")
    assert {number: after.get(number) for number in before} == before
    assert run("audit", "verify", tmp_path / "cut").exit_code == 0


def test_verify_of_a_data_directory_says_what_it_could_not_compare(tmp_path: Path) -> None:
    data = tmp_path / "data"
    gateway = lived(data, stop=False)
    running = run("audit", "verify", data)
    assert (running.exit_code, "a gateway is using" in running.output) == (3, True)
    gateway.stop()
    whole = run("audit", "verify", data)
    assert (whole.exit_code, whole.output[-6:]) == (0, "whole\n")
    remove(data)
    gone = run("audit", "verify", data)
    assert (gone.exit_code, "there is no" in gone.output) == (3, True)
    assert "whole" not in gone.output


def halve(directory: Path) -> None:
    path = directory / "store.sqlite"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite(directory: Path) -> None:
    path = directory / "store.sqlite"
    path.write_bytes(b"\xa5" * path.stat().st_size)


def forget(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        database.execute("DELETE FROM audit_log")


def other(directory: Path) -> None:
    remove(directory)
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        database.execute("CREATE TABLE x (a)")


@pytest.mark.parametrize("harm", [empty, remove, forget, other])
def test_a_log_that_cannot_be_compared_is_not_called_whole(tmp_path: Path, harm: Any) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "whole" in verified.output) == (3, False)
    segment_paths(data / "audit")[0].write_bytes(b"")
    assert run("audit", "verify", data).exit_code == 1


def change(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        (body,) = database.execute("SELECT body FROM log ORDER BY number LIMIT 1").fetchone()
        flipped = body[:-1] + bytes((body[-1] ^ 1,))
        database.execute("UPDATE log SET body = ? WHERE body = ?", (flipped, body))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (halve, "it is broken: "),
        (overwrite, "it is broken: file is not a database"),
        (change, "checksum does not match"),
    ],
)
def test_verify_tells_of_a_store_with_which_no_gateway_starts(
    tmp_path: Path, harm: Any, told: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    verified = run("audit", "verify", data)
    (line,) = [line for line in verified.output.splitlines() if line.startswith("STORE ")]
    assert told in line
    assert (verified.exit_code, "whole" in verified.output) == (1, False)
    with pytest.raises(StartupError):
        WholeGateway(data)


def beside_another_wal(directory: Path) -> None:
    """An older copy of the store, beside the WAL of a gateway that was killed."""
    shutil.copy(directory / "store.sqlite", directory.parent / "old")
    gateway = lived(directory, stop=False)
    client = gateway.connect_0_10()
    for _ in range(10):
        letter = Letter(body=Typed("string", "x" * 100_000), durable=True)
        gateway.result(client.send("q", letter))
    gateway.stop()
    gateway = lived(directory, stop=False)
    wal = (directory / "store.sqlite-wal").read_bytes()
    gateway.stop()
    shutil.copy(directory.parent / "old", directory / "store.sqlite")
    (directory / "store.sqlite-wal").write_bytes(wal)


@pytest.mark.parametrize("harm", [halve, overwrite, beside_another_wal])
def test_a_store_of_which_nothing_can_be_read_is_refused_and_what_to_do_is_said(
    tmp_path: Path, harm: Any
) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    before = {path: path.read_bytes() for path in (data / "audit").iterdir()}
    for accept in (False, True):
        with pytest.raises(UnknownStoreError, match="Put back both as they were together") as told:
            WholeGateway(data, accept_damaged_store=accept)
    assert str(data / "store.sqlite") in str(told.value)
    assert "--accept-new-store" in str(told.value)
    assert {path: path.read_bytes() for path in (data / "audit").iterdir()} == before
    remove(data)  # as it says
    gateway = WholeGateway(data, accept_new_store=True).start()
    assert depth(gateway) == 0
    gateway.stop()


def test_a_file_in_the_place_of_the_log_is_told_in_a_sentence(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    shutil.rmtree(data / "audit")
    (data / "audit").touch()
    with pytest.raises(StartupError, match=f"cannot use {data}/audit: it is no directory"):
        WholeGateway(data)


def test_a_life_whose_only_segment_is_gone_is_missed_however_soon_it_was_cut_off(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    lived(data)
    gateway = WholeGateway(data).start()
    client = gateway.connect_0_10()
    gateway.result(client.send("q", Letter(body=Typed("string", "x"))))  # in the log alone
    for _ in range(2):  # what follows the first is done before the second is
        gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=True)))
    cut_off = tmp_path / "cut-off"
    shutil.copytree(data, cut_off)
    gateway.stop()
    segments = segment_paths(cut_off / "audit")
    assert len(segments) == 2
    segments[-1].unlink()
    missing = "segment number 2 is missing: the log had come to it"
    verified = run("audit", "verify", cut_off)
    assert (verified.exit_code, missing in verified.output) == (1, True)
    again = WholeGateway(cut_off).start()
    assert again.service.store.counts.log_differences == 1
    again.stop()
    (record,) = told(cut_off, "log-differs")
    assert missing in str(record)
    assert told(cut_off, "incarnation-started")[-1]["incarnation"] == 3


def test_a_newest_segment_that_is_a_pipe_is_told_and_waited_for_by_nobody(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    newest = max((data / "audit").iterdir())
    newest.unlink()
    os.mkfifo(newest)
    with pytest.raises(StartupError, match=f"{newest}: is no regular file"):
        WholeGateway(data)
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "is no regular file" in verified.output) == (1, True)
    assert "Traceback" not in verified.output


def test_verify_tells_of_a_backup_that_is_not_finished(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    (data / UNFINISHED_FILE).touch()
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "STORE a backup that is not finished: " in verified.output) == (
        1,
        True,
    )


def test_a_single_segment_is_verified_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    (path,) = segment_paths(data / "audit")
    assert run("audit", "verify", path).exit_code == 0
    path.write_bytes(path.read_bytes()[:-1])
    verified = run("audit", "verify", path)
    assert (verified.exit_code, "incomplete block" in verified.output) == (1, True)


@pytest.mark.parametrize(("table", "messages"), [("log", 0), ("topology", 3)])
def test_rows_that_somebody_deleted_are_refused_or_told_for_ever(
    tmp_path: Path, table: str, messages: int
) -> None:
    data = tmp_path / "data"
    lived(data)
    with closing(sqlite3.connect(data / "store.sqlite", isolation_level=None)) as database:
        database.execute(f"DELETE FROM {table}")
    with pytest.raises(UnknownStoreError, match=f"the table {table} has 0 rows"):
        WholeGateway(data)
    with capturedLogs() as captured:
        gateway = WholeGateway(data, accept_damaged_store=True).start()
    assert any(f"the table {table} has 0 rows" in line for line in criticals(captured))
    assert len(gateway.service.recovered.entries) == messages
    assert gateway.service.store.counts.rows_damaged == 1
    gateway.stop()
    (record,) = told(data, "log-differs")
    assert f"the store was damaged: the table {table} has 0 rows" in record["problem"]
    again = WholeGateway(data).start()
    assert again.service.store.counts.rows_damaged == 0
    again.stop()


def criticals(captured: Any) -> list[str]:
    return [str(formatEvent(each)) for each in captured if each["log_level"].name == "critical"]


def change_a_row(directory: Path, table: str) -> None:
    """One octet of what a stopped gateway has left."""
    what = {"log": "body", "topology": "value"}[table]
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        asked = (
            "SELECT number, body FROM log"
            if table == "log"
            else ("SELECT key, value FROM topology WHERE kind = 2")
        )
        key, value = database.execute(asked).fetchall()[-1]
        at = len(value) // 2
        changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
        name = {"log": "number", "topology": "key"}[table]
        database.execute(f"UPDATE {table} SET {what} = ? WHERE {name} = ?", (changed, key))


@pytest.mark.parametrize(("table", "row"), [("log", "row "), ("topology", "topology 2 ")])
def test_one_octet_of_a_stored_row_is_refused_or_told_for_ever(
    tmp_path: Path, table: str, row: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    change_a_row(data, table)
    before = {path: path.read_bytes() for path in (data / "audit").iterdir()}
    with pytest.raises(UnknownStoreError, match="--accept-damaged-store"):
        WholeGateway(data)
    assert {path: path.read_bytes() for path in (data / "audit").iterdir()} == before
    with capturedLogs() as captured:
        gateway = WholeGateway(data, accept_damaged_store=True).start()
    assert [row in line for line in criticals(captured)] == [True]
    assert gateway.service.store.counts.rows_damaged == 1
    gateway.stop()
    (accepted,) = told(data, "store-accepted")
    assert accepted["store"] == "damaged"
    for _ in range(2):
        with capturedLogs() as captured:
            again = WholeGateway(data).start()
        assert ["set aside" in line and row in line for line in criticals(captured)] == [True]
        assert again.service.store.counts.rows_damaged == 1
        again.stop()
    (record,) = told(data, "log-differs")
    assert f"the store was damaged: {row}" in record["problem"]
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "the store was damaged" in verified.output) == (1, True)


def lose_the_row(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        database.execute("DELETE FROM topology WHERE kind = 2")


def damage_the_row(directory: Path) -> None:
    change_a_row(directory, "topology")


@pytest.mark.parametrize("harm", [lose_the_row, damage_the_row])
@pytest.mark.parametrize("host", ["/", "other"])
def test_a_queue_whose_row_is_gone_has_its_messages_back_under_its_name(
    tmp_path: Path, harm: Any, host: str
) -> None:
    data = tmp_path / "data"
    hosts = ("virtual_hosts=[{name: /}, {name: other}]",)
    gateway = WholeGateway(data, *hosts).start()
    client = gateway.connect_0_10(Login(virtual_host=host))
    gateway.result(client.declare_queue("q", durable=True))
    gateway.result(client.bind("q", "amq.topic", "news"))
    for _ in range(3):
        gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=True)))
    gateway.stop()
    harm(data)
    again = WholeGateway(data, *hosts, accept_damaged_store=True).start()
    for number in range(2):
        client = again.connect_0_10(Login(virtual_host=host))
        letter = Letter(body=Typed("string", "x"), durable=True)
        again.result(client.send("amq.topic/news", letter))
        queue = again.service.bridge.hosts[host].topology.queues["q"]
        assert queue.depth == 4 + number
        again.stop()
        again.ledger().assert_balanced()
        again = WholeGateway(data, *hosts).start()
    again.stop()


def test_a_queue_that_not_even_the_log_names_is_called_by_its_number(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    lose_the_row(data)
    for path in segment_paths(data / "audit"):
        path.unlink()
    gateway = WholeGateway(data, accept_damaged_store=True).start()
    [name] = gateway.service.bridge.default_host.topology.queues
    assert name.startswith("recovered.")
    assert gateway.service.bridge.default_host.topology.queues[name].depth == 3
    gateway.stop()


@pytest.mark.parametrize("content", [b"", bytes(4096), b"AMQPAUDT"])
def test_a_file_called_like_the_next_segment_that_has_no_header_tells_of_no_start(
    tmp_path: Path, content: bytes
) -> None:
    data = tmp_path / "data"
    lived(data)
    (data / "audit" / "0000000002-000002.audit").write_bytes(content)
    gateway = WholeGateway(data).start()
    assert depth(gateway) == 3
    gateway.stop()
    assert gateway.service.store.counts.log_differences == 0
    assert run("audit", "verify", data).exit_code == 0
    assert [each["incarnation"] for each in told(data, "incarnation-started")] == [1, 2]
