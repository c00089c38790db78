"""`audit trace`: which messages are asked for, in which logs; `audit.story` tells where they went.

The log has a digest of the message-id that an application gave, as a value of 1.0: what each of its
types would make of the given text is looked for. So a message can be followed from gateway to
gateway, each by its own log. A message that left for an upstream and was fetched again is two
messages of the gateway with one message-id. The numbers that the gateway gives its messages go on
over its restarts.
"""

from __future__ import annotations

import heapq
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final
from uuid import UUID

import click

from gateway.amqp_1_0 import types
from gateway.amqp_1_0.primitives.encoding import to_bytes
from gateway.audit.digests import digest
from gateway.audit.printable import printable
from gateway.audit.story import Line, Record, Story, missing_in_words
from gateway.cli.logs import default_log, segments_of
from gateway.cli.options import MOMENT, check_text
from gateway.cli.reading import Reading
from gateway.errors import GatewayError
from gateway.wire.tagged import Tagged

ULONG_MAX: Final = (1 << 64) - 1
ULONG_DIGITS: Final = 20  # Python reads no more than 4300
FOR_EVER: Final = 1 << 63
HOLES_TOLD: Final = 5


def digests_of(message_id: str) -> set[str]:
    """The digests that a message-id may have in the log, as the reader spells them."""
    values = [Tagged(types.STRING, message_id)]
    octets = []
    bare = message_id.removeprefix("ID:")
    if bare != message_id:
        values.append(Tagged(types.STRING, bare))
    if bare.isdecimal() and len(bare) <= ULONG_DIGITS and int(bare) <= ULONG_MAX:
        values.append(Tagged(types.ULONG, int(bare)))
    try:
        uuid = UUID(bare)
    except ValueError:
        pass
    else:
        values.append(Tagged(types.UUID, uuid.bytes))
        octets.append(uuid.bytes)  # 0-10, before schema version 4
    octets += [to_bytes(value) for value in values]
    return {f"{digest(each) % (1 << 64):016x}" for each in octets}


def messages_at(
    records: Iterable[Record], node: str, since_ms: int | None = None, until_ms: int | None = None
) -> set[int]:
    """The numbers of the messages that had to do with a node, from one moment to another."""
    first = 0 if since_ms is None else since_ms
    last = FOR_EVER if until_ms is None else until_ms
    return {
        record["message"]
        for record in records
        if record.get("node") == node and "message" in record and first <= record["time_ms"] <= last
    }


@dataclass(frozen=True)
class Question:
    """Which messages are asked for: by message-id, or by number, or by node and time."""

    message_id: str | None
    numbers: tuple[int, ...]
    node: str | None
    since_ms: int | None
    until_ms: int | None

    def story(self, reading: Reading) -> Story:
        """What is to tell of them, in one log."""
        if self.message_id is not None:
            return Story(digests_of(self.message_id))
        if self.node is None:
            return Story(messages=set(self.numbers))
        found = messages_at(reading.records(), self.node, self.since_ms, self.until_ms)
        return Story(messages=found)

    def __str__(self) -> str:
        """What no message has, where there is none."""
        if self.message_id is not None:
            return f"has the message-id {self.message_id!r}"
        if self.node is None:
            return f"has the number {' or '.join(map(str, self.numbers))}"
        return f"had to do with {self.node!r} then"


def _told(logs: list[pathlib.Path], readings: list[Reading], stories: list[Story]) -> Iterator[str]:
    """The lines of all logs in the order of time; of several logs each with its own."""

    def of_log(log: pathlib.Path, reading: Reading, story: Story) -> Iterator[Line]:
        label = printable(f"{log}  ") if len(logs) > 1 else ""
        for line in story.lines(reading.records()):
            yield line._replace(text=label + line.text)

    told = map(of_log, logs, readings, stories)
    for line in heapq.merge(*told, key=attrgetter("time_ms")):
        yield line.text


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway audit trace ID:8c79d4bf-09b3-350a-9cd3-127a4be2ac36
  amqp-gateway audit trace order-17 /var/lib/amqp-gateway/audit
  amqp-gateway audit trace --message 4711 /var/lib/amqp-gateway/audit
  amqp-gateway audit trace --queue orders --since 2026-11-23T09:00 --until 2026-11-23T09:05
  amqp-gateway audit trace order-17 /logs/gateway-a/audit /logs/gateway-b/audit
