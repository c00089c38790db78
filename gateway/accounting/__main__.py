"""`python -m gateway.accounting`: runs a job, and says by its exit code what came of it."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from gateway.accounting import several
from gateway.accounting.command_line import (
    BALANCED,
    NOT_BALANCED,
    NOT_FINAL,
    NOT_RUN,
    WRONG,
    bounds_of,
    exit_code,
    parser,
)
from gateway.accounting.comparing.arguments import asked, problem_in
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.settings import NONE, SettingsError, settings_of
from gateway.accounting.memory import too_little
from gateway.accounting.runs import Run, begin, newest_told
from gateway.accounting.scratch import scratch
from gateway.accounting.signals import heard_by
from gateway.accounting.state.folder import REBUILD, Folder, StateError
from gateway.accounting.telling.failing import Place, all_of, reason
from gateway.audit.books import BookError
from gateway.audit.elsewhere import known_by, take_books
from gateway.audit.schema import segment_numbers

if TYPE_CHECKING:  # what it imports may not be installed
    from pyspark.sql import SparkSession

    from gateway.accounting.closing import Plan
    from gateway.accounting.reconcile import Result
    from gateway.accounting.telling.ran import Ran

LIBRARIES: Final = ("pyspark", "pyarrow", "numpy")


class NotRunError(Exception):
    """Why a job could not be run, in a sentence."""


def main(arguments: list[str] | None = None) -> int:
    """Run a job; its exit code."""
    top = parser()
    options = top.parse_args(arguments)
    options.had = None  # of memory
    if wrong := _wrong(options):
        top.exit(WRONG, f"{options.job}: {wrong}\n")
    interrupted = Interrupted()
    try:
        with heard_by(interrupted.say):
            return _run(options)
    except KeyboardInterrupt:
        problem = "interrupted"
    except Exception as error:  # of Spark, Java, the disk: no verdict, whatever it is
        problem = "interrupted" if interrupted.said else _in_words(error, options)
    print(f"{options.job}: {problem}", file=sys.stderr)
    return NOT_RUN


class Interrupted:
    """Whether somebody has ended the job: nothing half done is left behind.

    Who ends a whole group ends Spark's Java with it, and what that has to say is not why.
    """

    def __init__(self) -> None:
        self.said = False

    def say(self, _number: int, _frame: FrameType | None) -> None:
        """By a signal (`signals.heard_by`)."""
        self.said = True
        raise KeyboardInterrupt


def _wrong(options: argparse.Namespace) -> str:
    """Which arguments do not go together; empty: all do."""
    for name in ("rebuild", "follow"):
        if getattr(options, name, None) and options.state is None:
            return f"--{name} goes with --state"
    for name in several.OF_ONE:
        if getattr(options, "others", None) and getattr(options, name):
            return f"--{name} is of one log"
    return problem_in(options) if options.job == "compare" else ""


def _in_words(error: Exception, options: argparse.Namespace) -> str:
    """Why there is no verdict, in a line."""
    if isinstance(error, NotRunError | StateError | BookError | SettingsError):
        return " ".join(str(error).strip().splitlines())
    java = None
    if "pyspark" in sys.modules:
        from gateway.accounting.session import java_ended

        java = java_ended(error)
    return too_little(all_of(error), java, options.had) or reason(error, list(_places(options)))


def _places(options: argparse.Namespace) -> Iterator[Place]:
    """Where a job writes, of this machine."""
    for name in ("out", "state", "books"):
        path = getattr(options, name, None)
        if isinstance(path, Path):
            yield Place(f"--{name}", path, anew=REBUILD if name == "state" else "")
    yield Place("temporary files", Path(tempfile.gettempdir()), ", or set TMPDIR to another place")
    own = os.environ.get("SPARK_LOCAL_DIRS") or getattr(options, "settings", NONE).local_directory
    for path in filter(None, own.split(",")):
        yield Place("spark.local.dir", Path(path))


def _run(options: argparse.Namespace) -> int:
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise NotRunError(f"{missing[0]} is not installed: pip install 'amqp-gateway[accounting]'")
    with _as_not_run():
        options.settings = settings_of(options.properties_file)
        _locate(options)
    if options.job == "compare":
        return _compare(options)
    options.plan = None
    with _as_not_run():
        logs = several.each_of(options)
        octets = max(map(_octets, logs.values()))
    for each in logs.values():
        _look_elsewhere(each)
    if options.job == "close":
        from gateway.accounting import closing

        known = options.provenance
        options.plan = closing.planned(options.log, options.books, known, options.key)
        if options.plan is None:
            print(f"nothing new is closed in {options.log}: no book is written")
            return BALANCED
    with scratch() as own:
        return _reconcile(options, own, logs, octets)


def _octets(options: argparse.Namespace) -> int:
    """How much log there is. Raises OSError, NotRunError."""
    paths = location.segments(options.log)
    if not paths:
        raise NotRunError(f"no audit segments in {options.log}")
    return sum(location.size(path) for path in paths)


@contextlib.contextmanager
def _as_not_run() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotRunError(f"cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise NotRunError(str(error)) from None


def _locate(options: argparse.Namespace) -> None:
    """What addresses mean by the settings. Raises ValueError."""
    for name in ("log", "out", "state", "books"):
        if getattr(options, name, None) is not None:
            where = location.at(getattr(options, name), options.settings)
            setattr(options, name, location.absolute(where))
    for name in ("anchor", "others"):
        found = [location.at(each, options.settings) for each in getattr(options, name, [])]
        setattr(options, name, found)
    options.others = [location.absolute(each) for each in options.others]


def _look_elsewhere(options: argparse.Namespace) -> None:
    """What is known of the log that is not in it."""
    try:
        options.provenance = known_by(map(location.anchors, options.anchor), options.trust)
    except OSError as error:
        raise NotRunError(f"cannot read {error.filename}: {error.strerror}") from None
    except ImportError as error:
        raise NotRunError(f"signatures cannot be checked: {error}") from None
    except ValueError as error:
        raise NotRunError(str(error)) from None
    if options.job == "reconcile" and options.books is not None:
        with location.books_here(options.books) as books:
            wrong = take_books(options.provenance, books, location.log_id(options.log))
        if wrong:
            raise NotRunError(wrong[0].replace(str(books), str(options.books)))


def _compare(options: argparse.Namespace) -> int:
    from gateway.accounting import session
    from gateway.accounting.comparing import job

    what = asked(options)
    try:
        octets = job.looked_at(what)
        with scratch() as own:
            _find_java(options.master, own)
            with _begun(options.out) as run:
                with _session(options, own, octets) as spark:
                    session.check_reach(spark, what.ledger and what.ledger.where)
                    job.prepare(spark, octets, options.settings.names)
                    found = job.compare(spark, what, run.work)
                job.conclude(found, what, run)
    except job.ComparisonError as error:
        raise NotRunError(str(error)) from None
    if not found.matched:
        return NOT_BALANCED
    return NOT_FINAL if options.require_final and found.open else BALANCED


def _reconcile(
    options: argparse.Namespace, own: Path, logs: Mapping[str, argparse.Namespace], octets: int
) -> int:
    """`own`: the directory for its temporary files. `logs`: what is asked of each, by its id."""
    _find_java(options.master, own)
    if options.follow is not None:
        return _followed(options, own)
    return _with_spark(options, own, logs, octets)


def _find_java(master: str, own: Path) -> None:
    """Spark on this machine is run by the Java that `JAVA_HOME` says."""
    from gateway.accounting import java

    if master.startswith("local"):
        home = java.java_home(own)
        if home is None:
            raise NotRunError(java.MISSING)
        os.environ["JAVA_HOME"] = str(home)


def _with_spark(
    options: argparse.Namespace, own: Path, logs: Mapping[str, argparse.Namespace], octets: int
) -> int:
    from gateway.accounting.once import conclude

    until = "" if options.plan is None else options.plan.until
    with contextlib.ExitStack() as held:
        states = {name: held.enter_context(_state(each)) for name, each in logs.items()}
        run = held.enter_context(_begun(options.out))
        new = max(
            (_new_octets(logs[name].log, state) for name, state in states.items() if state),
            default=octets,
        )
        results = {}
        with _session(options, own, new) as spark:
            for name, each in logs.items():
                out = run.work / name if name else run.work
                results[name] = _result(each, spark, out, states[name], until)
        by_whom = conclude(options, run, results)
        if options.plan is not None:
            [(result, state)] = zip(results.values(), states.values(), strict=True)
            assert state is not None
            return _close(options.plan, result, run.path, own, by_whom, state)
    return exit_code(*results.values(), require_final=options.require_final)


def _followed(options: argparse.Namespace, own: Path) -> int:
    """A run as often as segments are closed; what the last one ended with."""
    from gateway.accounting.following import Ending, Followed, follow
    from gateway.accounting.once import conclude

    log, folder = options.log, Folder(options.state)
    code: int | None = None

    def reconcile_to(last: str) -> None:
        nonlocal code
        _look_elsewhere(options)
        with _state(options) as state, _begun(options.out) as run:
            until = max(last, folder.read().last)  # as another run may have left it
            number, known = segment_numbers(until)[0], options.provenance
            # Heads of what is not closed yet are held against it when it is.
            known.anchors = [each for each in known.anchors if each.head.segment <= number]
            result = _result(options, spark, run.work, state, until)
            conclude(options, run, {"": result})
        code = exit_code(result, require_final=options.require_final)

    def tell(error: Exception) -> None:
        nonlocal code
        print(f"{options.job}: {_in_words(error, options)}; it is tried again", file=sys.stderr)
        code = NOT_RUN

    with _state(options), _begun(options.out):  # what is in the way is told at once
        octets = _new_octets(log, folder)
    options.rebuild = False  # it goes on from what it has begun anew
    ending = Ending()
    with ending.heard(), _session(options, own, octets) as spark, ending.heard():
        told_to = partial(newest_told, options.out)
        what = Followed(spark, log, folder, options.follow, reconcile_to, told_to, tell)
        follow(what, ending, own)
    if code is None:
        raise NotRunError("no segment was closed: there is no verdict")
    return code


@contextlib.contextmanager
def _session(options: argparse.Namespace, own: Path, octets: int) -> Iterator[SparkSession]:
    from pyspark.errors import PySparkRuntimeError

    from gateway.accounting import session

    options.had = session.memory_for(octets, options.master, options.settings, options.memory)
    try:
        with session.spark_session(
            options.job,
            options.master,
            own,
            octets,
            options.settings,
            memory=options.had,
        ) as spark:
            session.check_reach(spark, options.out, options.state)
            yield spark
    except PySparkRuntimeError as error:
        raise NotRunError(f"Spark does not start: {error}") from None


def _result(
    options: argparse.Namespace,
    spark: SparkSession,
    out: Location,
    state: Folder | None,
    until: str,
) -> Result:
    from gateway.accounting.reconcile import reconcile
    from gateway.accounting.state.opening import opened

    bounds, known = bounds_of(options), options.provenance
    books = options.books if options.job == "reconcile" else None
    with opened(options.log, books, known, state, out) as opening:
        return reconcile(
            *(spark, options.log, out, known, bounds),
            state=state,
            until=until,
            opening=opening,
        )


def _begun(out: Location) -> Run:
    try:
        return begin(out, time.time())
    except OSError as error:
        raise NotRunError(f"{error.filename or out}: {error.strerror}") from None


def _close(
    plan: Plan, result: Result, out: Location, own: Path, by_whom: Ran, state: Folder
) -> int:
    from gateway.accounting import closing

    book = closing.closed(plan, result, out, own, by_whom, state)
    print(closing.in_words(book))
    return BALANCED if book.balanced else NOT_BALANCED


@contextlib.contextmanager
def _state(options: argparse.Namespace) -> Iterator[Folder | None]:
    """What earlier runs have left, for this run alone; `None`: it is not asked for."""
    if options.state is None:
        yield None
        return
    folder = Folder(options.state)
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


if __name__ == "__main__":
    sys.exit(main())
