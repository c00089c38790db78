"""`audit` and `reconcile`: read the audit log, check it, prove from it that nothing was lost."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Final

import click

from gateway.audit.ahead import KNOWS_NOTHING, Known, ahead
from gateway.audit.elsewhere import known_elsewhere
from gateway.audit.ends import Difference, differences
from gateway.audit.printable import printable, printable_json
from gateway.audit.provenance import Provenance
from gateway.audit.reader import Damage, other_files, segment_paths
from gateway.audit.verify import verify, verify_segment
from gateway.cli.features import HEAD, table, uses_in
from gateway.cli.options import FILE
from gateway.cli.reading import Reading, default_log, segments
from gateway.cli.trace import trace
from gateway.errors import GatewayError, StoreError
from gateway.files.whole import segment_size
from gateway.net.data_directory import AUDIT_FOLDER, UNFINISHED_FILE
from gateway.store import outside
from gateway.store.sqlite import FILE_NAME

NOT_COMPARED: Final = 3
NOT_RUN: Final = 3  # of `reconcile`


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
    reading = Reading([file for path in paths or (default_log(),) for file in segments(path)])
    for record in reading.records():
        click.echo(printable_json(json.dumps(record, ensure_ascii=False)))
    click.get_current_context().exit(1 if reading.broken else 0)


audit.add_command(trace)


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
    reading = Reading(segments(log or default_log()))
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


ANCHORS: Final = click.option(
    "--anchor",
    "anchors",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Heads of this log that were kept elsewhere, one on each line: all must still be true.",
)
TRUSTED: Final = click.option(
    "--trust",
    "trusted",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Public keys (Ed25519, PEM): seals must be signed by one of them.",
)


@audit.command("verify")
@click.argument("log", required=False, type=FILE)
@ANCHORS
@TRUSTED
def verify_log(
    log: pathlib.Path | None, anchors: tuple[pathlib.Path, ...], trusted: tuple[pathlib.Path, ...]
) -> None:
    """Check a whole log: checksums, gapless numbers, the chain of segments, seals.

    Whoever can write the log can make all these right again, unless heads of it were kept elsewhere
    (--anchor) or its seals are signed (--trust). A line says which of that there is.

    Of a data directory, all of the store is read, too, and the log is compared with what the store
    knows of it, unless a gateway is using it: only so is it seen when the newest segment is gone,
    or when the store is older than the log. The directory may be read-only. What a gateway found
    changed when it started is in the log, and counts for ever.

    Exit code 0: whole; 1: something is missing, reordered, edited or cut off, or the store is
    older, now or at a start, or it is damaged, or the directory is a backup that is not finished;
    3: nothing is, but the log could not be compared with the store.
    """
    data = log or default_log().parent
    inside = log is None or os.path.isdir(data / AUDIT_FOLDER)
    log = data / AUDIT_FOLDER if inside else data
    known, untold = _known(data) if inside else (KNOWS_NOTHING, "")
    broken = _damage(data) if inside else []
    files = segment_paths(log) if known.ends.last is not None else segments(log)
    try:
        octets = sum(segment_size(file) for file in files)
        different = differences(log, known.ends)
        older = ahead(log, known, as_remembered=not different)
        provenance = _elsewhere(anchors, trusted)
        look = verify if log.is_dir() else verify_segment
        checked = look(log, provenance)
    except OSError as error:
        raise GatewayError(f"cannot read {error.filename}: {error.strerror}") from None
    found: list[Damage | Difference] = [*checked.damages, *different, *older]
    found += provenance.found()
    for damage in found:
        click.echo(click.style("LOG_GAP ", fg="red") + printable(str(damage)))
    for line in broken:
        click.echo(click.style("STORE ", fg="red") + line)
    if untold:
        click.echo(f"not compared with the store: {untold}", err=True)
    if checked.unfinished is not None:
        click.echo(f"half written, as by a gateway at work: {checked.unfinished}", err=True)
    for other in other_files(log):
        click.echo(f"no segment, and not looked at: {printable(other.name)}", err=True)
    for line in provenance.lines():
        click.echo(line)
    if not found and not broken:
        whole = "whole" if checked.unfinished is None else "whole, up to a block half written"
        whole = "no damage found, but where it ends nobody knows" if untold else whole
        click.echo(f"{len(files)} segments, {octets} octets: {whole}")
    click.get_current_context().exit(1 if found or broken else NOT_COMPARED if untold else 0)


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway reconcile
  amqp-gateway reconcile /var/lib/amqp-gateway/audit --out report
  amqp-gateway reconcile /backups/monday/audit --require-final
  amqp-gateway reconcile --state /var/lib/amqp-gateway/reconciled
  amqp-gateway reconcile --textfile /var/lib/node-exporter/amqp-gateway.prom
"""
)
@click.argument("log", required=False, type=FILE)
@click.option(
    "--out",
    type=FILE,
    default="reconciliation",
    show_default=True,
    help="Directory for the report and the Parquet files.",
)
@click.option("--master", default="local[*]", show_default=True, help="Spark master.")
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
@click.option(
    "--stuck-after",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="DAYS",
    help="What is in a queue for longer is STUCK; 0: nothing is.  [default: 30]",
)
@click.option(
    "--late-after",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="SECONDS",
    help="What is settled later after it came in is LATE; by default nothing is.",
)
@click.option(
    "--state",
    type=FILE,
    metavar="DIR",
    help="Go on from what the run before left there, and leave the same: it reads what is new.",
)
@click.option("--rebuild", is_flag=True, help="With --state: begin anew, from the whole log.")
@ANCHORS
@TRUSTED
def reconcile(
    log: pathlib.Path | None,
    out: pathlib.Path,
    master: str,
    textfile: pathlib.Path | None,
    push: str | None,
    webhook: str | None,
    require_final: bool,
    stuck_after: float | None,
    late_after: float | None,
    state: pathlib.Path | None,
    rebuild: bool,
    anchors: tuple[pathlib.Path, ...],
    trusted: tuple[pathlib.Path, ...],
) -> None:
    """Prove from an audit log that every message is accounted for (Spark).

    Damage of the log costs the records that it has, and is told first (LOG_GAP). What only these
    could explain is listed as "cannot be proven", and not counted.

    Exit code 0: balanced; 1: not; 2: wrong arguments; 3: it could not be run; 4: balanced so far,
    with --require-final.
    """
    if rebuild and state is None:
        raise click.UsageError("--rebuild goes with --state")
    _elsewhere(anchors, trusted)  # what is wrong with them is told before Spark starts
    told = {
        "--textfile": textfile,
        "--push": push or None,
        "--webhook": webhook or None,
        "--stuck-after": stuck_after,
        "--late-after": late_after,
        "--state": state,
    }
    options = [f"{name}={value}" for name, value in told.items() if value is not None]
    options += [f"--anchor={each}" for each in anchors]  # whose names may begin with "-"
    options += [f"--trust={each}" for each in trusted]
    options += ["--require-final"] if require_final else []
    options += ["--rebuild"] if rebuild else []
    ended = run_reconciliation(log or default_log(), out, master, *options)
    click.get_current_context().exit(ended)


