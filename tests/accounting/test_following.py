"""A log that is followed while it grows."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming import DataStreamReader
from support.audit_logs import ScriptedGateway

from gateway.accounting import __main__ as program
from gateway.accounting import java, runs, session
from gateway.accounting.following import Ending, Followed, follow
from gateway.accounting.segments.survey import SegmentSurvey
from gateway.accounting.state.folder import Covered, Folder, State
from gateway.audit.reader import segment_paths
from gateway.audit.schema import segment_numbers
from gateway.audit.seals import Head


class Growing:
    """A log that grows, each time by a segment that is closed."""

    def __init__(self, directory: Path) -> None:
        self.gateway = ScriptedGateway(directory, segment_octets=2000)

    def closed(self) -> list[Path]:
        return segment_paths(self.gateway.directory)[:-1]

    def grow(self) -> Path:
        before = len(self.closed())
        while len(self.closed()) == before:
            self.gateway.consume("orders", self.gateway.publish("orders"))
            self.gateway.turn()
        return self.closed()[-1]


def test_what_is_closed_is_reconciled_once_and_what_could_not_be_is_tried_again(spark, tmp_path):
    growing, folder, ending = Growing(tmp_path / "log"), Folder(tmp_path / "state"), Ending()
    known = growing.grow()
    folder.path.mkdir()
    folder.write(State("", 0, (Covered(known.name, 1, ""),), (), ""))
    wanted = [growing.grow(), growing.grow()]
    asked: list[str] = []
    told: list[str] = []

    def reconcile_to(last: str) -> None:
        asked.append(last)
        if len(asked) == 1:
            raise OSError("no room")
        covered = (*folder.read().segments, Covered(last, 1, ""))
        folder.write(State("", 0, covered, (), ""))
        if len(asked) == 2:
            wanted.append(growing.grow())
        else:
            growing.grow()
            ending.said = True

    what = Followed(
        spark,
        growing.gateway.directory,
        folder,
        1,
        reconcile_to,
        lambda: known.name,
        lambda error: told.append(str(error)),
    )
    follow(what, ending, tmp_path)
    assert asked == [wanted[1].name, wanted[1].name, wanted[2].name]
    assert "no room" in told  # and where a machine is busy, that a process of Spark's took 10 s
    assert spark.streams.active == []


def test_what_the_state_has_and_no_run_has_told_of_is_told_first(spark, tmp_path):
    growing, folder, ending = Growing(tmp_path / "log"), Folder(tmp_path / "state"), Ending()
    known = growing.grow().name
    folder.path.mkdir()
    folder.write(State("", 0, (Covered(known, 1, ""),), (), ""))
    asked: list[str] = []

    def reconcile_to(last: str) -> None:
        asked.append(last)
        ending.said = True

    def told_to() -> str:
        return asked[-1] if asked else ""

    directory = growing.gateway.directory
    follow(
        Followed(spark, directory, folder, 1, reconcile_to, told_to, pytest.fail), ending, tmp_path
    )
    assert asked == [known]


def test_where_no_stream_can_be_begun_the_log_is_followed_all_the_same(
    spark, tmp_path, monkeypatch
):
    growing, folder, ending = Growing(tmp_path / "log"), Folder(tmp_path / "state"), Ending()
    wanted = [growing.grow().name]
    asked: list[str] = []
    told: list[str] = []

    def reconcile_to(last: str) -> None:
        asked.append(last)
        folder.path.mkdir(exist_ok=True)
        folder.write(State("", 0, (*folder.read().segments, Covered(last, 1, "")), (), ""))

    def tell(error: Exception) -> None:
        told.append(str(error))
        wanted.append(growing.grow().name)
        ending.said = len(wanted) == 4

    def refuses(_stream: object, *_where: object) -> None:
        raise OSError("the process did not start in time")

    monkeypatch.setattr(DataStreamReader, "load", refuses)
    directory, newest = growing.gateway.directory, lambda: folder.read().last
    follow(Followed(spark, directory, folder, 1, reconcile_to, newest, tell), ending, tmp_path)
    assert asked == wanted[:3]
    assert told == ["the process did not start in time"] * 3


def test_where_spark_has_ended_nothing_is_tried_again(tmp_path):
    told: list[Exception] = []
    gone: Any = object()  # whatever it is asked, there is no answer
    what = Followed(gone, tmp_path, Folder(tmp_path / "state"), 1, pytest.fail, str, told.append)
    with pytest.raises(AttributeError):
        follow(what, Ending(), tmp_path)
    assert told == []


def test_who_ends_spark_with_it_ends_it_in_order(tmp_path):
    ending = Ending()

    def newest() -> str:
        ending.said = True
        raise ConnectionError("Java has ended")

    growing = Growing(tmp_path / "log")
    growing.grow()
    gone: Any = object()
    folder = Folder(tmp_path / "state")
    what = Followed(gone, growing.gateway.directory, folder, 1, pytest.fail, newest, pytest.fail)
    folder.path.mkdir()
    folder.write(State("", 0, (Covered("9", 1, ""),), (), ""))
    follow(what, ending, tmp_path)


def test_one_signal_ends_it_when_what_has_begun_is_done_and_the_next_at_once():
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    ending = Ending()
    with ending.heard():
        os.kill(os.getpid(), signal.SIGINT)
        ending.wait(600)
        assert ending.said
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            ending.wait(600)
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before


@pytest.fixture
def following(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The whole command, in the session that all tests have; `meanwhile`: when that has begun."""

    def run(log: Path, *others: str, meanwhile: Callable[[], object] = bool) -> int:
        @contextmanager
        def same(*_: object, **__: object) -> Iterator:
            meanwhile()
            yield spark

        monkeypatch.setattr(session, "spark_session", same)
        monkeypatch.setattr(java, "java_home", lambda scratch: Path(os.environ["JAVA_HOME"]))
        given = (f"--out={tmp_path / 'out'}", f"--state={tmp_path / 'state'}", "--follow=1")
        return program.main(["reconcile", str(log), *given, *others])

    return run


