"""`migrate plan`: writes what is to be configured at the gateway, and made at the target."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import click

from gateway.audit.printable import printable
from gateway.cli.options import FILE
from gateway.config.load import load
from gateway.errors import ConfigurationError, GatewayError
from gateway.files.whole import read_whole
from gateway.migration import document, written
from gateway.migration.plan import CONFIGURATION, Plan, plan_of
from gateway.migration.targets import LOCAL, NAMES

SURVEY_MAX = 256 * 1024 * 1024

EXAMPLES = """
\b
Examples:
  amqp-gateway migrate plan survey.yaml
  amqp-gateway migrate plan survey.yaml --target old --output in-front
  amqp-gateway migrate plan survey.yaml --target artemis --at amqps://new.example:5671
  amqp-gateway migrate plan survey.yaml --target rabbitmq --output new-plan

\b
Exit codes:
  0  all of the survey is planned
  1  some of it cannot be planned; the rest is written, and says on top what and why
  2  wrong arguments, no survey, or files of an older plan are in the way
"""


@click.command(epilog=EXAMPLES)
@click.argument("survey", type=FILE)
@click.option(
    "--target",
    type=click.Choice(NAMES),
    default=LOCAL,
    show_default=True,
    help="Where durable queues are to live: in the gateway's own store, at a new broker, or where"
    " they are, at the old one.",
)
@click.option("--at", "host", default="", help="That broker, as amqps://HOST:PORT.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    default="plan",
    show_default=True,
    help="The directory to write to; it is made.",
)
@click.option("--force", is_flag=True, help="Write over the files of an older plan.")
def plan(survey: pathlib.Path, target: str, host: str, output: pathlib.Path, force: bool) -> None:
    """Plan the gateway and what is behind it.

    SURVEY is a document that `migrate survey` has written. What is planned is a directory with
    the gateway's configuration, access rules, and definitions for the new broker: files to be
    read, changed and kept. Nothing is done to any broker.
    """
    try:
        octets = read_whole(survey, SURVEY_MAX)
    except OSError as error:
        raise ConfigurationError([(str(survey), error.strerror or str(error))]) from None
    found = document.read(octets, str(survey))
    made = plan_of(found, target, host)
    made.files[CONFIGURATION] = written.configuration(made, found, target)
    _write(made, output, force=force)
    load(output / CONFIGURATION)  # which says what is wrong, as of --at
    for line in lines(made, output):
        click.echo(printable(line))
    click.get_current_context().exit(1 if made.left else 0)


def _write(made: Plan, output: pathlib.Path, *, force: bool) -> None:
    there = [output / name for name in made.files if (output / name).exists()]
    if there and not force:
        raise click.UsageError(f"{there[0]} is there already: --force writes over it")
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, text in made.files.items():
            (output / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise GatewayError(f"{output}: {error.strerror}") from None


def lines(made: Plan, output: pathlib.Path) -> Iterator[str]:
    """What was planned, for eyes; what was not has `!!` in front."""
    nodes = made.configuration.get("nodes", [])
    for host in made.configuration.get("virtual_hosts", []):
        yield ", ".join(f"{len(host[key])} {key}" for key in ("exchanges", "queues", "bindings"))
    for name in made.configuration.get("upstreams", {}):
        queues = sum(1 for each in nodes if "queue" in each)
        yield f"at upstream {name}: {queues} queues, {len(nodes) - queues} exchanges"
    yield from (f"!! {each}" for each in made.left)
    yield from (f"   {each}" for each in made.told)
    yield f"written: {', '.join(str(output / name) for name in sorted(made.files))}"
    yield from (f"next: {each}" for each in made.steps)
