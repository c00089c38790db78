"""`serve` and `check`: run the gateway; say what a configuration comes to."""

from __future__ import annotations

import json
import pathlib
import sys

import click
import yaml

from gateway.cli.options import configuration
from gateway.config import keys, load, notes, resolved, schema
from gateway.net.logs import begin_logging
from gateway.service import check as check_files
from gateway.service import run


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
def serve(config: pathlib.Path | None, changes: tuple[str, ...]) -> None:
    """Run the gateway until it is told to stop.

    Without a configuration: AMQP on 127.0.0.1:5672, metrics and health on 127.0.0.1:9672, clients
    are anonymous, data in $XDG_STATE_HOME/amqp-gateway. SIGTERM or SIGINT: clients may settle what
    they have (drain_timeout), then connections are closed; a second signal closes them at once.
    SIGHUP: the configuration is read again; a wrong one changes nothing, and the log says why.
    """
    settings = load(config, list(changes))
    begin_logging(sys.stderr, level=settings.logging.level, form=settings.logging.format)
    click.get_current_context().exit(run(settings, lambda: load(config, list(changes))))


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway check --config gateway.yaml
  amqp-gateway check --keys
  amqp-gateway check --schema > gateway.schema.json
"""
)
@configuration
@click.option("--keys", "show", flag_value="keys", help="List every key, with its help.")
@click.option(
    "--schema", "show", flag_value="schema", help="Print the configuration's JSON schema."
)
def check(config: pathlib.Path | None, changes: tuple[str, ...], show: str | None) -> None:
    """Validate a configuration and print what it comes to, every default filled in.

    All problems are reported at once, each with its key path; the exit code is then 2.
    """
    if show == "keys":
        _print_keys()
    elif show == "schema":
        click.echo(json.dumps(schema(), indent=2))
    else:
        settings = load(config, list(changes))
        check_files(settings)
        click.echo(yaml.safe_dump(resolved(settings), sort_keys=False), nl=False)
        for note in notes(settings):
            click.echo(f"# {note}")


def _print_keys() -> None:
    for key in keys():
        default = "" if key.default == "none" else f", {key.default}"
        if key.default not in ("none", "required"):
            default = f", default {key.default}"
        click.echo(f"{click.style(key.path, bold=True)} ({key.kind}{default})")
        click.echo(f"    {key.help}")
