"""`store export`, `import` and `compact`: messages to a file and back, and disk given back."""

from __future__ import annotations

import os
import pathlib
import pwd
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

import click

from gateway.audit.printable import printable
from gateway.cli.options import FILE, MOMENT
from gateway.cli.store import host_option, queue_option, store
from gateway.errors import GatewayError
from gateway.files.own import default_data_directory
from gateway.offline.compacting import compact as compact_store
from gateway.offline.directory import refuse_others, to_read
from gateway.offline.exporting import Exported, Wanted, new_file
from gateway.offline.exporting import export as write_export
from gateway.offline.importing import import_into

__all__ = ["compact", "export", "import_store", "store"]

WHO_MAX: Final = 200
STANDARD: Final = pathlib.Path("-")


@store.command(
    epilog="""
\b
Examples:
  amqp-gateway store export --out all.jsonl /var/lib/amqp-gateway
  amqp-gateway store export --queue orders --out orders.jsonl /backups/monday
  amqp-gateway store export --since 2026-11-23T09:00 --out - | zstd > since.jsonl.zst

\b
Exit codes:
  0  the export is in the file, whole
  1  it is not: the reason is told, and there is no file; or rows of the store cannot be read, which
     are told, and the export is of all others
  2  wrong arguments
"""
)
@click.argument("directory", required=False, type=FILE)
@click.option(
    "-o",
    "--out",
    type=FILE,
    required=True,
    metavar="FILE",
    help="A new file, for its owner alone; - is standard output.",
)
@queue_option
@host_option
@click.option("--since", type=MOMENT, help="Messages that came at this time or later.")
@click.option("--until", type=MOMENT, help="Messages that came before this time.")
def export(
    directory: pathlib.Path | None,
    out: pathlib.Path,
    queues: tuple[str, ...],
    host: str,
    since: int | None,
    until: int | None,
) -> None:
    """Write queues and their messages as lines of JSON, for people and for `store import`.

    The store stays as it is. A line has a message in words, with typed values, and beside that the
    octets that came, in base64. The last line has the SHA-256 of all before it: without that line
    it is no export.
    """
    wanted = Wanted(list(queues), host, since, until)
    if out == STANDARD:
        done = _export(directory, wanted, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        with new_file(out) as file:
            done = _export(directory, wanted, file)
    for line in done.unread:
        click.echo(f"not read: {printable(line)}", err=True)
    if done.files_left_out:
        told = f"{done.files_left_out} files that are staged were left out: they are of no queue"
        click.echo(told, err=True)
    click.echo(
        f"{done.messages} messages, {done.octets} octets, {done.rows} rows of the topology;"
        f" sha256 {done.sha256}",
        err=out == STANDARD,
    )
    click.get_current_context().exit(1 if done.unread else 0)


@store.command(
    "import",
    epilog="""
\b
Examples:
  amqp-gateway store import orders.jsonl /var/lib/amqp-gateway
  zstd -dc since.jsonl.zst | amqp-gateway store import - /tmp/other-gateway

\b
Exit codes:
  0  all of it was brought; what was left out, or stays as it was, is told
  1  nothing was: the reason is told
  2  wrong arguments
""",
)
@click.argument("file", type=FILE)
@click.argument("directory", required=False, type=FILE)
@click.option("--again", is_flag=True, help="Also if this export was imported before.")
def import_store(file: pathlib.Path, directory: pathlib.Path | None, again: bool) -> None:
    """Bring an export (- for standard input) into the store of a gateway that is stopped.

    A directory that is not there, or empty, becomes a new store. What the export names and is not
    there is made: exchanges, queues, bindings. Messages go to the end of their queues, in order,
    each as a new one. All is brought, or nothing.

    The audit log hears of it when the gateway is started next: the messages are then received, from
    "import" and the beginning of the export's SHA-256.
    """
    directory = directory or default_data_directory()
    told = "standard input" if file == STANDARD else str(file)
    with _opened(file) as source:
        size = 0 if file == STANDARD else os.fstat(source.fileno()).st_size
        done = import_into(
            directory,
            source,
            size=size,
            who=f"{printable(told)} ({_user()})"[:WHO_MAX],
            now_ms=int(time.time() * 1000),
            again=again,
        )
    for line in done.kept:
        click.echo(printable(line), err=True)
    if done.left_out:
        click.echo(
            f"{done.left_out} messages were left out: of deleted queues, or branches", err=True
        )
    files = f" {done.files} files that are staged;" if done.files else ""
    click.echo(
        f"{done.messages} messages, {done.octets} octets; {done.made} queues and exchanges made;"
        f"{files} sha256 {done.sha256}"
    )


@store.command(
    epilog="""
\b
Examples:
  amqp-gateway store compact
  amqp-gateway store compact /var/lib/amqp-gateway

\b
Exit codes:
  0  done
  1  the store stays as it was: the reason is told
  2  wrong arguments
"""
)
@click.argument("directory", required=False, type=FILE)
def compact(directory: pathlib.Path | None) -> None:
    """Give disk back: write the file of a stopped gateway's store anew, without what is not needed.

    It needs as much room as the store has, for as long as it takes, and a memory as at a start. A
    kill or a full disk at any point leaves the store as it was, or compact.
    """
    done = compact_store(directory or default_data_directory())
    click.echo(f"{done.before} octets before, {done.after} octets after")
    if not done.cut:
        click.echo(
            "holes alone were given back: the store was not closed in order, or not with this"
            " audit log. Start the gateway and stop it; then there may be more",
            err=True,
        )


@contextmanager
def _opened(file: pathlib.Path) -> Iterator[BinaryIO]:
    if file == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        source = file.open("rb")
    except OSError as error:
        raise GatewayError(f"cannot read {file}: {error.strerror}") from None
    with source:
        yield source


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # as in a container
        return f"uid {os.getuid()}"


def _export(directory: pathlib.Path | None, wanted: Wanted, out: BinaryIO) -> Exported:
    with to_read(directory or default_data_directory()) as database:
        refuse_others(database)
        return write_export(database, wanted, out, int(time.time() * 1000))
