"""`audit` and `reconcile`: read the audit log, check it, prove from it that nothing was lost."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Final

import click

from gateway.audit.printable import printable_json
from gateway.cli.compare import compare
from gateway.cli.features import HEAD, table, uses_in
from gateway.cli.jobs import MASTER, MEMORY, NOT_RUN, PROPERTIES, become_job, handed_on, run_job
from gateway.cli.logs import (
    TRUSTED,
    anchors_option,
    books_option,
    default_log,
    elsewhere,
    segments_of,
)
from gateway.cli.options import ADDRESS, FILE
from gateway.cli.reading import Reading
from gateway.cli.trace import trace
from gateway.cli.verify import verify_log
from gateway.errors import GatewayError

OUT: Final = click.option(
    "--out",
    type=ADDRESS,
    metavar="DIR",
    default="reconciliation",
    show_default=True,
    help="Directory of runs: each has one there by its time, and `latest` leads to the newest.",
)
KEEP: Final = click.option(
    "--keep",
    type=click.IntRange(1, 999_999_999),
    metavar="RUNS",
    help="Remove the oldest runs there but for so many; by default all are kept.",
)
STUCK_AFTER: Final = click.option(
    "--stuck-after",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="DAYS",
    help="What is in a queue for longer is STUCK; 0: nothing is.  [default: 30]",
)
LATE_AFTER: Final = click.option(
    "--late-after",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="SECONDS",
    help="What is settled later after it came in is LATE; by default nothing is.",
)


@click.group()
def audit() -> None:
    """Read and check an audit log: a directory of segments, `audit` in the data directory."""


@audit.command(
    epilog="""
\b
Examples:
  amqp-gateway audit cat /var/lib/amqp-gateway/audit
  amqp-gateway audit cat 1-1.audit | grep '"unroutable"'
"""
)
@click.argument("paths", nargs=-1, type=FILE)
def cat(paths: tuple[pathlib.Path, ...]) -> None:
    """Print the records of logs or single segments as JSON lines.

    Exit code 1: something cannot be read, and is told of.
    """
    reading = Reading([file for path in paths or (default_log(),) for file in segments_of(path)])
    for record in reading.records():
        click.echo(printable_json(json.dumps(record, ensure_ascii=False)))
    click.get_current_context().exit(1 if reading.broken else 0)


@audit.command(
    "features",
    epilog="""
\b
Examples:
  amqp-gateway audit features
  amqp-gateway audit features --json /var/lib/amqp-gateway/audit

\b
WHAT is a feature by its name (dtx, qmf, federation, xml_exchange ...), "argument NAME" for one that
has no effect in the gateway, or the text with which something was refused (540).
""",
)
@click.argument("log", required=False, type=FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each line.")
def used_features(log: pathlib.Path | None, as_json: bool) -> None:
    """Tell which clients use what the gateway does not offer, and how often.

    Uses are written to the log when a client leaves, and at checkpoints (checkpoint_interval).
    Exit code 0, also when nobody does; 1: something of the log cannot be read, and is told of.
    """
    reading = Reading(segments_of(log or default_log()))
    found = uses_in(reading.records())
    if as_json:
        for line in found:
            click.echo(json.dumps(line.as_json(), ensure_ascii=False))
    elif found:
        click.echo(HEAD)
        for text in table(found):
            click.echo(text)
    elif not reading.broken:
        click.echo("nobody has used what the gateway does not offer")
    click.get_current_context().exit(1 if reading.broken else 0)


@audit.command(
    epilog="""
\b
Examples:
  amqp-gateway audit close --books /var/lib/amqp-gateway/books --state /var/lib/amqp-gateway/closed
  amqp-gateway audit close --books books --state state --key /etc/auditor/books.key
