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
from gateway.audit.books import BookError
from gateway.audit.elsewhere import known_elsewhere, take_books
from gateway.audit.ends import log_id_in
from gateway.audit.reader import segment_paths
from gateway.files.whole import segment_size

if TYPE_CHECKING:  # what it imports may not be installed
    from gateway.accounting.closing import Plan
    from gateway.accounting.reconcile import Result
    from gateway.accounting.steps.ages import Bounds
    from gateway.accounting.telling.ran import Ran

BALANCED: Final = 0
NOT_BALANCED: Final = 1
NOT_RUN: Final = 3  # 2 is of wrong arguments
NOT_FINAL: Final = 4
STUCK_AFTER_DAYS: Final = 30
LONGEST: Final = 1e9  # days, or seconds: nothing is that old
LIBRARIES: Final = ("pyspark", "pyarrow", "numpy")


class NotRunError(Exception):
    """Why a job could not be run, in a sentence."""


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
    _add_common(job)
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
        "--books",
        type=Path,
        metavar="DIRECTORY",
        help="closed books of this log: segments that they cover may have been let go",
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
    _add_close(jobs)
    return top


def _add_common(job: argparse.ArgumentParser) -> None:
    job.add_argument("log", type=Path, metavar="AUDIT_DIR", help="directory of audit segments")
    job.add_argument("--out", type=Path, required=True, help="directory for report and Parquet")
    job.add_argument(
        "--master",
        default="local[*]",
        help="Spark master; empty: the one submitted to (default: %(default)s)",
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


def _add_close(jobs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    job = jobs.add_parser(
        "close",
        help="reconcile the segments that are closed, and write a book that covers them",
    )
    _add_common(job)
    job.add_argument("--books", type=Path, required=True, metavar="DIRECTORY", help="closed books")
    job.add_argument(
        "--state", type=Path, required=True, metavar="DIR", help="as of reconcile, and the same one"
    )
    job.add_argument(
        "--key", type=Path, metavar="FILE", help="private key (Ed25519, PEM) that signs the book"
    )
    nothing = {"rebuild": False, "require_final": False, "anchor": []}
    job.set_defaults(textfile=None, push=None, webhook=None, **nothing)


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
    try:
        return _run(options)
    except (NotRunError, StateError, BookError) as error:
        problem = str(error)
    except KeyboardInterrupt:
        problem = "interrupted"
    except Exception as error:  # of Spark, Java, the disk: no verdict, whatever it is
        told = str(error).strip().splitlines()
        problem = f"{type(error).__name__}: {told[0] if told else 'no more is known'}"
    print(f"{options.job}: {problem}", file=sys.stderr)
    return NOT_RUN


def _run(options: argparse.Namespace) -> int:
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise NotRunError(f"{missing[0]} is not installed: pip install 'amqp-gateway[accounting]'")
    try:
        paths = segment_paths(options.log)
        octets = sum(segment_size(path) for path in paths)
        options.provenance = known_elsewhere(options.anchor, options.trust)
    except OSError as error:
        raise NotRunError(f"cannot read {error.filename}: {error.strerror}") from None
    except ImportError as error:
        raise NotRunError(f"signatures cannot be checked: {error}") from None
    except ValueError as error:
        raise NotRunError(str(error)) from None
    if not paths:
        raise NotRunError(f"no audit segments in {options.log}")
    options.plan = None
    if options.job == "close":
        from gateway.accounting import closing

        known = options.provenance
        options.plan = closing.planned(options.log, options.books, known, options.key)
        if options.plan is None:
            print(f"nothing new is closed in {options.log}: no book is written")
            return BALANCED
    elif options.books is not None:
        wrong = take_books(options.provenance, options.books, log_id_in(options.log))
        if wrong:
            raise NotRunError(wrong[0])
    with tempfile.TemporaryDirectory(prefix="accounting-") as scratch:
        return _reconcile(options, Path(scratch), octets)


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
            raise NotRunError(java.MISSING)
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
        raise NotRunError(f"{out}: {error.strerror}") from None
    began_s = time.time()
    until = "" if options.plan is None else options.plan.until
    with _state(options) as state:
        new = octets if state is None else _new_octets(log, state)
        try:
            with session.spark_session(options.job, options.master, scratch, new) as spark:
                bounds, known = bounds_of(options), options.provenance
                result = reconcile(spark, log, out, known, bounds, state=state, until=until)
        except PySparkRuntimeError as error:
            raise NotRunError(f"Spark does not start: {error}") from None
        by_whom = ran.here(began_s, time.time(), bounds_in_words(options))
        page = out / "report.html"
        verdicts.replace(page, report.html_page(result, by_whom))
        print(report.summary(result, str(page)))
        took_s = by_whom.ended_s - began_s
        _tell_others(options, verdicts.Told(result, by_whom.ended_s, took_s, by_whom), out)
        if options.plan is not None:
            return _close(options.plan, result, out, scratch, by_whom)
    return exit_code(result, require_final=options.require_final)


def _close(plan: Plan, result: Result, out: Path, scratch: Path, by_whom: Ran) -> int:
    from gateway.accounting import closing

    book = closing.closed(plan, result, out, scratch, by_whom)
    print(closing.in_words(book))
    return BALANCED if book.balanced else NOT_BALANCED


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
        read = folder.read()  # whether it can be gone on from, before Spark is started
        if options.plan is not None:
            from gateway.accounting import closing

            closing.check_state(options.plan, read, folder.path)
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


if __name__ == "__main__":
    sys.exit(main())
