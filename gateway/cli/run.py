"""`serve` and `check`: run the gateway; say what a configuration comes to."""

from __future__ import annotations

import json
import pathlib
import sys
import textwrap
from typing import Final, cast

import click
import yaml
from twisted.internet.posixbase import PosixReactorBase

from gateway.bridge.exchanges.exchange import TYPES
from gateway.cli import check_connect, check_may
from gateway.cli.options import configuration
from gateway.clients.conversation import converse
from gateway.clients.survey import Survey
from gateway.config import Settings, keys, load, notes, resolved, schema
from gateway.config.access import load_rules
from gateway.net.logs import begin_logging
from gateway.service.files import check as check_files
from gateway.service.moved import moved_notes
from gateway.service.process import run
from gateway.translate.profiles.loading import attributes, load_profile, names

TEMPLATES: Final = (
    "A template is an address with parts in braces, which must be readable from the address again:"
    " {queue} may have any characters, so that no other part may follow it;"
    ' {queue|percent} is percent-encoded but for letters, digits and "-._~"; {queue|word} is so'
    ' with "." as well; {queue|plain} is as it is, and a name with a "/" has no address.'
)


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway serve
  amqp-gateway serve --config /etc/amqp-gateway/gateway.yaml
  amqp-gateway serve --set listen.amqp=127.0.0.1:0 --set data_directory=/tmp/gateway
"""
)
@configuration
@click.option(
    "--accept-new-store",
    is_flag=True,
    help="Start with a store that is missing or empty beside an audit log with messages, or older.",
)
@click.option(
    "--accept-damaged-store",
    is_flag=True,
    help="Start without the rows of the store that are not as they were written.",
)
@click.option(
    "--accept-moved-queues",
    is_flag=True,
    help="Start where queues with messages have become an upstream's: they are sent there.",
)
def serve(
    config: pathlib.Path | None,
    changes: tuple[str, ...],
    accept_new_store: bool,
    accept_damaged_store: bool,
    accept_moved_queues: bool,
) -> None:
    """Run the gateway until it is told to stop.

    Without a configuration: AMQP on 127.0.0.1:5672, metrics and health on 127.0.0.1:9672, clients
    are anonymous, data in $XDG_STATE_HOME/amqp-gateway. SIGTERM or SIGINT: clients may settle what
    they have (drain_timeout), then connections are closed; a second signal closes them at once.
    SIGHUP: the configuration is read again; a wrong one changes nothing, and the log says why.

    Exit code 2 at start: the configuration is wrong; the store is missing or empty while the audit
    log beside it has messages in it, or older than the log (--accept-new-store); rows of the store
    are damaged or gone (--accept-damaged-store); messages were stored for clients of this gateway,
    in queues that live at an upstream by now (--accept-moved-queues); or the directory is a backup,
    not finished.
    """
    settings = load(config, list(changes))
    logging = settings.logging
    begin_logging(sys.stderr, level=logging.level, form=logging.format, levels=logging.levels)
    code = run(
        settings,
        lambda: load(config, list(changes)),
        accept_new_store=accept_new_store,
        accept_damaged_store=accept_damaged_store,
        accept_moved_queues=accept_moved_queues,
    )
    click.get_current_context().exit(code)


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway check --config gateway.yaml
  amqp-gateway check --config gateway.yaml --connect
  amqp-gateway check --config gateway.yaml --may alice publish orders
  amqp-gateway check --config gateway.yaml --may alice publish amq.topic/news.de
  amqp-gateway check --config gateway.yaml --may alice consume tmp --temporary --not-own
  amqp-gateway check --config gateway.yaml --may "" publish orders
  amqp-gateway check --keys
  amqp-gateway check --profiles
  amqp-gateway check --schema > gateway.schema.json

\b
Exit codes:
  0  it is valid; with --connect: all upstreams are reached, and no node is missing
  1  with --may: the answer is no; with --connect: an upstream cannot be reached, does not
     answer, or lacks a node or something that its profile counts on
  2  wrong arguments, or a wrong configuration
  3  with --may: it depends on what the node is like, which was not said
"""
)
@configuration
@click.option("--keys", "show", flag_value="keys", help="List every key, with its help.")
@click.option(
    "--profiles",
    "show",
    flag_value="profiles",
    help="List the profiles of brokers, and what a profile can say.",
)
@click.option(
    "--schema", "show", flag_value="schema", help="Print the configuration's JSON schema."
)
@click.option("--connect", is_flag=True, help="Ask the upstreams, too, and say what they answer.")
@click.option("--json", "as_json", is_flag=True, help="With --connect: as one JSON object.")
@click.option(
    "--may",
    nargs=3,
    metavar="USER ACTION NODE",
    help="Say whether a user may do that, and by which line of the access rules; an empty USER is"
    " a client without a login.",
)
@click.option("--virtual-host", help="With --may: in this virtual host; by default in the first.")
@click.option("--address", default="127.0.0.1", help="With --may: coming from this address.")
@click.option("--exchange", "is_exchange", is_flag=True, help="With --may: NODE is an exchange.")
@click.option("--queue", "is_queue", is_flag=True, help="With --may: NODE is a queue.")
@click.option("--type", type=click.Choice(TYPES), help="With --may: the exchange is of this type.")
@click.option("--durable/--not-durable", default=None, help="With --may: NODE is that, or not.")
@click.option("--exclusive/--not-exclusive", default=None, help="The same.")
@click.option("--temporary/--not-temporary", default=None, help="The same.")
@click.option("--own/--not-own", default=None, help="The same: it is USER's own, or not.")
def check(
    config: pathlib.Path | None,
    changes: tuple[str, ...],
    show: str | None,
    connect: bool,
    as_json: bool,
    may: tuple[str, str, str] | None,
    virtual_host: str | None,
    address: str,
    is_exchange: bool,
    is_queue: bool,
    type: str | None,
    durable: bool | None,
    exclusive: bool | None,
    temporary: bool | None,
    own: bool | None,
) -> None:
    """Validate a configuration and print what it comes to, every default filled in.

    All problems are reported at once, each with its key path. Of a data directory that no gateway
    is using it says, too, whether `serve` would refuse it for queues that have moved.

    With --connect each upstream is dialled with its credentials: what it is and does, which of the
    nodes named one by one it has, and what will not work for which rule. Nothing is made at it,
    taken or sent. Lines that begin with "!!" are what is wrong.
    """
    if may is not None:
        settings = load(config, list(changes))
        host = virtual_host or settings.virtual_hosts[0].name
        said = zip(check_may.QUEUE_PROPERTIES, (durable, exclusive, temporary, own), strict=True)
        question = check_may.Question(
            *may,
            host=host,
            address=address,
            exchange=is_exchange,
            queue=is_queue,
            type=type or "",
            known={name: value for name, value in said if value is not None},
            queue_size=settings.queues.queue_size,
        )
        answer = question.answer(load_rules(settings))
        click.echo(answer.text)
        click.get_current_context().exit(answer.code)
    if connect:
        settings = load(config, list(changes))
        check_files(settings)
        _survey(settings, as_json)
        return
    if show == "keys":
        _print_keys()
    elif show == "profiles":
        _print_profiles()
    elif show == "schema":
        click.echo(json.dumps(schema(), indent=2))
    else:
        settings = load(config, list(changes))
        warnings = check_files(settings)
        click.echo(yaml.safe_dump(resolved(settings), sort_keys=False), nl=False)
        for note in [*warnings, *notes(settings), *moved_notes(settings)]:
            click.echo(f"# {note}")


