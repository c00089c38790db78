"""What follows a reconciliation: its report, and all who are told of it.

Of a run by itself as of each one of a follower.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.accounting import runs
from gateway.accounting.command_line import bounds_in_words
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.reconcile import Result
from gateway.accounting.runs import Run
from gateway.accounting.steps.breaks import BreakClass
from gateway.accounting.telling import ran, report, together, verdicts
from gateway.accounting.telling.ran import Ran

PAGE: Final = "report.html"


def conclude(options: argparse.Namespace, run: Run, results: Mapping[str, Result]) -> Ran:
    """Finish a run by what was found, and tell it; who did it, and when.

    `results`: of one log, or of several by their ids, each with a report in a directory of its own.

    Raises:
        OSError: its report cannot be written, and nobody was told anything.
    """
    by_whom = ran.here(run.began_s, time.time(), bounds_in_words(options))
    when = by_whom.ended_s, by_whom.ended_s - by_whom.began_s
    logs = {name: verdicts.Told(result, *when, by_whom) for name, result in results.items()}
    found: dict[str, Any] = {}
    for name, told in logs.items():
        where = run.work / name if name else run.work
        found = verdicts.as_json(told, report.verdict(told.result))
        _write(where, report.html_page(told.result, by_whom), found)
    if len(logs) > 1:
        found = together.as_json(logs)
        _write(run.work, together.html_page(logs), found)
    run.finish()
    for name, told in logs.items():
        where = run.path / name if name else run.path
        print(report.summary(told.result, str(where / PAGE)), flush=True)
    if len(logs) > 1:
        print(together.summary(logs, str(run.path / PAGE)), flush=True)
    looked_for = tuple(str(each) for each in BreakClass)
    _tell(options, run, verdicts.exposition(list(logs.values()), looked_for), found)
    return by_whom


def _write(where: Location, page: str, found: dict[str, Any]) -> None:
    """A report, for people and for other programs. Any: what JSON holds."""
    location.write(where / PAGE, page)
    location.write(where / runs.REPORT, json.dumps(found, indent=1) + "\n")


def _tell(options: argparse.Namespace, run: Run, text: str, found: dict[str, Any]) -> None:
    """All who are to be told; `text`: as Prometheus reads it. Any: what JSON holds."""
    ways: list[Callable[[], None]] = [lambda: runs.lead_to(run.path)]
    if options.textfile is not None:
        ways.append(lambda: location.write(options.textfile, text))
    if options.push:
        ways.append(lambda: verdicts.push(options.push, text))
    if options.webhook:
        ways.append(lambda: verdicts.call(options.webhook, found))
    if options.keep is not None:
        ways.append(lambda: runs.keep(options.keep, run.path))
    for way in ways:  # what one of them does not take is said, and the others are told all the same
        try:
            way()
        except OSError as error:
            print(f"{options.job}: {error}", file=sys.stderr)
