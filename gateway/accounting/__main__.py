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

from gateway.accounting.command_line import bounds_in_words, bounds_of, parser
from gateway.accounting.comparing.arguments import asked, problem_in
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
    from gateway.accounting.telling.ran import Ran

BALANCED: Final = 0
NOT_BALANCED: Final = 1
NOT_RUN: Final = 3  # 2 is of wrong arguments
NOT_FINAL: Final = 4
LIBRARIES: Final = ("pyspark", "pyarrow", "numpy")


class NotRunError(Exception):
    """Why a job could not be run, in a sentence."""


def main(arguments: list[str] | None = None) -> int:
    """Run a job; its exit code."""
    top = parser()
    options = top.parse_args(arguments)
    if options.job == "compare" and (wrong := problem_in(options)):
        top.error(wrong)
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
    if options.job == "compare":
        return _compare(options)
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


def _compare(options: argparse.Namespace) -> int:
    from gateway.accounting.comparing import job

    what = asked(options)
    try:
        octets = job.octets_of(what)
        with tempfile.TemporaryDirectory(prefix="accounting-") as scratch:
            _find_java(options.master, Path(scratch))
            out = options.out.resolve()
            found = job.run(what, octets, out, options.master, Path(scratch))
    except job.ComparisonError as error:
        raise NotRunError(str(error)) from None
    if not found.matched:
        return NOT_BALANCED
    return NOT_FINAL if options.require_final and found.open else BALANCED


def _reconcile(options: argparse.Namespace, scratch: Path, octets: int) -> int:
    _find_java(options.master, scratch)
    return _with_spark(options, scratch, octets)


def _find_java(master: str, scratch: Path) -> None:
    """Spark on this machine is run by the Java that `JAVA_HOME` says."""
    from gateway.accounting import java

    if master.startswith("local"):
        home = java.java_home(scratch)
        if home is None:
            raise NotRunError(java.MISSING)
        os.environ["JAVA_HOME"] = str(home)


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
