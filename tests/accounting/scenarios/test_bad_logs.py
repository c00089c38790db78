"""Whatever lies in a log's directory: `reconcile` has an exit code for it, and never "balanced"."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.audit_logs import ScriptedGateway
from support.bad_logs import BAD, BEHIND, Bad, whole_log

from gateway.accounting import __main__ as program
from gateway.accounting import java, reading, session

ASIDE = "0000000098-000001.audit"


def both(log: Path) -> None:
    """No segment at all, and one with a header that nobody reads to its end."""
    BAD["foreign"].harm(log)
    (log / BEHIND).rename(log / ASIDE)
    BAD["deep"].harm(log)


# Each is a reconciliation: all of them with GATEWAY_EXPLORE, and `audit verify` always.
JUDGED = {"both": Bad(both)}
if "GATEWAY_EXPLORE" in os.environ:
    JUDGED |= {name: bad for name, bad in BAD.items() if bad.judged}


@pytest.fixture
def here(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole command, in the session that all tests have."""

    @contextmanager
    def same(*_: object, **__: object) -> Iterator:
        yield spark

    monkeypatch.setattr(session, "spark_session", same)
    monkeypatch.setattr(java, "java_home", lambda scratch: Path(os.environ["JAVA_HOME"]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole_log(tmp_path_factory.mktemp("whole") / "log")


@pytest.fixture
def log(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "log"))


def run(log: Path, out: Path, capsys: pytest.CaptureFixture) -> tuple[int, str, str]:
    code = program.main(["reconcile", str(log), "--out", str(out)])
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return code, told.out, told.err


@pytest.mark.parametrize("bad", JUDGED.values(), ids=JUDGED)
def test_what_cannot_be_read_is_a_break_of_the_log(
    here: None, bad: Bad, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    bad.harm(log)
    code, told, err = run(log, tmp_path / "out", capsys)
    assert (code, err) == (1, "")
    assert told.startswith("not balanced")
    assert "  LOG_GAP: " in told
    if bad.harm is both:
        gaps = [line for line in told.splitlines() if line.startswith("  LOG_GAP: ")]
        assert all(any(name in line for line in gaps) for name in (ASIDE, BEHIND))


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if not bad.judged])
def test_what_is_no_file_cannot_be_judged(
    name: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    BAD[name].harm(log)
    code, told, err = run(log, tmp_path / "out", capsys)
    assert (code, told, err.count("\n")) == (3, "", 1)
    assert err.startswith("reconcile: cannot read ")


def test_a_log_that_grows_while_it_is_read_is_balanced_so_far(
    here: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = ScriptedGateway(tmp_path / "log", segment_octets=4000)

    def more() -> None:
        for _ in range(40):
            gateway.consume("orders", gateway.publish("orders"))
            gateway.publish("orders")
            gateway.turn()
        gateway.checkpoint()

    more()
    read = reading.read

    def grown(*arguments: object, **options: str) -> object:
        more()
        frame = read(*arguments, **options)
        more()
        return frame

    monkeypatch.setattr(reading, "read", grown)
    code, told, err = run(gateway.directory, tmp_path / "out", capsys)
    assert (code, err) == (0, ""), told
    assert told.startswith("balanced so far")
