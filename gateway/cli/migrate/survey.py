"""`migrate survey`: asks the old broker, and writes down what is there and what will differ."""

from __future__ import annotations

import json
import pathlib
import ssl
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from gateway.audit.printable import printable
from gateway.cli.letter_options import Seconds, check_names
from gateway.cli.messages import ConnectionOptions
from gateway.cli.options import FILE
from gateway.clients import broker_j, management
from gateway.clients.conversation import converse
from gateway.errors import ConfigurationError
from gateway.files.whole import CONFIGURATION_MAX, read_whole
from gateway.migration.document import Acl, Survey, as_plain, as_yaml
from gateway.migration.findings import findings

STANDARD_OUTPUT = pathlib.Path("-")
MARKS = {"breaks": "!!", "differs": " !", "note": "  "}

EXAMPLES = """
\b
Examples:
  amqp-gateway migrate survey --host old.example --user admin --acl qpidd.acl
  amqp-gateway migrate survey --host old.example --output - > survey.yaml
  amqp-gateway migrate survey --host old.example --queue orders --exchange prices
  amqp-gateway migrate survey --rest https://old.example:8443 --user admin

\b
Exit codes:
  0  the broker has told everything
  1  it cannot be reached, or would not tell everything: the document says what
  2  wrong arguments
"""


@click.command(epilog=EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True, help="The old broker.")
@click.option("--port", type=click.IntRange(1, 65535), help="Default: 5672, TLS 5671.")
@click.option("--tls-ca", type=FILE, help="Speak TLS; a PEM file of the authority to trust.")
@click.option(
    "--rest", metavar="URL", help="Ask a Broker-J by its management over HTTP, instead of 0-10."
)
@click.option("-u", "--user", help="User name, who may ask QMF. Without: ANONYMOUS.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--virtual-host", default="", help="Virtual host; a qpidd has one.")
@click.option("--acl", type=FILE, help="A copy of the broker's ACL file.")
@click.option("--queue", "queues", multiple=True, help="A queue to ask for where there is no QMF.")
@click.option("--exchange", "exchanges", multiple=True, help="An exchange, in the same way.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    default="survey.yaml",
    show_default=True,
    help="Where to write the document, as JSON if it ends so; - for standard output.",
)
@click.option(
    "--timeout", type=Seconds(), default=10.0, show_default="10", help="Seconds for one answer."
)
def survey(  # one parameter for each option
    host: str,
    port: int | None,
    tls_ca: pathlib.Path | None,
    rest: str | None,
    user: str | None,
    password_stdin: bool,
    virtual_host: str,
    acl: pathlib.Path | None,
    queues: tuple[str, ...],
    exchanges: tuple[str, ...],
    output: pathlib.Path,
    timeout: float,
) -> None:
    """Ask the old broker what is there.

    That is written as one document, with what will not work the same behind the gateway. The
    survey makes a queue of its own for the answers, which goes with it, and changes nothing. A
    qpidd is asked by QMF; where that is switched off, only nodes that are named are found.
    """
    check_names("0-10", {"--virtual-host": virtual_host})
    given = None if acl is None else _text(acl)
    options = ConnectionOptions(host, port, tls_ca, user, password_stdin, virtual_host)
    if rest is not None:
        found = broker_j.survey(broker_j.Management(rest, options.login, timeout, _tls(tls_ca)))
    else:
        wanted = management.Wanted(options.where, options.login, timeout, queues, exchanges)
        found = converse(lambda connector: management.survey(connector, wanted))
    if given is not None:
        known = found.acl or Acl(at_broker=str(acl), kind="qpidd" if rest is None else "broker-j")
        found = found.model_copy(update={"acl": known.model_copy(update={"text": given})})
    found = found.model_copy(update={"taken_at": datetime.now(UTC).isoformat(timespec="seconds")})
    found = found.model_copy(update={"findings": findings(found)})
    _write(found, output)
    for line in lines(found):
        click.echo(printable(line), err=output == STANDARD_OUTPUT)
    click.get_current_context().exit(1 if found.not_asked else 0)


def _tls(ca: pathlib.Path | None) -> ssl.SSLContext | None:
    """Who is believed behind https, if not whom the system believes."""
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(ca))
    except (OSError, ssl.SSLError) as error:
        raise click.UsageError(f"{ca}: {error.strerror or error}") from None


def _text(file: pathlib.Path) -> str:
    try:
        return read_whole(file, CONFIGURATION_MAX).decode()
    except OSError as error:
        raise ConfigurationError([(str(file), error.strerror or str(error))]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([(str(file), "is no UTF-8 text")]) from None


def _write(found: Survey, output: pathlib.Path) -> None:
    text = as_yaml(found)
    if output.suffix == ".json":
        text = json.dumps(as_plain(found), indent=2, ensure_ascii=False) + "\n"
    if output == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")


def lines(found: Survey) -> Iterator[str]:
    """What a survey comes to, for eyes; what breaks has `!!` in front, what differs one."""
    broker = found.broker
    what = f"{broker.product} {broker.version}".strip() or "a broker of 0-10"
    yield f"{broker.address}: {what}, asked by {', '.join(broker.asked)}"
    counts: dict[str, Sequence[object]] = {
        "exchanges": found.exchanges,
        "queues": found.queues,
        "bindings": found.bindings,
        "subscriptions": found.subscriptions,
        "clients": found.clients,
        "links": found.links,
        "bridges": found.bridges,
    }
    yield ", ".join(f"{len(each)} {name}" for name, each in counts.items())
    for each in found.findings:
        yield f"{MARKS[each.severity]} {each.where}: {each.what}"
