"""Runs the jobs of `gateway.accounting`, each in a process of its own, and what they all take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import click

from gateway.cli.options import FILE

NOT_RUN: Final = 3
MASTER: Final = click.option(
    "--master", default="local[*]", show_default=True, help="Spark master."
)
PROPERTIES: Final = click.option(
    "--properties-file",
    type=FILE,
    help="Settings of Spark's, as of spark-submit: spark.hadoop.fs.s3a.* say how to reach s3a://.",
)
MEMORY: Final = click.option(
    "--memory",
    metavar="SIZE",
    help="What Spark's Java may have, as 512m or 4g; beside it are workers.  [default: 1g, and 1g "
    "more for each 4 GiB of the log]",
)


def handed_on(context: click.Context, /, **instead: object) -> list[str]:
    """All options of a command that were given, as its job takes them: by the same names.

    `instead`: of what click has made of some of them.
    """
    words: list[str] = []
    for option in context.command.params:
        assert option.name is not None, "an option without a name has no value"
        said, name = instead.get(option.name, context.params[option.name]), option.opts[0]
        if isinstance(option, click.Argument) or said is None or said is False:
            continue
        each = said if isinstance(said, tuple) else (said,)
        words += [name] if said is True else [f"{name}={value}" for value in each]
    return words


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
