"""The command line of the jobs, what its words come to, and with which codes they end."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from gateway.accounting.addresses import address, address_here
from gateway.accounting.comparing.arguments import add_compare
from gateway.accounting.lengths import length_of_time
from gateway.accounting.memory import add_memory
from gateway.accounting.telling import verdicts

if TYPE_CHECKING:  # what it imports may not be installed
    from gateway.accounting.reconcile import Result
    from gateway.accounting.steps.ages import Bounds

BALANCED: Final = 0
NOT_BALANCED: Final = 1
WRONG: Final = 2  # are the arguments, as of all programs
NOT_RUN: Final = 3
NOT_FINAL: Final = 4
STUCK_AFTER_DAYS: Final = 30


class _Words(argparse.ArgumentParser):
    """Says what is wrong in a line, as jobs do: all that they take would hide it."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        self.exit(WRONG, f"{self.prog.rpartition(' ')[2]}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top: argparse.ArgumentParser = _Words(
        prog="python -m gateway.accounting",
        description="Proves from an audit log that every message is accounted for.",
        epilog=(
            "Exit codes: 0 balanced, 1 not balanced, 2 wrong arguments, 3 it could not be run, "
            "4 balanced so far, with --require-final. With --follow that of the last run."
        ),
    )
    jobs = top.add_subparsers(dest="job", required=True, metavar="JOB")
    _add_reconcile(jobs)
    _add_close(jobs)
    add_compare(jobs)
    return top


def _add_reconcile(jobs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    job = jobs.add_parser(
        "reconcile",
        help="check the log and its identities, name lost and duplicate messages",
        epilog="Example: python -m gateway.accounting reconcile ./data/audit --out ./report",
    )
    _add_common(job)
    job.add_argument(
        "others",
        nargs="*",
        default=[],
        type=address,
        metavar="AUDIT_DIR",
        help="logs of other gateways, each with a ledger of its own",
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
        type=address,
        metavar="FILE",
        help="heads of this log that were kept elsewhere, one on each line",
    )
    job.add_argument(
        "--books",
        type=address,
        metavar="DIRECTORY",
        help="closed books of this log: segments that they cover may have been let go",
    )
    job.add_argument(
        "--state",
        type=address,
        metavar="DIR",
        help="go on from what the run before left there, and leave the same: only what is new "
        "is read",
    )
    job.add_argument(
        "--rebuild",
        action="store_true",
        help="with --state: begin anew, from the whole log",
    )
    job.add_argument(
        "--follow",
        type=_seconds,
        metavar="SECONDS",
        help="with --state: go on until SIGTERM or SIGINT, with a run as often as segments were "
        "closed, for which it looks that often",
    )


def _add_common(job: argparse.ArgumentParser) -> None:
    job.add_argument(
        "log",
        type=address,
        metavar="AUDIT_DIR",
        help="directory of audit segments: a path, or a URI of s3a:// or hdfs://, as those below",
    )
    job.add_argument(
        "--out",
        type=address,
        required=True,
        help="directory of runs, each in a directory of its own with report and Parquet",
    )
    job.add_argument(
        "--keep",
        type=_count,
        metavar="RUNS",
        help="remove the oldest runs there but for so many (default: all are kept)",
    )
    job.add_argument(
        "--properties-file",
        type=Path,
        metavar="FILE",
        help="settings of Spark's, as of spark-submit: spark.hadoop.fs.s3a.* say how to reach "
        "s3a://",
    )
    job.add_argument(
        "--master",
        default="local[*]",
        help="Spark master; empty: the one submitted to (default: %(default)s)",
    )
    add_memory(job)
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
        type=length_of_time,
        default=STUCK_AFTER_DAYS,
        metavar="DAYS",
        help="what is in a queue for longer is STUCK; 0: nothing is (default: %(default)s)",
    )
    job.add_argument(
        "--late-after",
        type=length_of_time,
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
    job.add_argument(
        "--books",
        type=address_here,
        required=True,
        metavar="DIRECTORY",
        help="closed books, on this machine",
    )
    job.add_argument(
        "--state",
        type=address,
        required=True,
        metavar="DIR",
        help="as of reconcile, and the same one",
    )
    job.add_argument(
        "--key", type=Path, metavar="FILE", help="private key (Ed25519, PEM) that signs the book"
    )
    job.set_defaults(textfile=None, push=None, webhook=None, rebuild=False, follow=None)
    job.set_defaults(require_final=False, anchor=[])


def _count(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs")
    return int(text)


def _seconds(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,4}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 to 99999")
    return int(text)


def _url(text: str) -> str:
    if not verdicts.is_url(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no URL of HTTP or HTTPS")
    return text


def bounds_of(options: argparse.Namespace) -> Bounds:
    """What takes too long, as the command line says."""
    from gateway.accounting.steps.ages import DAY_MS, Bounds

    stuck_ms, late_ms = options.stuck_after * DAY_MS, options.late_after * 1000
    return Bounds(stuck_ms=int(stuck_ms), late_ms=int(late_ms))


def bounds_in_words(options: argparse.Namespace) -> str:
    """What takes too long, for people."""
    days, seconds = options.stuck_after, options.late_after
    stuck = f"stuck after {days:g} days" if days else "nothing is stuck by its age"
    late = f"late after {seconds:g} s" if seconds else "what is late is not looked for"
    return f"{stuck}, {late}"


def exit_code(*results: Result, require_final: bool) -> int:
    """What a verdict ends with, of one log or of several."""
    if not all(result.balanced for result in results):
        return NOT_BALANCED
    final = all(result.final for result in results)
    return NOT_FINAL if require_final and not final else BALANCED
