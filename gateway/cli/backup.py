"""`backup`: a running gateway copies its store and its audit log."""

from __future__ import annotations

import pathlib

import click

from gateway.cli.ctl import Admin
from gateway.cli.options import FILE, admin_options


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway backup --token-file /etc/amqp-gateway/admin-token /backups/monday
  amqp-gateway serve --set data_directory=/backups/monday

\b
Exit codes:
  0  the backup is in DIRECTORY, whole
  1  it is not: the gateway says why, or cannot be reached
  2  wrong arguments
"""
)
@click.argument("directory", type=FILE)
@admin_options
def backup(
    directory: pathlib.Path,
    url: str,
    token_file: pathlib.Path | None,
    tls_ca: pathlib.Path | None,
) -> None:
    """Copy the store and the audit log of a running gateway, as they belong together.

    The gateway writes DIRECTORY, which must not be there yet, on the machine that it runs on. It
    goes on meanwhile. Whatever it had confirmed before is in the copy, which is a data directory: a
    gateway that is started with it goes on as after a kill at that moment. It has messages and
    secrets in it, and is its owner's alone.
    """
    admin = Admin(url, token_file, tls_ca, missing="it needs --token-file")
    click.echo(admin.ask("backup", {"directory": str(directory.absolute())})["done"])