"""
)
@click.argument("given", nargs=-1, metavar="[MESSAGE_ID] [LOG]...")
@click.option(
    "--message",
    type=click.IntRange(1),
    multiple=True,
    metavar="NUMBER",
    help="The gateway's own number of a message, as `reconcile` names it; may be repeated.",
)
@click.option("--queue", help="All messages that had to do with a queue or node, by its name.")
@click.option("--since", type=MOMENT, help="With --queue: from then on, UTC where no zone is said.")
@click.option("--until", type=MOMENT, help="With --queue: until then.")
@click.option(
    "--correlation-id",
    metavar="ID",
    help="The request with this message-id. The log has no correlation-ids: its reply is not told.",
)
def trace(
    given: tuple[str, ...],
    message: tuple[int, ...],
    queue: str | None,
    since: int | None,
    until: int | None,
    correlation_id: str | None,
) -> None:
    """Tell where the messages with a message-id went, step by step.

    Or others, by --message, --queue or --correlation-id: then there is no MESSAGE_ID. Of several
    gateways give all logs: each line has its own in front.

    A message that an upstream's broker took and gave back is two messages of the gateway, with two
    numbers. "settled ... by ADDRESS at UPSTREAM, accepted": the broker has it. One that ends with
    "entered" waits in the gateway, or did when the log ends; with "sent", nobody has answered yet;
    with "gone", the gateway was ended while it had it in memory alone. Where records are missing in
    the log that may be steps of it, a line says which.

    Exit code 1: there is no such message, or something of the log that may be of it is missing or
    cannot be read, and is told of.
    """
    question, paths = _asked(given, message, queue, since, until, correlation_id)
    logs = [pathlib.Path(path) for path in paths] or [default_log()]
    if correlation_id is not None:
        click.echo(
            "the log has no correlation-ids: this is of the message with that message-id, which a "
            "reply to it has as its correlation-id; look for replies by --queue and time",
            err=True,
        )
    readings = [Reading(segments_of(log)) for log in logs]
    stories = [question.story(reading) for reading in readings]
    found = False
    for line in _told(logs, readings, stories):
        found = True
        click.echo(line)
    if not found:
        raise GatewayError(f"no message {question}{_elsewhere(logs, stories)}")
    missing = any(reading.broken for reading in readings) or any(each.gaps for each in stories)
    click.get_current_context().exit(1 if missing else 0)


def _asked(
    given: tuple[str, ...],
    numbers: tuple[int, ...],
    node: str | None,
    since: int | None,
    until: int | None,
    correlation_id: str | None,
) -> tuple[Question, tuple[str, ...]]:
    """The question, and in which logs it is asked."""
    options = {"--message": numbers, "--queue": node, "--correlation-id": correlation_id}
    asked = [name for name, value in options.items() if value not in (None, ())]
    if len(asked) > 1:
        raise click.UsageError(f"{' and '.join(asked)}: one of them")
    if node is None and (since, until) != (None, None):
        raise click.UsageError("--since and --until go with --queue")
    if not asked and not given:
        raise click.UsageError("it takes a MESSAGE_ID, and then LOGs")
    message_id, logs = correlation_id, given
    if not asked:
        message_id, logs = given[0], given[1:]
    check_text(asked[0] if asked else "MESSAGE_ID", message_id or node or "")
    return Question(message_id, numbers, node, since, until), logs


def _elsewhere(logs: list[pathlib.Path], stories: list[Story]) -> str:
    """In which records it may have been, where there is nothing of it."""
    holes = [hole for story in stories for hole in story.holes]
    told = ", ".join(missing_in_words(*hole) for hole in holes[:HOLES_TOLD])
    more = f", and {len(holes) - HOLES_TOLD} more gaps" if len(holes) > HOLES_TOLD else ""
    reasons = [f"of the log {told}{more}"] if holes else []
    for log, story in zip(logs, stories, strict=True):
        label = f"{log}: " if len(logs) > 1 else ""
        reasons += [f"{label}{story.begins}"] if story.begins else []
    return f"; but {', and '.join(reasons)}" if reasons else ""
