"""`audit compare`: what logs say of messages, against other logs or somebody else's book."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import click

from gateway.cli.jobs import MASTER, MEMORY, PROPERTIES, become_job, handed_on
from gateway.cli.logs import default_log
from gateway.cli.options import ADDRESS, MOMENT, PART

WAYS: Final = click.Choice(["received", "left"])


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway audit compare /logs/a --upstream b --against /logs/b
  amqp-gateway audit compare /logs/a1 /logs/a2 --ours received --ledger published.csv
  amqp-gateway audit compare --ours left --ledger consumed.parquet --id-type uuid --queue orders
  amqp-gateway audit compare --ours received --queue orders --share 10% --ledger mirrored.csv
  amqp-gateway audit compare --ours left --counts counts.csv --since 2026-11-23 --until 2026-11-24
"""
)
@click.argument("logs", nargs=-1, type=ADDRESS, metavar="[LOG]...")
@click.option(
    "--against", multiple=True, type=ADDRESS, metavar="LOG", help="The other side; may be repeated."
)
@click.option("--ledger", metavar="FILE", help="Or a book of message-ids: CSV or Parquet.")
@click.option("--counts", metavar="FILE", help="Or one of how many messages queues had.")
@click.option(
    "--ours", type=WAYS, help="What of our logs: from publishers, or to consumers.  [default: left]"
)
@click.option("--theirs", type=WAYS, help="And of the other logs.  [default: received]")
@click.option("--upstream", metavar="NAME", help="Instead, what left for it or came from it.")
@click.option("--their-upstream", metavar="NAME", help="The same of the other logs.")
@click.option("--queue", "queues", multiple=True, metavar="NAME", help="Of this queue of ours.")
@click.option("--their-queue", "their_queues", multiple=True, metavar="NAME", help="And of theirs.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="How a column of the book is called: message_id, id_type, queue, time or count.",
)
@click.option(
    "--id-type",
    type=click.Choice(["string", "uuid", "ulong", "binary"]),
    help="What its ids are, where its id_type does not say so.  [default: string]",
)
@click.option("--delimiter", metavar="CHARACTER", help="Of CSV.  [default: ,]")
@click.option("--since", type=MOMENT, help="From then on, UTC where no zone is said.")
@click.option("--until", type=MOMENT, help="Until then.")
@click.option(
    "--grace",
    type=click.FloatRange(0, 1e9, max_open=True),
    metavar="SECONDS",
    help="What is newer than the end of the side that lacks it, less this, may yet come.  "
    "[default: 60]",
)
@click.option(
    "--tolerate", type=click.IntRange(0), metavar="N", help="So many messages may disagree."
)
@click.option(
    "--share", type=PART, help="Only of ids of that part of all, as `migrate shadow` has."
)
@click.option("--more-here", is_flag=True, help="What is only here is no difference.")
@click.option("--more-there", is_flag=True, help="What is only there is no difference.")
@click.option("--require-final", is_flag=True, help="Exit code 4 where some may yet come.")
@click.option(
    "--out",
    type=ADDRESS,
    metavar="DIR",
    default="comparison",
    show_default=True,
    help="Directory of runs: each has one there by its time, and `latest` leads to the newest.",
)
@MASTER
@MEMORY
@PROPERTIES
@click.pass_context
def compare(
    context: click.Context,
    /,
    logs: tuple[str, ...],
    against: tuple[str, ...],
    ledger: str | None,
    counts: str | None,
    ours: str | None,
    **given: object,
) -> None:
    """Compare what logs say of messages with other logs, or somebody else's book (Spark).

    LOG, --against, --ledger, --counts and --out are paths, or URIs: s3a://BUCKET/PREFIX, hdfs://.

    By the message-ids that applications gave: two gateways in a row, several that share the work,
    or a ledger of who publishes or consumes. What a log itself calls sent again or turned away is
    no difference.

    Exit code 0: all match; 1: not; 2: wrong arguments; 3: it could not be run; 4: all match so far,
    with --require-final.
    """
    if sum(map(bool, (against, ledger, counts))) != 1:
        raise click.UsageError("the other side is one of --against, --ledger and --counts")
    if not against and ours is None:
        raise click.UsageError("with --ledger and --counts say --ours received or --ours left")
    times = {name: _moment(given[name]) for name in ("since", "until")}
    options = handed_on(context, **times)
    context.exit(become_job("compare", options, *(logs or (default_log(),))))


def _moment(time_ms: object) -> str | None:
    """As the job takes it."""
    if not isinstance(time_ms, int):
        return None
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()
