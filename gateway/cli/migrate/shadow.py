"""`migrate shadow`: has the new broker get what is published to a queue, before that moves."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any, Final

import click

from gateway.audit.printable import printable
from gateway.cli.ctl import Admin
from gateway.cli.ctl_status import table
from gateway.cli.options import PART, admin_options

HEAD: Final = ("RULE", "FOR", "SHADOW", "SHARE", "WAITING", "UNSETTLED")
NEEDS_TOKEN: Final = "it needs --token-file, as ctl does"
Told = dict[str, Any]  # Any: what JSON holds

EXAMPLES = """
\b
Examples:
  amqp-gateway migrate shadow --token-file token orders --to new
  amqp-gateway migrate shadow --token-file token orders --to new/orders.trial --share 10%
  amqp-gateway migrate shadow --token-file token
  amqp-gateway migrate shadow --token-file token orders --stop

\b
Exit codes:
  0  done
  1  nothing was changed: the gateway says why, or cannot be reached
  2  wrong arguments, or no such rule or upstream
"""


@click.command(epilog=EXAMPLES)
@click.argument("rule", metavar="[QUEUE]", required=False)
@click.option("--to", metavar="UPSTREAM[/QUEUE]", help="Where copies go.  [default: QUEUE.shadow]")
@click.option("--share", type=PART, help="Part of all messages, by their ids.  [default: 100%]")
@click.option("--max-size", help="Octets that wait in the gateway at most.  [default: 16MiB]")
@click.option("--ttl", help="How long a copy lives, there too; 0s: as its message.  [default: 1h]")
@click.option("--stop", is_flag=True, help="No more copies; those that wait are dropped.")
@admin_options
@click.option("--json", "as_json", is_flag=True, help="Of what there is: as one JSON object.")
def shadow(
    rule: str | None,
    to: str | None,
    *,
    stop: bool,
    url: str,
    token_file: pathlib.Path | None,
    tls_ca: pathlib.Path | None,
    as_json: bool,
    **how: object,
) -> None:
    """Have copies of what is published to QUEUE go to another broker, or tell which do.

    QUEUE is a rule of `nodes`, as of ctl switch; a local queue has one with `upstream: null`. The
    queue there is QUEUE.shadow unless it is said otherwise, and has to be there where the broker
    does not make it. Neither publishers nor consumers of QUEUE notice, whatever becomes of the
    copies; what does not fit within --max-size is not mirrored, and counted.

    It holds until the next reload or restart: write `shadow` into the rule to have it kept.
    """
    if rule is None and (to or stop or any(each is not None for each in how.values())):
        raise click.UsageError("say which QUEUE")
    if rule is not None and bool(to) == stop:
        raise click.UsageError("say either --to or --stop")
    admin = Admin(url, token_file, tls_ca, missing=NEEDS_TOKEN)
    if rule is None:
        told = admin.ask("status")
        if as_json:
            click.echo(json.dumps(shadows(told), ensure_ascii=False))
        else:
            for line in lines(shadows(told)):
                click.echo(printable(line))
        return
    asked: Told = {"node": rule, "stop": True}
    if to:
        upstream, slash, queue = to.partition("/")
        asked = {"node": rule, "upstream": upstream, **({"queue": queue} if slash else {})}
        asked |= {name: value for name, value in how.items() if value is not None}
    click.echo(admin.ask("shadow", asked)["done"])


def shadows(told: Told) -> Told:
    """What `GET /ctl/status` says of them."""
    names = ("key", "kind", "pattern", "shadow")
    rules = [{name: each[name] for name in names} for each in told["rules"] if each["shadow"]]
    return {"rules": rules, "copies": told["shadow_copies"]}


def lines(told: Told) -> Iterator[str]:
    """The same for eyes."""
    yield from table(HEAD, [_row(each) for each in told["rules"]])
    copies = told["copies"]
    yield f"{copies['mirrored']} copies mirrored since the start, {copies['dropped']} dropped"


def _row(rule: Told) -> list[str]:
    how = rule["shadow"]
    return [
        rule["key"],
        f"{rule['kind']} {rule['pattern']}",
        f"{how['upstream']}/{how['queue']}",
        f"{how['share'] * 100:g}%",
        *(str(how[name]) for name in ("waiting", "unsettled")),
    ]
