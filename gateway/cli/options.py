"""Options that several verbs share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])  # Any: a verb's own parameters

FILE = click.Path(path_type=pathlib.Path)


def configuration(verb: F) -> F:
    """``--config`` and ``--set``, as parameters `config` and `changes`."""
    verb = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="KEY=VALUE",
        help='Change one key, as in "listen.amqp=127.0.0.1:0"; may be repeated.',
    )(verb)
    return click.option(
        "-c",
        "--config",
        type=FILE,
        help="A YAML file; without one, the defaults: this machine only, everybody anonymous.",
    )(verb)
