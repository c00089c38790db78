"""What follows a reconciliation: its report, and all who are told of it.

Of a run by itself as of each one of a follower.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

from gateway.accounting import runs
from gateway.accounting.command_line import bounds_in_words
from gateway.accounting.locations import location
from gateway.accounting.reconcile import Result
from gateway.accounting.runs import Run
from gateway.accounting.steps.breaks import BreakClass
from gateway.accounting.telling import ran, report, verdicts
from gateway.accounting.telling.ran import Ran


def conclude(options: argparse.Namespace, run: Run, result: Result) -> Ran:
    """Finish a run by what was found, and tell it; who did it, and when.

    Raises:
        OSError: its report cannot be written, and nobody was told anything.
    """
    by_whom = ran.here(run.began_s, time.time(), bounds_in_words(options))
    took_s = by_whom.ended_s - by_whom.began_s
    told = verdicts.Told(result, by_whom.ended_s, took_s, by_whom)
    found = verdicts.as_json(told, report.verdict(result))
    location.write(run.work / "report.html", report.html_page(result, by_whom))
    location.write(run.work / runs.REPORT, json.dumps(found, indent=1) + "\n")
    run.finish()
    print(report.summary(result, str(run.path / "report.html")), flush=True)
    looked_for = tuple(str(each) for each in BreakClass)
    text = verdicts.exposition(told, looked_for)
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
    return by_whom
