"""How jobs are run: in processes of their own, and what comes of it."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from support.verbs import amqp_gateway

from gateway.cli import jobs


@pytest.mark.parametrize("ended", [0, 1, 3, 4])
def test_a_job_beside_has_the_exit_code_that_it_ends_with(
    monkeypatch: pytest.MonkeyPatch, ended: int
) -> None:
    done = subprocess.CompletedProcess([], ended)
    monkeypatch.setattr(jobs.subprocess, "run", lambda command, check: done)
    assert jobs.run_job("reconcile", [], "/log") == ended


def test_a_job_beside_that_is_ended_or_cannot_begin_could_not_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = subprocess.CompletedProcess([], -9)
    monkeypatch.setattr(jobs.subprocess, "run", lambda command, check: killed)
    assert jobs.run_job("reconcile", [], "/log") == 3
    assert capsys.readouterr().err == "reconcile: it was ended by signal 9\n"

    def fails(command: list[str], check: bool) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(jobs.subprocess, "run", fails)
    assert jobs.run_job("reconcile", [], "/log") == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_a_command_that_cannot_become_its_job_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_path: str, _command: list[str]) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(jobs.os, "execv", fails)
    done = amqp_gateway("reconcile", "/log")
    assert (done.exit_code, done.stderr) == (3, "reconcile: [Errno 12] Cannot allocate memory\n")
