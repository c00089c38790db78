"""`python -m gateway.accounting`: runs a job, and says by its exit code what came of it."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.accounting.state.folder import Folder, StateError
from gateway.accounting.telling import verdicts
from gateway.audit.elsewhere import known_elsewhere, take_books
from gateway.audit.ends import log_id_in
from gateway.audit.reader import segment_paths
from gateway.files.whole import segment_size

if TYPE_CHECKING:  # what it imports may not be installed
    from gateway.accounting.reconcile import Result
    from gateway.accounting.steps.ages import Bounds

BALANCED: Final = 0
NOT_BALANCED: Final = 1
NOT_RUN: Final = 3  # 2 is of wrong arguments
NOT_FINAL: Final = 4
STUCK_AFTER_DAYS: Final = 30
LONGEST: Final = 1e9  # days, or seconds: nothing is that old
LIBRARIES: Final = ("pyspark", "pyarrow", "numpy")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m gateway.accounting",
        description="Proves from an audit log that every message is accounted for.",
        epilog=(
            "Exit codes: 0 balanced, 1 not balanced, 2 wrong arguments, 3 it could not be run, "
            "4 balanced so far, with --require-final."
        ),
    )
    jobs = top.add_subparsers(dest="job", required=True, metavar="JOB")
    job = jobs.add_parser(
        "reconcile",
        help="check the log and its identities, name lost and duplicate messages",
        epilog="Example: python -m gateway.accounting reconcile ./data/audit --out ./report",
    )
    job.add_argument("log", type=Path, metavar="AUDIT_DIR", help="directory of audit segments")
    job.add_argument("--out", type=Path, required=True, help="directory for report and Parquet")
    job.add_argument(
        "--master",
        default="local[*]",
        help="Spark master; empty: the one submitted to (default: %(default)s)",
    )
    job.add_argument(
        "--textfile",
        type=Path,
        metavar="FILE",
        help="also write the verdict for Prometheus's node exporter to this file (*.prom)",
    )
    job.add_argument(
        "--push", type=_url, metavar="URL", help="also put it into the Pushgateway at this URL"
    )
    job.add_argument(
        "--webhook", type=_url, metavar="URL", help="also post it to this URL, as JSON"
    )
    job.add_argument(
        "--require-final",
        action="store_true",
        help="exit with 4 where it is balanced so far: the log's end may yet change that",
    )
    job.add_argument(
        "--anchor",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="heads of this log that were kept elsewhere, one on each line",
    )
    job.add_argument(
        "--trust",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="public keys (Ed25519, PEM): seals must be signed by one of them",
    )
    job.add_argument(
        "--books",
        type=Path,
        metavar="DIRECTORY",
        help="closed books of this log: segments that they cover may have been let go",
    )
    job.add_argument(
        "--stuck-after",
        type=_bound,
        default=STUCK_AFTER_DAYS,
        metavar="DAYS",
        help="what is in a queue for longer is STUCK; 0: nothing is (default: %(default)s)",
    )
    job.add_argument(
        "--late-after",
        type=_bound,
        default=0,
        metavar="SECONDS",
        help="what is settled later after it came in is LATE; 0: nothing is (default: %(default)s)",
    )
    job.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="go on from what the run before left there, and leave the same: only what is new "
        "is read",
    )
    job.add_argument(
        "--rebuild",
        action="store_true",
        help="with --state: begin anew, from the whole log",
    )
    return top


def _bound(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time")
    return value


def _url(text: str) -> str:
    if not verdicts.is_url(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no URL of HTTP or HTTPS")
    return text


def main(arguments: list[str] | None = None) -> int:
    """Run a job; its exit code."""
    top = parser()
    options = top.parse_args(arguments)
    if options.rebuild and options.state is None:
        top.error("--rebuild goes with --state")
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        return _not_run(f"{missing[0]} is not installed: pip install 'amqp-gateway[accounting]'")
    try:
        paths = segment_paths(options.log)
        octets = sum(segment_size(path) for path in paths)
    except OSError as error:
        return _not_run(f"cannot read {error.filename}: {error.strerror}")
    try:
        options.provenance = known_elsewhere(options.anchor, options.trust)
    except OSError as error:
        return _not_run(f"cannot read {error.filename}: {error.strerror}")
    except ImportError as error:
        return _not_run(f"signatures cannot be checked: {error}")
    except ValueError as error:
        return _not_run(str(error))
    if not paths:
        return _not_run(f"no audit segments in {options.log}")
    if options.books is not None:
        wrong = take_books(options.provenance, options.books, log_id_in(options.log))
        if wrong:
            return _not_run(wrong[0])
    try:
        with tempfile.TemporaryDirectory(prefix="accounting-") as scratch:
            return _reconcile(options, Path(scratch), octets)
    except KeyboardInterrupt:
        return _not_run("interrupted")
    except Exception as error:  # of Spark, Java, the disk: no verdict, whatever it is
        told = str(error).strip().splitlines()
        return _not_run(f"{type(error).__name__}: {told[0] if told else 'no more is known'}")


def bounds_of(options: argparse.Namespace) -> Bounds:
    """What takes too long, as the command line says."""
    from gateway.accounting.steps.ages import DAY_MS, Bounds

    stuck_ms, late_ms = options.stuck_after * DAY_MS, options.late_after * 1000
    return Bounds(stuck_ms=int(stuck_ms), late_ms=int(late_ms))


def bounds_in_words(options: argparse.Namespace) -> str:
    """What takes too long, for people."""
    days, seconds = options.stuck_after, options.late_after
    stuck = f"stuck after {days:g} days" if days else "nothing is stuck by its age"
    return f"{stuck}, {f'late after {seconds:g} s' if seconds else 'nothing is late'}"


def _reconcile(options: argparse.Namespace, scratch: Path, octets: int) -> int:
    from gateway.accounting import java

    if options.master.startswith("local"):
        home = java.java_home(scratch)
        if home is None:
            return _not_run(java.MISSING)
        os.environ["JAVA_HOME"] = str(home)
    return _with_spark(options, scratch, octets)


def _with_spark(options: argparse.Namespace, scratch: Path, octets: int) -> int:
    from pyspark.errors import PySparkRuntimeError

    from gateway.accounting import session
    from gateway.accounting.reconcile import reconcile
    from gateway.accounting.telling import ran, report

    log, out = options.log.resolve(), options.out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _not_run(f"{out}: {error.strerror}")
    began_s = time.time()
    try:
        with _state(options) as state:
            new = octets if state is None else _new_octets(log, state)
            with session.spark_session("reconcile", options.master, scratch, new) as spark:
                bounds = bounds_of(options)
                result = reconcile(spark, log, out, options.provenance, bounds, state=state)
    except PySparkRuntimeError as error:
        return _not_run(f"Spark does not start: {error}")
    except StateError as error:
        return _not_run(str(error))
    by_whom = ran.here(began_s, time.time(), bounds_in_words(options))
    page = out / "report.html"
    verdicts.replace(page, report.html_page(result, by_whom))
    print(report.summary(result, str(page)))
    took_s = by_whom.ended_s - began_s
    _tell_others(options, verdicts.Told(result, by_whom.ended_s, took_s, by_whom), out)
    return exit_code(result, require_final=options.require_final)


@contextlib.contextmanager
def _state(options: argparse.Namespace) -> Iterator[Folder | None]:
    """What earlier runs have left, for this run alone; `None`: it is not asked for."""
    if options.state is None:
        yield None
        return
    folder = Folder(options.state.resolve())
    with folder.held():
        if options.rebuild:
            folder.clear()
        folder.read()  # whether it can be gone on from, before Spark is started
        yield folder


def _new_octets(log: Path, folder: Folder) -> int:
    """How much of the log was not read by an earlier run."""
    last = folder.read().last
    return sum(segment_size(path) for path in segment_paths(log) if path.name > last)


def _tell_others(options: argparse.Namespace, told: verdicts.Told, out: Path) -> None:
    """Programs: what one of them does not take is said, and the others are told all the same."""
    from gateway.accounting.steps.breaks import BreakClass
    from gateway.accounting.telling import report

    found = verdicts.as_json(told, report.verdict(told.result))
    looked_for = tuple(str(each) for each in BreakClass)
    text = verdicts.exposition(told, looked_for)
    ways: list[Callable[[], None]] = [
        lambda: verdicts.replace(out / "report.json", json.dumps(found, indent=1) + "\n")
    ]
    if options.textfile is not None:
        ways.append(lambda: verdicts.replace(options.textfile, text))
    if options.push:
        ways.append(lambda: verdicts.push(options.push, text))
    if options.webhook:
        ways.append(lambda: verdicts.call(options.webhook, found))
    for way in ways:
        try:
            way()
        except OSError as error:
            print(f"reconcile: {error}", file=sys.stderr)


def exit_code(result: Result, *, require_final: bool) -> int:
    """What a verdict ends with."""
    if not result.balanced:
        return NOT_BALANCED
    return NOT_FINAL if require_final and not result.final else BALANCED


def _not_run(problem: str) -> int:
    print(f"reconcile: {problem}", file=sys.stderr)
    return NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
