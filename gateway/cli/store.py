"""`store`: what a data directory holds that no gateway uses, and whether it is whole."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Final

import click

from gateway.audit.printable import printable, printable_json
from gateway.cli.ctl_connections import octets, shortened
from gateway.cli.ctl_status import table
from gateway.cli.options import FILE
from gateway.errors import GatewayError
from gateway.files.own import default_data_directory
from gateway.offline.checking import Check
from gateway.offline.directory import refuse_others, to_read
from gateway.offline.forms import Told
from gateway.offline.listing import messages, nodes, numbers_of
from gateway.offline.living import Living
from gateway.offline.topology import Topology

Row = Callable[[Told], list[str]]

CANNOT_TELL: Final = 3
NAME_MAX: Final = 255
QUEUE: Final = ("QUEUE", "MESSAGES", "OCTETS", "OLDEST", "HOST", "")
EXCHANGE: Final = ("EXCHANGE", "TYPE", "HOST")
BINDING: Final = ("QUEUE", "EXCHANGE", "KEY", "HOST")
EPILOG: Final = """
\b
Examples:
  amqp-gateway store check
  amqp-gateway store check /backups/monday
  amqp-gateway store list /var/lib/amqp-gateway
  amqp-gateway store list --queue orders /var/lib/amqp-gateway

DIRECTORY is a data directory that no gateway uses, or a copy of one (amqp-gateway backup); without
it, that of a gateway without configuration.
"""
queue_option = click.option(
    "-q", "--queue", "queues", multiple=True, metavar="NAME", help="Of this queue; may be repeated."
)
host_option = click.option(
    "--virtual-host", "host", default="", metavar="NAME", help="Of this virtual host alone."
)


@click.group(epilog=EPILOG)
def store() -> None:
    """Look at a store that no gateway uses; take messages out, bring some in, give disk back."""


@store.command(
    epilog="""
\b
Examples:
  amqp-gateway store check
  amqp-gateway store check /backups/monday

\b
Exit codes:
  0  whole
  1  not: each problem is a line
  2  wrong arguments
  3  it cannot be told: a gateway is using it, it cannot be read, or it is no store
"""
)
@click.argument("directory", required=False, type=FILE)
def check(directory: pathlib.Path | None) -> None:
    """Read all of a store, and tell what is wrong with it. Nothing is written.

    A line begins with what kind of problem it is: SQLITE (the file), ROW and ROWS_MISSING (of the
    log), TOPOLOGY (a row of queues, exchanges, bindings), MESSAGE (cannot be decoded, or has
    another body than it came with), QUEUE (messages of a queue that is in no row), POSITION (one
    place for two messages), REFERENCE (what is named is not there), AUDIT (the audit log is not
    what the store remembers of it), BACKUP (a copy that was not finished).

    What a start would do first, such as after a kill, is told, too, and no problem.
    """
    checked = Check(directory or default_data_directory())
    found = 0
    try:
        for problem in checked.problems():
            found += 1
            click.echo(f"{click.style(problem.key, fg='red')} {printable(problem.text)}")
    except GatewayError as error:
        click.echo(f"store check: {error}", err=True)
        click.get_current_context().exit(CANNOT_TELL)
    for line in (*checked.summary, *checked.recovery):
        click.echo(printable(line))
    click.echo(f"{found} problems" if found else "whole")
    click.get_current_context().exit(1 if found else 0)


@store.command(
    "list",
    epilog="""
\b
Examples:
  amqp-gateway store list
  amqp-gateway store list --json /backups/monday
  amqp-gateway store list --queue orders --queue invoices /var/lib/amqp-gateway

\b
Exit codes:
  0  done
  1  it cannot be read, or not all of it: what cannot is told; or there is no such queue
  2  wrong arguments
""",
)
@click.argument("directory", required=False, type=FILE)
@queue_option
@host_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_store(
    directory: pathlib.Path | None, queues: tuple[str, ...], host: str, as_json: bool
) -> None:
    """Show virtual hosts, exchanges, queues and bindings; with --queue, the queue's messages.

    Of a message: its number and position, octets, priority, ids, key or subject, how often it was
    delivered, and when it came and expires.
    """
    with to_read(directory or default_data_directory()) as database:
        refuse_others(database)
        topology = Topology(database)
        with closing(Living(database)) as living:
            lines: Generator[Told]
            if queues:
                numbers = numbers_of(topology, living, list(queues), host)
                lines = messages(living, numbers)
            else:
                lines = (each for each in nodes(topology, living) if _is_of(each, host))
            with closing(lines):  # it reads the store, also when the output has ended
                if as_json:
                    for line in lines:
                        click.echo(printable_json(json.dumps(line, ensure_ascii=False)))
                else:
                    for text in _message_lines(lines) if queues else _node_lines(list(lines)):
                        click.echo(text)
            unread = [*living.unread, *topology.damaged, *topology.unreadable]
    for text in unread:
        click.echo(f"not read: {printable(text)}", err=True)
    click.get_current_context().exit(1 if unread else 0)


def _is_of(line: Told, host: str) -> bool:
    return host in ("", line["name"] if line["type"] == "host" else line["host"])


def _node_lines(lines: list[Told]) -> Iterator[str]:
    """Hosts, then tables of what is in them."""
    of = {name: [each for each in lines if each["type"] == name] for name in _ROWS}
    hosts = [shortened(each["name"], NAME_MAX) for each in lines if each["type"] == "host"]
    yield f"virtual hosts: {', '.join(hosts) or 'none'}"
    for name, (head, row) in _ROWS.items():
        if of[name]:
            yield ""
            yield from table(head, [row(each) for each in of[name]])


def _queue(each: Told) -> list[str]:
    name = each["name"] or f"number {each['queue_number']}"
    size = octets(each["octets"])
    oldest = each["oldest"] or "-"
    host = shortened(each["host"], NAME_MAX)
    return [shortened(name, NAME_MAX), str(each["messages"]), size, oldest, host, each["state"]]


def _names(*keys: str) -> Row:
    return lambda each: [shortened(each[key], NAME_MAX) for key in keys]


def _message_lines(lines: Iterator[Told]) -> Iterator[str]:
    """One after the other: there may be very many, which no table is made of."""
    for each in lines:
        facts = [
            f"{each['position']}  message {each['message']}  {each['size']} octets",
            each["protocol"],
            "" if each["priority"] is None else f"priority {each['priority']}",
            _said("id", each.get("message_id")),
            _said("correlation-id", each.get("correlation_id")),
            _said("key", each["routing_key"]),
            _said("subject", each.get("subject")),
            f"redelivered, {each['delivery_count']} failed" if each["redelivered"] else "",
            _said("arrived", each["arrived"]),
            _said("expires", each["expires"]),
            "" if each["readable"] else "cannot be decoded",
        ]
        yield "  ".join(fact for fact in facts if fact)


def _said(name: str, value: str | None) -> str:
    return f"{name} {shortened(value, NAME_MAX)}" if value else ""


_ROWS: Final[dict[str, tuple[tuple[str, ...], Row]]] = {
    "queue": (QUEUE, _queue),
    "exchange": (EXCHANGE, _names("name", "exchange_type", "host")),
    "binding": (BINDING, _names("queue", "exchange", "binding_key", "host")),
}