def _survey(settings: Settings, as_json: bool) -> None:
    findings = converse(
        lambda connector: Survey(cast(PosixReactorBase, connector.reactor), settings).findings()
    )
    fine = all(finding.fine for finding in findings)
    if as_json:
        told = {"fine": fine, "upstreams": [finding.as_json() for finding in findings]}
        click.echo(json.dumps(told, ensure_ascii=False))
    else:
        for finding in findings:
            for line in check_connect.lines(finding):
                click.echo(line)
    click.get_current_context().exit(0 if fine else 1)


def _print_profiles() -> None:
    for name in names():
        _print_helped(name, "", load_profile(name).about)
    click.echo("\nA file of your own, whose path is then the `profile`, says what differs:\n")
    click.echo(textwrap.fill(TEMPLATES, 100) + "\n")
    for key, kind, default, text in attributes():
        given = f", default {default}" if default else ""
        _print_helped(key, f" ({kind}{given})", text)


def _print_helped(name: str, facts: str, text: str) -> None:
    click.echo(click.style(name, bold=True) + facts)
    indent = " " * 4
    click.echo(textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent))


def _print_keys() -> None:
    for key in keys():
        default = "" if key.default == "none" else f", {key.default}"
        if key.default not in ("none", "required"):
            default = f", default {key.default}"
        click.echo(f"{click.style(key.path, bold=True)} ({key.kind}{default})")
        click.echo(f"    {key.help}")
