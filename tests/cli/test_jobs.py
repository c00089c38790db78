"""How jobs are run: in processes of their own, and what comes of it."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from support.verbs import amqp_gateway

from gateway.cli import jobs


@pytest.mark.parametrize("ended", [0, 1, 3, 4])
def test_a_command_exits_as_its_job_does(monkeypatch: pytest.MonkeyPatch, ended: int) -> None:
    done = subprocess.CompletedProcess([], ended)
    monkeypatch.setattr(jobs.subprocess, "run", lambda command, check: done)
    assert amqp_gateway("reconcile", "/log").exit_code == ended


def test_a_job_that_is_ended_or_cannot_begin_could_not_be_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed = subprocess.CompletedProcess([], -9)
    monkeypatch.setattr(jobs.subprocess, "run", lambda command, check: killed)
    result = amqp_gateway("reconcile", "/log")
    assert (result.exit_code, result.stderr) == (3, "reconcile: it was ended by signal 9\n")

    def fails(command: list[str], check: bool) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(jobs.subprocess, "run", fails)
    result = amqp_gateway("reconcile", "/log")
    assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
