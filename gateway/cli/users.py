"""`user`: who may connect, in a file from which no password can be read."""

from __future__ import annotations

import os
import pathlib

import click

from gateway.cli.options import FILE, given_password
from gateway.errors import GatewayError
from gateway.files.whole import is_file
from gateway.net.listening.users import (
    ITERATIONS,
    User,
    make_user,
    prepare_name,
    read_users,
    write_users,
)
from gateway.wire.scram import ITERATIONS_MAX

EXAMPLES = """
\b
Examples:
  amqp-gateway user add --file users.yaml alice
  printf %s "$PASSWORD" | amqp-gateway user add --file users.yaml --password-stdin alice
  amqp-gateway user password --file users.yaml alice
  amqp-gateway user list --file users.yaml
"""

file_option = click.option(
    "-f", "--file", type=FILE, default="users.yaml", show_default=True, help="The users file."
)


iterations_option = click.option(
    "--iterations",
    type=click.IntRange(4096, ITERATIONS_MAX),
    help="Of the verifiers; more make a stolen file worth less, and SCRAM of Cyrus SASL's clients"
    f" impossible. Default: {ITERATIONS['SCRAM-SHA-256']}, which those take.",
)


@click.group(epilog=EXAMPLES)
def user() -> None:
    """Add, remove and list the users of a users file.

    The file holds salted verifiers for SCRAM-SHA-256 and SCRAM-SHA-512. Its owner alone can read
    it, and its group if it could before; what others could is taken from them. A running gateway
    sees a change at the next login; a reload ends the connections of users that are gone or have
    another password.
    """


@user.command(epilog=EXAMPLES)
@file_option
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@iterations_option
@click.argument("name")
def add(file: pathlib.Path, password_stdin: bool, iterations: int | None, name: str) -> None:
    """Add a user, or give one a new password."""
    name = _name(name)
    users = _read(file)
    made = _made(name, from_stdin=password_stdin, iterations=iterations)
    known = name in users
    users[name] = made
    _write(file, users)
    click.echo(f"{name}: {'password changed' if known else 'added'} in {file}")


@user.command(epilog=EXAMPLES)
@file_option
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@iterations_option
@click.argument("name")
def password(file: pathlib.Path, password_stdin: bool, iterations: int | None, name: str) -> None:
    """Give a user that there is a new password."""
    name = _name(name)
    users = _read(file)
    if name not in users:
        raise GatewayError(f"{file} has no user {name}")
    users[name] = _made(name, from_stdin=password_stdin, iterations=iterations)
    _write(file, users)
    click.echo(f"{name}: password changed in {file}; a reload ends connections with the old one")


@user.command(epilog=EXAMPLES)
@file_option
@click.argument("name")
def remove(file: pathlib.Path, name: str) -> None:
    """Remove a user."""
    name = _name(name)
    users = _read(file)
    if users.pop(name, None) is None:
        raise GatewayError(f"{file} has no user {name}")
    _write(file, users)
    click.echo(f"{name}: removed from {file}")


@user.command("list", epilog=EXAMPLES)
@file_option
def list_users(file: pathlib.Path) -> None:
    """List the users and the mechanisms that each has a verifier for."""
    for name, verifiers in sorted(read_users(file).items()):
        click.echo(f"{name}  {', '.join(sorted(verifiers))}")


def _name(name: str) -> str:
    try:
        return prepare_name(name)
    except ValueError as error:
        raise click.UsageError(f"the name cannot be used: {error}") from None


def _read(file: pathlib.Path) -> dict[str, User]:
    """Those that there are; in a file that somebody has only just made there are none."""
    if not os.path.lexists(file) or (is_file(file) and not file.stat().st_size):
        return {}
    return read_users(file)


def _write(file: pathlib.Path, users: dict[str, User]) -> None:
    if taken := write_users(file, users):
        click.echo(taken, err=True)


def _made(name: str, *, from_stdin: bool, iterations: int | None) -> User:
    try:
        return make_user(_password(name, from_stdin=from_stdin), iterations)
    except ValueError as error:
        raise click.UsageError(f"the password cannot be used: {error}") from None


def _password(name: str, *, from_stdin: bool) -> str:
    if from_stdin:
        # One line end belongs to the pipe; anything else is part of the password.
        return given_password().removesuffix("\n").removesuffix("\r")
    prompted: str = click.prompt(
        f"Password for {name}", hide_input=True, confirmation_prompt=True, err=True
    )
    return prompted