def head_of(segment: Path) -> Head:
    survey = SegmentSurvey(segment.name, segment.read_bytes())
    for _block in survey.blocks():
        pass
    return Head(**survey.row(0)["head"])


def end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_each_time_there_is_a_run_and_it_ends_by_a_signal_with_the_last_verdict(
    following: Callable[..., int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    growing, lead_to = Growing(tmp_path / "log"), runs.lead_to
    (tmp_path / "out" / "unfinished-2026-11-26T193000Z").mkdir(parents=True)
    closed = growing.grow()

    def last(run: Path) -> None:
        lead_to(run)
        end()

    monkeypatch.setattr(runs, "lead_to", last)
    number = segment_numbers(closed.name)[0]
    kept_elsewhere = tmp_path / "heads"
    heads = [head_of(closed), head_of(closed)._replace(segment=number + 1)]  # the other one is open
    kept_elsewhere.write_text("\n".join([head.line() for head in heads]))
    assert following(growing.gateway.directory, f"--anchor={kept_elsewhere}") == 0
    told = capsys.readouterr()
    assert told.out.count("balanced so far: ") == 1
    assert all(line.endswith("; it is tried again") for line in told.err.splitlines())
    assert "held against one head kept elsewhere" in told.out
    (run,) = runs.finished(tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == [run.name, "latest"]
    assert json.loads((run / "report.json").read_text())["log"]["newest"] == closed.name
    assert Folder(tmp_path / "state").read().last == closed.name


class KilledError(BaseException):
    """Nobody catches it."""


def reports(out: Path) -> list[dict[str, Any]]:
    return [json.loads((run / runs.REPORT).read_text()) for run in runs.finished(out)]


def test_after_an_end_at_any_step_it_goes_on_tells_nothing_twice_and_has_what_one_run_has(
    following: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing, lead_to = Growing(tmp_path / "log"), runs.lead_to
    log = growing.gateway.directory

    def killed(*_what: object) -> None:
        raise KilledError

    for owner, step in ((Folder, "write"), (runs.Run, "finish"), (runs, "lead_to")):
        growing.grow()
        with monkeypatch.context() as patched, pytest.raises(KilledError):
            patched.setattr(owner, step, killed)
            following(log)
    growing.grow()

    def last(run: Path) -> None:
        lead_to(run)
        end()

    monkeypatch.setattr(runs, "lead_to", last)
    assert following(log) == 0
    told = reports(tmp_path / "out")
    ends = [each["log"]["newest"] for each in told]
    assert ends == [growing.closed()[at].name for at in (-2, -1)]
    (tmp_path / "closed").mkdir()
    for path in growing.closed():
        shutil.copy(path, tmp_path / "closed")
    monkeypatch.setattr(runs, "lead_to", lead_to)
    assert program.main(["reconcile", f"{tmp_path / 'closed'}", f"--out={tmp_path / 'whole'}"]) == 0
    (whole,) = reports(tmp_path / "whole")
    for name in ("verdict", "sums", "classes", "told", "checked", "queues"):
        assert told[-1][name] == whole[name]


def test_one_that_ends_before_anything_was_closed_has_no_verdict(
    following: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    log = ScriptedGateway(tmp_path / "log").directory
    assert following(log, meanwhile=end) == 3
    told = capsys.readouterr()
    assert (told.out, told.err.count("no verdict"), told.err.count("\n")) == ("", 1, 1)
    assert list((tmp_path / "state").iterdir()) == [tmp_path / "state" / "lock"]
