"""The words that `compare` is run with, and what they come to."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from gateway.accounting.addresses import address
from gateway.accounting.lengths import length_of_time
from gateway.accounting.locations import location
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.settings import NONE
from gateway.accounting.memory import add_memory
from gateway.audit.shares import SHARES, share_of

RECEIVED: Final = "received"
LEFT: Final = "left"
WAYS: Final = (RECEIVED, LEFT)
ID_TYPES: Final = ("string", "uuid", "ulong", "binary")
COLUMNS: Final = ("message_id", "id_type", "queue", "time", "count")  # of a ledger
GRACE_S: Final = 60.0


class Of(NamedTuple):
    """What is compared of a side.

    Attributes:
        way: `RECEIVED` or `LEFT`; of a ledger, which says one thing, "".
        upstream: what came from or went to it; "": from publishers, to consumers.
        queues: of these alone; empty: of all.
    """

    way: str
    upstream: str = ""
    queues: tuple[str, ...] = ()

    def in_words(self) -> str:
        """For people."""
        told = "what it says"
        if self.way:
            ends = {RECEIVED: ("from", "publishers"), LEFT: ("for", "consumers")}[self.way]
            who = f"upstream {self.upstream}" if self.upstream else ends[1]
            told = f"what it {'received' if self.way == RECEIVED else 'sent'} {ends[0]} {who}"
        return f"{told}, {' or '.join(self.queues)}" if self.queues else told


class Ledger(NamedTuple):
    """Somebody else's book: where it is, how to read it, and whether it has counts alone."""

    where: Location
    columns: dict[str, str]  # by the name in `COLUMNS`: its own, where that is another
    id_type: str
    delimiter: str
    counts: bool


class Asked(NamedTuple):
    """What is compared with what, and what is let pass.

    Attributes:
        logs, ours: our side.
        against, theirs: the other side, where it is logs.
        ledger: where it is not.
        since_ms, until_ms: only what is of this time; 0: whenever.
        grace_ms: what is newer than the end of the side that lacks it, less this, may yet come.
        tolerate: so many ids, or messages where counts are compared, may disagree.
        share: of all ids (`digests.is_in_share`), only these.
        more_here, more_there: what this side has more of is told and does not count.
    """

    logs: tuple[Location, ...]
    ours: Of
    against: tuple[Location, ...] = ()
    theirs: Of = Of("")
    ledger: Ledger | None = None
    since_ms: int = 0
    until_ms: int = 0
    grace_ms: int = int(GRACE_S * 1000)
    tolerate: int = 0
    share: int = SHARES
    more_here: bool = False
    more_there: bool = False


