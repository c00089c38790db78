"""Options that several commands share."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from gateway.files.whole import SECRET_MAX

F = TypeVar("F", bound=Callable[..., Any])  # Any: a command's own parameters

FILE = click.Path(path_type=pathlib.Path)
ADDRESS = click.STRING  # a path or a URI: a job in a process of its own knows what it means


class Moment(click.ParamType[int]):
    """A time as ISO 8601 has it, as milliseconds since 1970; UTC where it names no zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Any: as click has it."""
        try:
            at = datetime.fromisoformat(value)
            return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time such as 2026-11-23T09:00 or 2026-11-23", param, ctx)


MOMENT = Moment()


class Part(click.ParamType[float]):
    """A part of all, above 0: 10%, or 0.1."""

    name = "part"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Any: as click has it."""
        text = str(value)
        try:
            part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            part = 0.0
        if not 0 < part <= 1:
            self.fail(f"{text!r} is no part such as 10% or 0.1", param, ctx)
        return part


PART = Part()


def admin_options(command: F) -> F:
    """How to reach a running gateway: `url`, `token_file` and `tls_ca`."""
    for option in (
        click.option("--tls-ca", type=FILE, help="With an https URL: the authorities to believe."),
        click.option(
            "--token-file",
            type=FILE,
            help="File with the token, as the gateway's admin_token_file.",
        ),
        click.option(
            "--admin",
            "url",
            default="http://127.0.0.1:9672",
            show_default=True,
            help="The admin port, as URL or HOST:PORT.",
        ),
    ):
        command = option(command)
    return command


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


def given_password(*, line: bool = False) -> str:
    """What comes on standard input: all of it, or a line, behind which other things may come."""
    if sys.stdin is None:  # closed by whoever started the command
        raise click.UsageError("there is no standard input to read the password from")
    read = sys.stdin.buffer.readline if line else sys.stdin.buffer.read
    octets: bytes = read(SECRET_MAX + 1)
    if len(octets) > SECRET_MAX:
        raise click.UsageError(f"the password is larger than {SECRET_MAX} octets")
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise click.UsageError("the password is no UTF-8") from None


def check_text(name: str, text: str) -> None:
    """Refuse what came as octets that are no UTF-8, and would go to others so."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.UsageError(f"{name}: no UTF-8") from None