"""
)
@click.argument("log", required=False, type=ADDRESS)
@click.option(
    "--books",
    type=FILE,
    metavar="DIRECTORY",
    required=True,
    help="Where the closed books of this log are: another one is written behind the last.",
)
@click.option(
    "--state",
    type=ADDRESS,
    metavar="DIR",
    required=True,
    help="As of reconcile, and the same one: it goes on from there, and leaves it for the next.",
)
@click.option("--key", type=FILE, help="Private key (Ed25519, PEM) that signs the book.")
@OUT
@KEEP
@MASTER
@MEMORY
@PROPERTIES
@STUCK_AFTER
@LATE_AFTER
@TRUSTED
@click.pass_context
def close(
    context: click.Context, /, log: str | None, trusted: tuple[pathlib.Path, ...], **_given: object
) -> None:
    """Reconcile the closed segments of a log, and write a closed book that covers them (Spark).

    The newest segment is left out. What was let go is known by the books, and what was in it by the
    state. The verdict is of all that the log had up to there; the book is written either way.

    Exit code 0: balanced, or nothing new was closed; 1: not balanced; 2: wrong arguments; 3: it
    could not be run, and no book was written.
    """
    _look_at("close", (), trusted)
    context.exit(become_job("close", handed_on(context), log or default_log()))


audit.add_command(compare)
audit.add_command(trace)
audit.add_command(verify_log)


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway reconcile
  amqp-gateway reconcile /var/lib/amqp-gateway/audit --out report
  amqp-gateway reconcile /backups/monday/audit --require-final
  amqp-gateway reconcile --state /var/lib/amqp-gateway/reconciled
  amqp-gateway reconcile --state /var/lib/amqp-gateway/reconciled --follow 60
  amqp-gateway reconcile --textfile /var/lib/node-exporter/amqp-gateway.prom
  amqp-gateway reconcile s3a://logs/gateway/audit --properties-file spark.conf
  amqp-gateway reconcile /logs/gateway-0/audit /logs/gateway-1/audit
"""
)
@click.argument("logs", nargs=-1, type=ADDRESS, metavar="[LOG]...")
@OUT
@KEEP
@MASTER
@MEMORY
@PROPERTIES
@click.option(
    "--textfile",
    type=FILE,
    help="Also write the verdict for Prometheus's node exporter to this file (*.prom).",
)
@click.option("--push", metavar="URL", help="Also put it into the Pushgateway at this URL.")
@click.option("--webhook", metavar="URL", help="Also post it to this URL, as JSON.")
@click.option(
    "--require-final",
    is_flag=True,
    help="Exit code 4 where it is balanced so far: the gateway had not ended in order.",
)
@STUCK_AFTER
@LATE_AFTER
@click.option(
    "--state",
    type=ADDRESS,
    metavar="DIR",
    help="Go on from what the run before left there, and leave the same: it reads what is new.",
)
@click.option("--rebuild", is_flag=True, help="With --state: begin anew, from the whole log.")
@click.option(
    "--follow",
    type=click.IntRange(1, 99_999),
    metavar="SECONDS",
    help="With --state: go on until SIGTERM or SIGINT, looking that often whether segments were "
    "closed, with a run for them.",
)
@anchors_option(ADDRESS)
@TRUSTED
@books_option(ADDRESS)
@click.pass_context
def reconcile(
    context: click.Context,
    /,
    logs: tuple[str, ...],
    state: str | None,
    rebuild: bool,
    follow: int | None,
    push: str | None,
    webhook: str | None,
    anchors: tuple[str, ...],
    trusted: tuple[pathlib.Path, ...],
    **_given: object,
) -> None:
    """Prove from an audit log that every message is accounted for (Spark).

    LOG, --out, --state, --books and --anchor are paths, or URIs: s3a://BUCKET/PREFIX, hdfs://. Of
    several logs, as of pods, each has a ledger and a report of its own, and all have one verdict.

    Damage of the log costs the records that it has, and is told first (LOG_GAP). What only these
    could explain is listed as "cannot be proven", and not counted.

    Exit code 0: balanced; 1: not; 2: wrong arguments; 3: it could not be run; 4: balanced so far,
    with --require-final. With --follow it is that of the last run.
    """
    for name, asked in (("--rebuild", rebuild), ("--follow", follow)):
        if asked and state is None:
            raise click.UsageError(f"{name} goes with --state")
    _look_at("reconcile", [pathlib.Path(each) for each in anchors if ":" not in each], trusted)
    options = handed_on(context, push=push or None, webhook=webhook or None)
    where = logs or (default_log(),)
    context.exit(become_job("reconcile", options, *where))


def run_reconciliation(log: pathlib.Path, out: pathlib.Path) -> int:
    """Run the job, with nothing else said; its exit code."""
    return run_job("reconcile", [f"--out={out}"], log)


def _look_at(job: str, anchors: Sequence[pathlib.Path], trusted: Sequence[pathlib.Path]) -> None:
    """What is wrong with them is told before Spark starts: the job is not run."""
    try:
        elsewhere(anchors, trusted)
    except GatewayError as error:
        click.echo(f"{job}: {error}", err=True)
        click.get_current_context().exit(NOT_RUN)
