"""`send` and `receive`: small test tools for both protocols."""

from __future__ import annotations

import json
import pathlib
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gateway.cli.letter_options import (
    Seconds,
    body_of,
    check_host,
    check_letter,
    check_names,
    property_of,
)
from gateway.cli.options import FILE, check_text, given_password
from gateway.clients import tools
from gateway.clients.client import Login, Subscription
from gateway.clients.conversation import Where, converse
from gateway.clients.letter import Letter
from gateway.errors import GatewayError

F = TypeVar("F", bound=Callable[..., Any])  # Any: a command's own parameters
AUTO_CREDIT = 500


def connection(command: F) -> F:
    """The options by which both commands find the gateway."""
    options = (
        click.option(
            "-p", "--protocol", type=click.Choice(["0-10", "1.0"]), default="1.0", show_default=True
        ),
        click.option("--host", default="127.0.0.1", show_default=True),
        click.option("--port", type=click.IntRange(1, 65535), help="Default: 5672, TLS 5671."),
        click.option(
            "--tls-ca", type=FILE, help="Speak TLS; a PEM file of the authority to trust."
        ),
        click.option("-u", "--user", help="User name, for SASL PLAIN. Without: ANONYMOUS."),
        click.option(
            "--password-stdin", is_flag=True, help="Read the password from standard input."
        ),
        click.option("--virtual-host", default="", help="Virtual host; default: the default one."),
        click.option("--create", is_flag=True, help="Declare the queue, durable (0-10 only)."),
        click.option(
            "--timeout", type=Seconds(), default=10.0, show_default="10", help="Seconds to wait."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


class ConnectionOptions:
    """The connection options, taken together."""

    def __init__(
        self,
        host: str,
        port: int | None,
        tls_ca: pathlib.Path | None,
        user: str | None,
        password_stdin: bool,
        virtual_host: str,
    ) -> None:
        check_host(host)
        check_text("--user", user or "")
        self.where = Where(host, port or (5672 if tls_ca is None else 5671), tls_ca)
        password = ""
        if user is not None:
            password = (
                given_password(line=True).rstrip("\r\n")
                if password_stdin
                else click.prompt(f"Password for {user}", hide_input=True, err=True)
            )
        self.login = Login(user, password, virtual_host)


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway send --to orders --create --protocol 0-10 --body "one order"
  amqp-gateway send --to amq.topic/news.de --body "Guten Tag" --property lang=de
  amqp-gateway send --to orders --count 1000 --body "order {n}" --durable
  amqp-gateway send --to orders --map '{"id": 7, "lines": ["a", "b"]}' --property size:int32=2
"""
)
@connection
@click.option("-t", "--to", required=True, help="A queue, or EXCHANGE/KEY.")
@click.option("-n", "--count", type=click.IntRange(1), default=1, show_default=True)
@click.option("-b", "--body", help="Text; {n} is the message's number.")
@click.option(
    "--body-file", type=click.File("rb"), help="A file (- for standard input), as binary."
)
@click.option("--map", "map_body", metavar="JSON", help="A map, or a list, as the body.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME[:TYPE]=VALUE",
    help="An application property; TYPE as in int32, uuid, boolean, datetime (ms).",
)
@click.option("--subject", help="1.0 subject, 0-10 routing key.")
@click.option("--content-type")
@click.option("--durable/--transient", default=None)
@click.option("--priority", type=click.IntRange(0, 255))
@click.option("--ttl", "ttl_ms", type=click.IntRange(1), help="Time to live, milliseconds.")
@click.option("--message-id", help="0-10: a UUID.")
@click.option("--correlation-id")
@click.option("--reply-to")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as JSON.")
def send(  # one parameter for each option
    protocol: str,
    host: str,
    port: int | None,
    tls_ca: pathlib.Path | None,
    user: str | None,
    password_stdin: bool,
    virtual_host: str,
    create: bool,
    timeout: float,
    to: str,
    count: int,
    body: str | None,
    body_file: Any,
    map_body: str | None,
    properties: tuple[str, ...],
    subject: str | None,
    content_type: str | None,
    durable: bool | None,
    priority: int | None,
    ttl_ms: int | None,
    message_id: str | None,
    correlation_id: str | None,
    reply_to: str | None,
    as_json: bool,
) -> None:
    """Send messages, and say what became of them.

    Exit code 1 if any was not accepted.
    """
    letter = Letter(
        body=body_of(body, body_file, map_body),
        subject=subject,
        content_type=content_type,
        durable=durable,
        priority=priority,
        ttl_ms=ttl_ms,
        message_id=message_id,
        correlation_id=correlation_id,
        reply_to=reply_to,
        properties=dict(map(property_of, properties)),
    )
    check_letter(protocol, letter, "--body" if map_body is None else "--map")
    check_names(protocol, {"--to": to, "--virtual-host": virtual_host})
    options = ConnectionOptions(host, port, tls_ca, user, password_stdin, virtual_host)
    what = tools.Outgoing(
        protocol, options.where, options.login, to, letter, count, create, timeout
    )
    with click.progressbar(
        length=count,
        label="sending",
        file=sys.stderr,
        hidden=count < 1000 or not sys.stderr.isatty(),
    ) as bar:
        outcomes: Counter[str] = Counter()
        try:
            converse(lambda connector: tools.send(connector, what, outcomes, bar.update))
        finally:  # interrupted, too, it says what became of those that were sent
            if set(+outcomes) - {tools.NOT_SENT}:
                _show_outcomes(+outcomes, as_json)
    click.get_current_context().exit(0 if set(+outcomes) == {"accepted"} else 1)


def _show_outcomes(outcomes: Counter[str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(outcomes))
        return
    for outcome, number in outcomes.most_common():
        click.echo(f"{number} {outcome}")


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway receive --from orders --count 10
  amqp-gateway receive --from amq.topic/news.# --timeout 60 --json
  amqp-gateway receive --protocol 0-10 --from orders --browse
"""
)
@connection
@click.option("-f", "--from", "source", required=True, help="A queue, or EXCHANGE/BINDING-KEY.")
@click.option(
    "-n",
    "--count",
    type=click.IntRange(0),
    default=0,
    help="How many; 0 (default): until none comes for --timeout seconds.",
)
@click.option(
    "--ack",
    type=click.Choice(["accept", "reject", "release", "settled"]),
    default="accept",
    show_default=True,
    help="What is answered; settled: the gateway forgets them as it sends them.",
)
@click.option("--browse", is_flag=True, help="See copies; the messages stay where they are.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a message.")
def receive(  # one parameter for each option
    protocol: str,
    host: str,
    port: int | None,
    tls_ca: pathlib.Path | None,
    user: str | None,
    password_stdin: bool,
    virtual_host: str,
    create: bool,
    timeout: float,
    source: str,
    count: int,
    ack: str,
    browse: bool,
    as_json: bool,
) -> None:
    """Receive messages and print them.

    Exit code 1 if fewer than --count came.
    """
    check_names(protocol, {"--from": source, "--virtual-host": virtual_host})
    options = ConnectionOptions(host, port, tls_ca, user, password_stdin, virtual_host)
    subscription = Subscription(
        source,
        credit=min(count, AUTO_CREDIT) if count else AUTO_CREDIT,
        once=0 < count <= AUTO_CREDIT,
        settled=ack == "settled",
        browse=browse,
    )
    what = tools.Incoming(
        protocol, options.where, options.login, subscription, count, ack, create, timeout
    )
    show = _show_json if as_json else _show_text
    came = converse(lambda connector: tools.receive(connector, what, show))
    if came < count:
        raise GatewayError(f"{came} of {count} messages came")


def _show_json(letter: Letter) -> None:
    click.echo(json.dumps(letter.as_json(), ensure_ascii=False))


def _show_text(letter: Letter) -> None:
    told = letter.as_json()
    body = told.pop("body")
    click.echo(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False))
    for name, value in told.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        click.echo(f"  {click.style(name, dim=True)}: {shown}")