def add_compare(jobs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its part of the command line."""
    job = jobs.add_parser(
        "compare",
        help="compare what logs say of messages with other logs, or with somebody else's book",
        epilog="Exit codes: 0 all match, 1 not, 2 wrong arguments, 3 it could not be run, "
        "4 all match so far, with --require-final.",
    )
    job.add_argument(
        "logs",
        nargs="+",
        type=address,
        metavar="AUDIT_DIR",
        help="our side: logs, by paths or URIs of s3a:// or hdfs://, as all that is read",
    )
    job.add_argument(
        "--out", type=address, required=True, help="directory of runs, with report and Parquet"
    )
    job.add_argument("--master", default="local[*]", help="Spark master (default: %(default)s)")
    job.add_argument(
        "--properties-file", type=Path, metavar="FILE", help="settings of Spark's, as of reconcile"
    )
    add_memory(job)
    _add_sides(job)
    _add_ledgers(job)
    _add_bounds(job)
    # A comparison reads all of both sides.
    job.set_defaults(state=None, rebuild=False, settings=NONE)


def _add_sides(job: argparse.ArgumentParser) -> None:
    other = job.add_mutually_exclusive_group(required=True)
    other.add_argument(
        "--against",
        action="append",
        type=address,
        metavar="AUDIT_DIR",
        help="the other side: a log",
    )
    other.add_argument(
        "--ledger", type=address, metavar="FILE", help="or a book of ids (CSV, Parquet)"
    )
    other.add_argument("--counts", type=address, metavar="FILE", help="or one of counts of queues")
    for side, whose in (("ours", ""), ("theirs", "their-")):
        job.add_argument(f"--{side}", choices=WAYS, help="what of its messages is compared")
        job.add_argument(f"--{whose}upstream", default="", metavar="NAME", help="from, or to, it")
        job.add_argument(
            f"--{whose}queue", action="append", default=[], metavar="NAME", help="of it alone"
        )


def _add_ledgers(job: argparse.ArgumentParser) -> None:
    job.add_argument(
        "--column",
        action="append",
        type=_column,
        default=[],
        metavar="NAME=COLUMN",
        help=f"how a column of the book is called: {', '.join(COLUMNS)}",
    )
    job.add_argument("--id-type", choices=ID_TYPES, default="string", help="what its ids are")
    job.add_argument("--delimiter", default=",", help="of CSV (default: %(default)s)")


def _add_bounds(job: argparse.ArgumentParser) -> None:
    job.add_argument("--since", type=_moment, default=0, metavar="TIME", help="only from then on")
    job.add_argument("--until", type=_moment, default=0, metavar="TIME", help="only until then")
    job.add_argument(
        "--grace",
        type=length_of_time,
        default=GRACE_S,
        metavar="SECONDS",
        help="what is newer than the end of the side that lacks it, less this, may yet come "
        "(%(default)s)",
    )
    job.add_argument(
        "--tolerate", type=_count, default=0, metavar="N", help="so many may disagree (%(default)s)"
    )
    job.add_argument(
        "--share", type=_share, default=SHARES, metavar="PART", help="only of the ids of that share"
    )
    for side in ("here", "there"):
        job.add_argument(
            f"--more-{side}", action="store_true", help=f"what is only {side} is no difference"
        )
    job.add_argument(
        "--require-final", action="store_true", help="exit with 4 where some may yet come"
    )


def _column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if name not in COLUMNS or not equals or not column:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(COLUMNS)}, = and more")
    return name, column


def _moment(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time such as 2026-11-23T09:00 or 2026-11-23"
        ) from None


def _share(text: str) -> int:
    try:
        part = float(text)
    except ValueError:
        part = 0.0
    if not 0 < part <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no part of all, above 0 and up to 1")
    return share_of(part)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of messages")
    return int(text)


def problem_in(options: argparse.Namespace) -> str:
    """What does not go together, or is not read here; empty: nothing."""
    if options.against is None:
        if options.ours is None:
            return "with --ledger and --counts say --ours received or --ours left"
        if options.theirs or options.their_upstream:
            return "--theirs and --their-upstream go with --against"
    elif options.column or options.id_type != "string" or options.delimiter != ",":
        return "--column, --id-type and --delimiter go with --ledger and --counts"
    if options.counts is not None and options.share != SHARES:
        return "--share is of ids, and --counts has none"
    if len(options.delimiter) != 1:
        return "--delimiter is one character"
    if options.since and options.until and options.since >= options.until:
        return "--since is before --until"
    return ""


def asked(options: argparse.Namespace) -> Asked:
    """What the command line says. Raises ValueError."""
    ours = Of(options.ours or LEFT, options.upstream, tuple(options.queue))
    theirs = ("", "") if options.against is None else (options.theirs or RECEIVED, "")
    return Asked(
        logs=_located(options, options.logs),
        ours=ours,
        against=_located(options, options.against or ()),
        theirs=Of(theirs[0], options.their_upstream, tuple(options.their_queue)),
        ledger=_ledger(options),
        since_ms=options.since,
        until_ms=options.until,
        grace_ms=int(options.grace * 1000),
        tolerate=options.tolerate,
        share=options.share,
        more_here=options.more_here,
        more_there=options.more_there,
    )


def _located(options: argparse.Namespace, addresses: Iterable[str]) -> tuple[Location, ...]:
    return tuple(location.at(each, options.settings) for each in addresses)


def _ledger(options: argparse.Namespace) -> Ledger | None:
    given = options.ledger if options.counts is None else options.counts
    if given is None:
        return None
    (where,) = _located(options, (given,))
    columns = {name: name for name in COLUMNS} | dict(options.column)
    return Ledger(
        where, columns, options.id_type, options.delimiter, counts=options.counts is not None
    )
