"""A job's temporary files: its own, and none of a job that was killed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gateway.accounting.scratch import scratch

KILLED = """
import os, signal
from gateway.accounting.scratch import scratch
with scratch() as own:
    (own / "spark").mkdir()
    print(own, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_it_is_gone_with_all_that_is_in_it():
    with scratch() as own:
        (own / "file").write_text("much")
    assert not own.exists()


def test_two_jobs_have_one_each():
    with scratch() as one:
        with scratch() as other:
            assert one.exists() and other.exists() and one != other
        assert one.exists()


def test_what_a_killed_job_has_left_is_removed_by_the_next():
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False
    )
    left = Path(killed.stdout.strip())
    assert killed.returncode == -signal.SIGKILL and left.exists()
    with scratch():
        assert not left.exists()


def test_nothing_is_removed_that_only_has_such_a_name(temporary: Path):
    directory, empty = temporary / "accounting-of-last-year", temporary / "accounting-empty"
    for each in (directory, empty):
        each.mkdir()
    (directory / "figures").write_text("1")
    (temporary / "accounting-file").write_text("no directory")
    (temporary / "accounting-link").symlink_to(directory)
    os.mkfifo(directory / "other")
    with scratch():
        pass
    assert sorted(each.name for each in temporary.iterdir()) == [
        *("accounting-empty", "accounting-file", "accounting-link", "accounting-of-last-year")
    ]
    assert (directory / "figures").read_text() == "1"
