"""`migrate move`: have a running gateway carry what a queue holds from one broker to another."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any

import click

from gateway.cli.ctl import Admin
from gateway.cli.options import admin_options
from gateway.errors import GatewayError

LOOK_S = 1.0
Told = dict[str, Any]  # Any: what JSON holds

EXAMPLES = """
\b
Examples:
  amqp-gateway migrate move --token-file token orders --from old --to new
  amqp-gateway migrate move --token-file token orders --from old --to new --rate 500
  amqp-gateway migrate move --token-file token orders --from old --to new --back
  amqp-gateway migrate move --token-file token orders --from old:orders.v1 --to new:orders
  amqp-gateway migrate move --token-file token --status
  amqp-gateway migrate move --token-file token --stop 1

\b
Exit codes:
  0  the old place is empty, and all of it is at the new one
  1  it was not done, or not all of it: some messages were not taken, or it was stopped
  2  wrong arguments: nothing was begun
"""


@click.command(epilog=EXAMPLES)
@click.argument("queue", default="")
@click.option("--from", "source", default="", help="From which upstream, as UPSTREAM[:QUEUE].")
@click.option(
    "--to",
    "target",
    default="",
    help="To which upstream, as UPSTREAM[:QUEUE]; without it to where the rules have the queue,"
    " which may be the gateway's own store.",
)
@click.option("--back", is_flag=True, help="The other way round: from --to to --from.")
@click.option(
    "--rate",
    type=click.IntRange(min=0),
    default=0,
    help="Messages a second at most; 0: as fast as it goes.",
)
@click.option(
    "--follow", is_flag=True, help="Also what comes to the old place later, until --stop."
)
@click.option("--virtual-host", default="", help="Virtual host; default: the default one.")
@click.option("--no-wait", is_flag=True, help="Begin it, and do not wait for its end.")
@click.option("--status", is_flag=True, help="Show all moves, and change nothing.")
@click.option("--stop", type=int, default=None, help="Stop the move of that number.")
@click.option("--json", "as_json", is_flag=True, help="With --status: as one JSON object.")
@admin_options
def move(
    queue: str,
    source: str,
    target: str,
    back: bool,
    rate: int,
    follow: bool,
    virtual_host: str,
    no_wait: bool,
    status: bool,
    stop: int | None,
    as_json: bool,
    url: str,
    token_file: pathlib.Path | None,
    tls_ca: pathlib.Path | None,
) -> None:
    """Carry what QUEUE holds from one broker to another, through the running gateway.

    Both brokers are upstreams of it. A message is taken from the old one when the new one has it:
    none is lost; some may come twice, and are marked as redelivered. What the new one does not take
    stays where it was. Clients may go on meanwhile: `ctl switch --drain` is for those that consume.

    It may be stopped, or break off, at any time: begin it again, and it goes on with what is left.
    """
    admin = Admin(url, token_file, tls_ca, missing="it needs --token-file")
    if status:
        show(admin, as_json)
    elif stop is not None:
        click.echo(admin.ask("stop-move", {"move": stop})["done"])
    else:
        asked = _asked(queue, source, target, back=back)
        asked |= {"rate": rate, "follow": follow, "virtual_host": virtual_host}
        told = str(admin.ask("move", asked)["done"])
        click.echo(told)
        if not no_wait:
            wait_for(admin, int(told.split()[1]))


def _asked(queue: str, source: str, target: str, *, back: bool) -> Told:
    """The body of the request."""
    if not queue or not source:
        raise click.UsageError("say QUEUE, and --from which upstream")
    if back and not target:
        raise click.UsageError("--back needs --to: from there it goes back")
    if back:
        source, target = target, source
    from_upstream, _, from_queue = source.partition(":")
    to_upstream, _, to_queue = target.partition(":")
    return {
        "queue": queue,
        "from": from_upstream,
        "from_queue": from_queue,
        "to": to_upstream,
        "to_queue": to_queue,
    }


def wait_for(admin: Admin, number: int) -> None:
    """Show how a move goes on until it is over; raises what of it was not done."""
    shown = ""
    while True:
        told = next(each for each in admin.ask("moves")["moves"] if each["move"] == number)
        line = in_words(told)
        if line != shown:
            click.echo(line)
            shown = line
        if told["over"]:
            if told["state"] != "done" or told["refused"]:
                raise GatewayError(f"move {number} is {told['state']}, and not all of it is moved")
            return
        time.sleep(LOOK_S)


def show(admin: Admin, as_json: bool) -> None:
    """All moves."""
    told = admin.ask("moves")
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for each in told["moves"]:
        click.echo(f"move {each['move']} from {_end(each['from'])} to {_end(each['to'])}")
        click.echo(f"  {in_words(each)}")


def in_words(told: Told) -> str:
    """How one is, in a line."""
    parts = [f"{told['state']}: {told['moved']} moved", f"{told['under_way']} under way"]
    if told["left"] is not None:
        parts.append(f"{told['left']} left at {_end(told['from'])}")
    if told["redelivered"]:
        parts.append(f"{told['redelivered']} came marked as redelivered")
    if told["refused"]:
        parts.append(f"{told['refused']} not taken, and left there ({told['why_refused']})")
    if told["problem"]:
        parts.append(str(told["problem"]))
    return "; ".join(parts)


def _end(told: Told) -> str:
    return f"{told['upstream'] or 'here'}:{told['queue']}"
