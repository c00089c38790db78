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
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.settings import SettingsError, settings_of
from gateway.accounting.state.folder import Folder, StateError
from gateway.accounting.telling import verdicts
from gateway.accounting.telling.failing import reason
from gateway.audit.books import BookError
from gateway.audit.elsewhere import known_by, take_books

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
    except (NotRunError, StateError, BookError, SettingsError) as error:
        problem = str(error)
    except KeyboardInterrupt:
        problem = "interrupted"
    except Exception as error:  # of Spark, Java, the disk: no verdict, whatever it is
        problem = reason(error)
    print(f"{options.job}: {problem}", file=sys.stderr)
    return NOT_RUN


def _run(options: argparse.Namespace) -> int:
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise NotRunError(f"{missing[0]} is not installed: pip install 'amqp-gateway[accounting]'")
    if options.job == "compare":
        return _compare(options)
    try:
        options.settings = settings_of(options.properties_file)
        _locate(options)
        paths = location.segments(options.log)
        octets = sum(location.size(path) for path in paths)
        options.provenance = known_by(map(location.anchors, options.anchor), options.trust)
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
        with location.books_here(options.books) as books:
            wrong = take_books(options.provenance, books, location.log_id(options.log))
        if wrong:
            raise NotRunError(wrong[0].replace(str(books), str(options.books)))
    with tempfile.TemporaryDirectory(prefix="accounting-") as scratch:
        return _reconcile(options, Path(scratch), octets)


def _locate(options: argparse.Namespace) -> None:
    """What addresses mean by the settings. Raises ValueError."""
    for name in ("log", "out", "state", "books"):
        if getattr(options, name) is not None:
            setattr(options, name, location.at(getattr(options, name), options.settings))
    options.anchor = [location.at(each, options.settings) for each in options.anchor]


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

    log, out = location.absolute(options.log), location.absolute(options.out)
    try:
        location.make(out)
    except OSError as error:
        raise NotRunError(f"{out}: {error.strerror}") from None
    began_s = time.time()
    until = "" if options.plan is None else options.plan.until
    with _state(options) as state:
        new = octets if state is None else _new_octets(log, state)
        try:
            with session.spark_session(
                options.job, options.master, scratch, new, options.settings
            ) as spark:
                session.check_reach(spark, out, None if state is None else state.path)
                bounds, known = bounds_of(options), options.provenance
                result = reconcile(spark, log, out, known, bounds, state=state, until=until)
        except PySparkRuntimeError as error:
            raise NotRunError(f"Spark does not start: {error}") from None
        by_whom = ran.here(began_s, time.time(), bounds_in_words(options))
        page = out / "report.html"
        location.write(page, report.html_page(result, by_whom))
        print(report.summary(result, str(page)))
        took_s = by_whom.ended_s - began_s
        _tell_others(options, verdicts.Told(result, by_whom.ended_s, took_s, by_whom), out)
        if options.plan is not None:
            return _close(options.plan, result, out, scratch, by_whom)
    return exit_code(result, require_final=options.require_final)


def _close(plan: Plan, result: Result, out: Location, scratch: Path, by_whom: Ran) -> int:
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
    folder = Folder(location.absolute(options.state))
    with folder.held():
        if options.rebuild:
            folder.clear()
        read = folder.read()  # whether it can be gone on from, before Spark is started
        if options.plan is not None:
            from gateway.accounting import closing

            closing.check_state(options.plan, read, folder.path)
        yield folder


def _new_octets(log: Location, folder: Folder) -> int:
    """How much of the log was not read by an earlier run."""
    last = folder.read().last
    return sum(location.size(path) for path in location.segments(log) if path.name > last)


def _tell_others(options: argparse.Namespace, told: verdicts.Told, out: Location) -> None:
    """Programs: what one of them does not take is said, and the others are told all the same."""
    from gateway.accounting.steps.breaks import BreakClass
    from gateway.accounting.telling import report

    found = verdicts.as_json(told, report.verdict(told.result))
    looked_for = tuple(str(each) for each in BreakClass)
    text = verdicts.exposition(told, looked_for)
    ways: list[Callable[[], None]] = [
        lambda: location.write(out / "report.json", json.dumps(found, indent=1) + "\n")
    ]
    if options.textfile is not None:
        ways.append(lambda: location.write(options.textfile, text))
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
