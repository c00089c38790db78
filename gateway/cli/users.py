"""`user`: who may connect, in a file from which no password can be read."""

from __future__ import annotations

import os
import pathlib

import click

from gateway.cli.options import FILE, given_password
from gateway.errors import GatewayError
from gateway.files.whole import is_file
from gateway.net.listening.legacy import REALM, SECRETS, LegacySecret, make_secret
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
legacy_option = click.option(
    "--legacy",
    multiple=True,
    type=click.Choice(list(SECRETS)),
    help="Make a verifier for this mechanism, too, for a client that has no better one: who reads"
    " the file can log in by it without the password. May be said several times. Default: those"
    " that the user has.",
)
no_legacy_option = click.option("--no-legacy", is_flag=True, help="Make none of these.")
realm_option = click.option(
    "--realm", help=f"Of --legacy DIGEST-MD5; one for all users. Default: the user's, or {REALM}."
)


@click.group(epilog=EXAMPLES)
def user() -> None:
    """Add, remove and list the users of a users file.

    The file holds salted verifiers for SCRAM-SHA-256 and SCRAM-SHA-512, and what else --legacy asks
    for. Its owner alone can read
    it, and its group if it could before; what others could is taken from them. A running gateway
    sees a change at the next login; a reload ends the connections of users that are gone or have
    another password.
    """


@user.command(epilog=EXAMPLES)
@file_option
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@iterations_option
@legacy_option
@no_legacy_option
@realm_option
@click.argument("name")
def add(
    file: pathlib.Path,
    password_stdin: bool,
    iterations: int | None,
    legacy: tuple[str, ...],
    no_legacy: bool,
    realm: str | None,
    name: str,
) -> None:
    """Add a user, or give one a new password."""
    name = _name(name)
    users = _read(file)
    known = name in users
    kept = _kept(users.get(name, {}), legacy, realm, none=no_legacy)
    users[name] = _made(name, kept, from_stdin=password_stdin, iterations=iterations)
    _write(file, users)
    click.echo(f"{name}: {'password changed' if known else 'added'} in {file}")


@user.command(epilog=EXAMPLES)
@file_option
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@iterations_option
@legacy_option
@no_legacy_option
@realm_option
@click.argument("name")
def password(
    file: pathlib.Path,
    password_stdin: bool,
    iterations: int | None,
    legacy: tuple[str, ...],
    no_legacy: bool,
    realm: str | None,
    name: str,
) -> None:
    """Give a user that there is a new password."""
    name = _name(name)
    users = _read(file)
    if name not in users:
        raise GatewayError(f"{file} has no user {name}")
    kept = _kept(users[name], legacy, realm, none=no_legacy)
    users[name] = _made(name, kept, from_stdin=password_stdin, iterations=iterations)
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


def _kept(user: User, legacy: tuple[str, ...], realm: str | None, *, none: bool) -> dict[str, str]:
    """The mechanisms from before SCRAM that are asked for, or that the user has; their realms."""
    if none and legacy:
        raise click.UsageError("either --legacy or --no-legacy")
    if none:
        return {}
    had = {name: each.realm for name, each in user.items() if isinstance(each, LegacySecret)}
    return {name: realm or had.get(name) or REALM for name in legacy or had}


def _made(name: str, kept: dict[str, str], *, from_stdin: bool, iterations: int | None) -> User:
    """Verifiers of a new password; `kept`: also for these mechanisms, each with its realm."""
    try:
        given = _password(name, from_stdin=from_stdin)
        made = make_user(given, iterations)
        for mechanism, realm in kept.items():
            made[mechanism] = make_secret(mechanism, name, given, realm)
        return made
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
