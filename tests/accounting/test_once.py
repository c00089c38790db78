"""What follows a reconciliation: all that is to be told of it is told, or nothing is."""

import json
import urllib.request
from pathlib import Path
from urllib.error import URLError

import pytest
from support.results import broken, found

from gateway.accounting import runs
from gateway.accounting.command_line import parser
from gateway.accounting.locations import location
from gateway.accounting.once import conclude
from gateway.accounting.steps.breaks import BreakClass
from gateway.accounting.telling.stories import Told

AT = 1_795_721_400


def concluded(out: Path, *others: str, at: float = AT) -> Path:
    options = parser().parse_args(["reconcile", "log", f"--out={out}", *others])
    with runs.begin(out, at) as run:
        conclude(options, run, {"": found(classes={"LOST": 2})})
    return run.path


def test_the_report_is_in_the_runs_directory_and_the_last_line_says_where(tmp_path, capsys):
    run = concluded(tmp_path)
    assert capsys.readouterr().out.splitlines()[-1] == f"  report   {run}/report.html"
    assert "<h1>Not balanced" in (tmp_path / "latest" / "report.html").read_text()
    assert json.loads((run / "report.json").read_text())["ran"]["began_s"] == AT


def test_without_its_report_there_is_no_run_and_nobody_is_told(tmp_path, monkeypatch, capsys):
    before = concluded(tmp_path / "out")
    capsys.readouterr()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(location, "write", full)
    with pytest.raises(OSError, match="No space"):
        concluded(tmp_path / "out", f"--textfile={tmp_path}/x.prom", "--keep=1", at=AT + 60)
    assert runs.finished(tmp_path / "out") == [before]
    assert (tmp_path / "out" / "latest").samefile(before)
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "x.prom").exists()


def test_what_one_does_not_take_others_hear_all_the_same(tmp_path, monkeypatch, capsys):
    requests: list[urllib.request.Request] = []

    def refuse(request: urllib.request.Request, timeout: float) -> None:
        requests.append(request)
        raise URLError("no route")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    (tmp_path / "latest").mkdir()
    others = ("--push=http://a", "--webhook=http://b", f"--textfile={tmp_path}/none/x.prom")
    run = concluded(tmp_path, *others)
    assert json.loads((run / "report.json").read_text())["classes"] == {"LOST": 2}
    assert len(requests) == 2
    assert b'class="LOST"} 2' in requests[0].data
    assert not [each for each in BreakClass if str(each).encode() not in requests[0].data]
    told = capsys.readouterr().err.splitlines()
    assert [line[:13] for line in told] == ["reconcile: [E"] * 2 + ["reconcile: ht"] * 2


def test_no_more_runs_are_kept_than_asked_for(tmp_path):
    paths = [concluded(tmp_path, "--keep=2", at=AT + number) for number in range(3)]
    assert runs.finished(tmp_path) == paths[1:]


def test_of_several_logs_each_has_its_report_and_all_have_one_verdict(tmp_path, capsys):
    text = tmp_path / "x.prom"
    options = parser().parse_args(
        ["reconcile", "/a", "/b", f"--out={tmp_path / 'out'}", f"--textfile={text}"]
    )
    lost = {"classes": {"LOST": 2}, "breaks": [broken(message=7, count=2)]}
    with runs.begin(tmp_path / "out", AT) as run:
        for name in ("a1", "b2"):
            (run.work / name).mkdir()  # Spark has made it
        results = {
            "a1": found(log="/a"),
            "b2": found(log="/b", stories=[Told([], "trace 7")], **lost),
        }
        conclude(options, run, results)
    told = capsys.readouterr().out.splitlines()
    assert told[-4:] == [
        "not balanced: 1 of 2 logs are balanced",
        "  balanced: /a",
        "  not balanced: /b",
        f"  report   {run.path}/report.html",
    ]
    assert f"  report   {run.path}/b2/report.html" in told
    report = json.loads((run.path / "report.json").read_text())
    assert (report["verdict"], report["balanced"], report["final"]) == ("not balanced", False, True)
    assert [(each["path"], each["classes"]) for each in report["logs"]] == [
        ("/a", {}),
        ("/b", {"LOST": 2}),
    ]
    [lost] = report["breaks"]
    assert (lost["log"], lost["message"], lost["trace"]) == ("/b", 7, "trace 7")
    for each in report["logs"]:
        assert json.loads((run.path / each["report"]).read_text())["verdict"] == each["verdict"]
    assert '<a href="b2/report.html">/b</a>' in (run.path / "report.html").read_text()
    assert 'gateway_reconcile_balanced{log="/a"} 1' in text.read_text().splitlines()
    assert 'gateway_reconcile_breaks{class="LOST",log="/b"} 2' in text.read_text().splitlines()
    assert text.read_text().count("# TYPE gateway_reconcile_balanced gauge") == 1
