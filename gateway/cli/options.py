"""Options that several commands share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])  # Any: a command's own parameters

FILE = click.Path(path_type=pathlib.Path)


def configuration(command: F) -> F:
    """``--config`` and ``--set``, as parameters `config` and `changes`."""
    command = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="KEY=VALUE",
        help='Change one key, as in "listen.amqp=127.0.0.1:0"; may be repeated.',
    )(command)
    return click.option(
        "-c",
        "--config",
        type=FILE,
        help="A YAML file; without one, the defaults: this machine only, everybody anonymous.",
    )(command)
