"""`python -m gateway.accounting`: runs a job, and says by its exit code what came of it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.accounting.telling import verdicts
from gateway.audit.elsewhere import known_elsewhere
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
    options = parser().parse_args(arguments)
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
    from gateway.accounting.telling import report

    log, out = options.log.resolve(), options.out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _not_run(f"{out}: {error.strerror}")
    small = octets < session.SMALL_LOG_OCTETS
    began_s = time.time()
    try:
        started = session.spark_session("reconcile", options.master, scratch, small=small)
        with started as spark:
            result = reconcile(spark, log, out, options.provenance, bounds_of(options))
    except PySparkRuntimeError as error:
        return _not_run(f"Spark does not start: {error}")
    page = out / "report.html"
    page.write_text(report.html_page(result), encoding="utf-8")
    print(report.summary(result, str(page)))
    _tell_others(options, verdicts.Told(result, time.time(), time.time() - began_s), out)
    return exit_code(result, require_final=options.require_final)


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
