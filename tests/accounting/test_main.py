"""The command line: what it refuses, in one line each."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.audit_logs import UNREADABLE, balanced_log, put_unreadable
from support.hand_log import HandLog

from gateway.accounting import __main__ as program
from gateway.accounting import java
from gateway.accounting.runs import UNFINISHED, finished


def test_without_a_log_it_says_so_and_exits_3(tmp_path, capsys):
    assert program.main(["reconcile", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err == f"reconcile: no audit segments in {tmp_path}\n"


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_segment_that_cannot_be_read_is_told(kind, tmp_path, capsys):
    bad = tmp_path / "0000000001-000001.audit"
    put_unreadable(bad, kind)
    assert program.main(["reconcile", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err.startswith(f"reconcile: cannot read {bad}: ")


def test_without_java_it_says_what_to_install_and_exits_3(tmp_path, capsys, monkeypatch):
    balanced_log(tmp_path / "log")
    monkeypatch.setattr(java, "java_home", lambda scratch: None)
    arguments = ["reconcile", str(tmp_path / "log"), "--out", str(tmp_path / "out")]
    assert program.main(arguments) == 3
    assert capsys.readouterr().err == f"reconcile: {java.MISSING}\n"


def test_without_its_libraries_it_says_what_to_install_and_exits_3(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(program, "LIBRARIES", ("no_such_library",))
    assert program.main(["reconcile", str(tmp_path), "--out", str(tmp_path)]) == 3
    assert "pip install 'amqp-gateway[accounting]'" in capsys.readouterr().err


def test_an_output_that_cannot_be_made_exits_3(tmp_path, capsys):
    balanced_log(tmp_path / "log")
    (tmp_path / "file").touch()
    arguments = ["reconcile", str(tmp_path / "log"), "--out", str(tmp_path / "file" / "out")]
    assert program.main(arguments) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_whatever_goes_wrong_is_one_line_and_exits_3(tmp_path, capsys, monkeypatch):
    balanced_log(tmp_path / "log")
    arguments = ["reconcile", str(tmp_path / "log"), "--out", str(tmp_path / "out")]
    for error, told in (
        (OSError(28, "No space left on device", "/out/breaks"), "No space left on device"),
        (RuntimeError("the session is gone\n  at Java.somewhere"), "RuntimeError: the session is"),
        (KeyboardInterrupt(), "interrupted"),
    ):

        def fails(*_arguments: object, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr(program, "_reconcile", fails)
        assert program.main(arguments) == 3
        err = capsys.readouterr().err
        assert (err.count("\n"), told in err) == (1, True)


def test_the_whole_command_is_quiet_and_ends_with_its_report_of_all_logs(tmp_path: Path):
    other = HandLog(tmp_path / "other", name="b2")
    other.start()
    logs = [balanced_log(tmp_path / "log"), other.end()]
    command = [sys.executable, "-P", "-m", "gateway.accounting", "reconcile", *logs]
    command += ["--out", tmp_path / "o"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert (told.returncode, told.stderr) == (0, "")
    (run,) = finished(tmp_path / "o")
    page = run / "report.html"
    assert told.stdout.splitlines()[-1] == f"  report   {page}"
    assert "<h1>Balanced</h1>" in page.read_text()
    assert (tmp_path / "o" / "latest").samefile(run)
    entered = {}
    for each in json.loads((run / "report.json").read_text())["logs"]:
        report = json.loads((run / each["report"]).read_text())
        entered[report["log"]["path"]] = report["sums"]["queues"]["entered"]
    assert entered == {str(logs[0]): 23, str(logs[1]): 0}


def test_where_somebody_ends_it_what_spark_has_to_say_of_that_is_not_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def ends(*_arguments: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(600)
        finally:
            raise ConnectionError("Java has ended")

    monkeypatch.setattr(program, "_reconcile", ends)
    arguments = ["reconcile", str(balanced_log(tmp_path / "log")), f"--out={tmp_path / 'out'}"]
    before = signal.getsignal(signal.SIGTERM)
    assert program.main(arguments) == 3
    assert capsys.readouterr().err == "reconcile: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_who_ends_the_command_and_its_java_ends_the_job_which_leaves_nothing_behind(tmp_path: Path):
    log, out, temporary = balanced_log(tmp_path / "log"), tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "gateway", "reconcile", str(log), "--out", str(out)]
    with subprocess.Popen(
        [*command, "--state", str(tmp_path / "state")],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as job:
        deadline = time.monotonic() + 600
        while not any(out.glob(f"{UNFINISHED}*/segments")):
            assert job.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(job.pid, signal.SIGTERM)  # as a service manager does
        told = job.communicate(timeout=600)
    assert (job.returncode, told) == (3, ("", "reconcile: interrupted\n"))
    assert list(temporary.iterdir()) == []
    assert list(out.iterdir()) == []
    assert list((tmp_path / "state").iterdir()) == [tmp_path / "state" / "lock"]
