"""No segment of an audit log goes, is cut or is another one without a word at the next start."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from support.audit_logs import UNREADABLE, put_unreadable
from support.bad_logs import begun
from support.lives import all_sequences, criticals, depth, killed, lived, run, send, told
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.audit.reader import Segment, segment_paths
from gateway.audit.verify import WHOLE, verify
from gateway.clients.letter import Letter, Typed
from gateway.net.data_directory import open_store
from gateway.store.database import Database
from gateway.store.interface import Recovered
from gateway.store.sqlite import SqliteStore


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


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-400])  # the last seal, and some of what is in front


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


@pytest.fixture
def cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a power cut leaves of a start: its store is open, and nothing more of it is on disk."""
    copied = tmp_path / "cut"

    def opened(store: SqliteStore, directory: Path) -> Recovered:
        recovered = open_store(store, directory)
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(directory, copied)
        return recovered

    monkeypatch.setattr("gateway.service.starting.open_store", opened)
    return copied


def test_a_start_that_comes_to_nothing_hides_nothing(tmp_path: Path, cut: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    lived(data)
    segment_paths(data / "audit")[-1].unlink()
    WholeGateway(data).start().stop()
    cut.rename(tmp_path / "killed")
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
    tmp_path: Path, octets: int | str, cut: Path
) -> None:
    """Of its segment the header is on disk when the store knows of it, and may be all there is."""
    data = tmp_path / "data"
    lived(data)
    WholeGateway(data).start().stop()  # in what is cut, the store has this life, the log does not
    path = segment_paths(data / "audit")[-1]
    whole = Segment(path.name, path.read_bytes())
    end = next(whole.blocks()).offset if octets == "header" else octets
    (cut / "audit" / path.name).write_bytes(whole.octets[:end])
    for _ in range(3):  # and that life, and the next ones, are cut off, too
        shutil.copytree(cut, tmp_path / "next")
        again = WholeGateway(tmp_path / "next")
        assert again.service.store.counts.log_differences == 0
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


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_beside_what_has_a_segments_name_and_is_no_file_a_gateway_starts_and_tells(
    tmp_path: Path, kind: str, place: int
) -> None:
    """The first, one between, the newest, and one behind it."""
    data = tmp_path / "data"
    for _ in range(3):
        lived(data)
    paths = [*segment_paths(data / "audit"), data / "audit" / "0000000004-000003.audit"]
    paths[place].unlink(missing_ok=True)
    put_unreadable(paths[place], kind)
    problem = f"{paths[place].name}: it cannot be read: "
    with capturedLogs() as captured:
        gateway = WholeGateway(data).start()
    assert depth(gateway) == 9
    (line,) = criticals(captured)
    assert problem in line
    gateway.stop()
    verified = run("audit", "verify", data)
    assert verified.exit_code == 1
    assert f"LOG_GAP {paths[place].name} block 0 offset 0: it cannot be read: " in verified.output
    assert "the gateway started with a log that was not what it had left" in verified.output
    again = WholeGateway(data).start()
    assert again.service.store.counts.log_differences == (place == 0)  # the first at each start
    again.stop()


@pytest.mark.parametrize("levels", [3000, 100_000])
def test_beside_a_header_that_no_reader_comes_to_the_end_of_a_gateway_starts_and_tells(
    tmp_path: Path, levels: int
) -> None:
    data = tmp_path / "data"
    lived(data)
    (data / "audit" / "0000000002-000001.audit").write_bytes(begun(b"[" * levels))
    with capturedLogs() as captured:
        gateway = WholeGateway(data).start()
    assert depth(gateway) == 3
    (line,) = criticals(captured)
    assert "0000000002-000001.audit: its header cannot be read" in line
    gateway.stop()
    assert len(told(data, "log-differs")) == 1
    verified = run("audit", "verify", data)
    assert (verified.exit_code, type(verified.exception)) == (1, SystemExit)
    numbers = sorted(all_sequences(data))
    assert numbers == list(range(1, len(numbers) + 1))


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