def run_reconciliation(
    log: pathlib.Path, out: pathlib.Path, master: str = "local[*]", *flags: str
) -> int:
    """Run the job in a process of its own, since the gateway never imports Spark; its exit code."""
    command = [sys.executable, "-P", "-m", "gateway.accounting", "reconcile"]
    options = [f"--out={out}", f"--master={master}", *flags]  # whose values may begin with "-"
    try:
        done = subprocess.run([*command, *options, "--", str(log)], check=False)
    except (OSError, ValueError) as error:  # no memory for it, a name that none can have
        click.echo(f"reconcile: {error}", err=True)
        return NOT_RUN
    if done.returncode < 0:
        click.echo(f"reconcile: it was ended by signal {-done.returncode}", err=True)
        return NOT_RUN
    return done.returncode


def _elsewhere(anchors: tuple[pathlib.Path, ...], trusted: tuple[pathlib.Path, ...]) -> Provenance:
    try:
        return known_elsewhere(anchors, trusted)
    except OSError as error:
        raise GatewayError(f"cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise GatewayError(str(error)) from None


def _known(data: pathlib.Path) -> tuple[Known, str]:
    """What the store of a data directory knows of the log, or why that cannot be told."""
    try:
        known = outside.known(data)
    except StoreError as error:
        return KNOWS_NOTHING, str(error)
    return known, "" if known.ends.last is not None else "it knows nothing of a log"


def _damage(data: pathlib.Path) -> list[str]:
    """What is wrong with the store of a data directory, if that can be told."""
    unfinished = data / UNFINISHED_FILE
    told = [f"a backup that is not finished: {unfinished}"] if os.path.exists(unfinished) else []
    try:
        return told + [f"{data / FILE_NAME}: {line}" for line in outside.damage(data)]
    except StoreError:
        return told  # as it is told of what the log is compared with
