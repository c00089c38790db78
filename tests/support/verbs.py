"""The command line, in the process of the test."""

from __future__ import annotations

from typing import NoReturn

import pytest
from click.testing import CliRunner, Result

from gateway.cli import jobs
from gateway.cli.main import commands


def amqp_gateway(*arguments: str, given: str | bytes | None = None) -> Result:
    """What `amqp-gateway` with these arguments came to; `given`: on its standard input."""
    return CliRunner().invoke(commands, list(arguments), input=given)


def becomes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of jobs that this process would be from then on, which ends instead."""
    commands: list[list[str]] = []

    def instead(_path: str, command: list[str]) -> NoReturn:
        commands.append(command)
        raise SystemExit(0)

    monkeypatch.setattr(jobs.os, "execv", instead)
    return commands
