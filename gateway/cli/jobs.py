"""Runs the jobs of `gateway.accounting`, each in a process of its own, and what they all take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import click

NOT_RUN: Final = 3
MASTER: Final = click.option(
    "--master", default="local[*]", show_default=True, help="Spark master."
)
MEMORY: Final = click.option(
    "--memory",
    metavar="SIZE",
    help="What Spark's Java may have, as 512m or 4g; beside it are workers.  [default: 1g]",
)


def given(told: Mapping[str, object]) -> list[str]:
    """Options that have a value, which may begin with "-"."""
    return [f"{name}={value}" for name, value in told.items() if value is not None]


def run_job(job: str, options: Sequence[str], *logs: object) -> int:
    """Run a job; its exit code."""
    try:
        done = subprocess.run(_command(job, options, logs), check=False)
    except (OSError, ValueError) as error:  # no memory for it, a name that none can have
        click.echo(f"{job}: {error}", err=True)
        return NOT_RUN
    if done.returncode < 0:
        click.echo(f"{job}: it was ended by signal {-done.returncode}", err=True)
        return NOT_RUN
    return done.returncode


def become_job(job: str, options: Sequence[str], *logs: object) -> int:
    """Be the job from now on, which so hears the signals that end it; why not, as an exit code."""
    command = _command(job, options, logs)
    try:
        os.execv(command[0], command)
    except (OSError, ValueError) as error:
        click.echo(f"{job}: {error}", err=True)
    return NOT_RUN


def _command(job: str, options: Sequence[str], logs: Sequence[object]) -> list[str]:
    """A job in a process of its own, since the gateway never imports Spark."""
    command = [sys.executable, "-P", "-m", "gateway.accounting", job, *options, "--"]
    return [*command, *map(str, logs)]
