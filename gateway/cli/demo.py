"""`demo`: a gateway of its own, both kinds of clients, and the proof from the audit log."""

from __future__ import annotations

import pathlib
import tempfile
from typing import cast, final

import click
from twisted.internet.defer import Deferred
from twisted.internet.posixbase import PosixReactorBase

from gateway.cli.audit import run_reconciliation
from gateway.cli.options import FILE
from gateway.clients.conversation import Connector, Where, converse
from gateway.clients.demo import Count, Tally, scenario
from gateway.config import load
from gateway.service.form import form
from gateway.service.service import Service

COLUMNS = ("sent", "accepted", "received", "settled", "different")


@click.command(
    epilog="""
\b
Examples:
  amqp-gateway demo
  amqp-gateway demo --count 5000 --directory /tmp/demo
"""
)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1),
    default=250,
    show_default=True,
    help="Messages for each of four exchanges, in each direction.",
)
@click.option("--directory", type=FILE, help="Where data and report go; default: a temporary one.")
def demo(count: int, directory: pathlib.Path | None) -> None:
    """Show it: 0-10 and 1.0 clients exchange messages, and Spark proves that none was lost.

    Starts a gateway on free ports of this machine, sends a mix of messages - text, binary, map and
    list bodies, headers of every type, durable and not - through a direct, topic, fanout and
    headers exchange, from 0-10 to 1.0 and back. Exit code 0: everything arrived and the audit log's
    ledger balances.
    """
    directory = directory or pathlib.Path(tempfile.mkdtemp(prefix="amqp-gateway-demo-"))
    click.echo(f"gateway ({form()}) with its data in {directory / 'data'}")
    tallies = converse(lambda connector: _run(connector, directory, count))
    for tally in tallies:
        _print(tally)
    click.echo("\nreconciling the audit log with Spark (a minute) ...")
    verdict = run_reconciliation(directory / "data" / "audit", directory / "report")
    complete = all(tally.complete for tally in tallies)
    if not complete:
        click.echo(click.style("some messages are not as they should be", fg="red"), err=True)
    click.get_current_context().exit(verdict if complete else 1)


async def _run(connector: Connector, directory: pathlib.Path, count: int) -> list[Tally]:
    settings = load(
        None,
        [
            "listen.amqp=127.0.0.1:0",
            "admin=127.0.0.1:0",
            f"data_directory={directory / 'data'}",
            "drain_timeout=5s",
        ],
    )
    service = Service(settings, cast(PosixReactorBase, connector.reactor))
    await service.begin()
    service.start()
    where = Where(port=service.addresses["amqp"].port)
    click.echo(
        f"AMQP 0-10 and 1.0 on 127.0.0.1:{where.port},"
        f" metrics on http://{service.addresses['admin']}/metrics"
    )
    try:
        return await scenario(connector, where, Counted(service), count, click.echo)
    finally:
        await connector.close()
        stopped: Deferred[None] = Deferred()
        service.on_stopped = lambda: stopped.callback(None)
        service.stop()
        await stopped


@final
class Counted:
    """`GatewayCounts` of a service in this process."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def settled(self) -> int:
        """Deliveries accepted."""
        return self._service.bridge.counts.accepted

    def translated(self) -> int:
        """Deliveries sent: in the demo all of them cross from one protocol to the other."""
        return self._service.bridge.counts.sent

    def escrowed(self) -> int:
        """Values put into escrow."""
        return sum(self._service.faces.translated.escrowed)

    def restored(self) -> int:
        """Values that came back from it."""
        return sum(self._service.faces.translated.restored)

    def lost(self) -> int:
        """Values that did not cross."""
        return sum(self._service.faces.translated.lost)


def _print(tally: Tally) -> None:
    click.echo("\n" + click.style(f"{tally.title:<14}", bold=True) + _cells(COLUMNS))
    for exchange, count in tally.lanes.items():
        click.echo(f"  {exchange:<12}" + _cells(_row(count)))
    total = [sum(column) for column in zip(*map(_row, tally.lanes.values()), strict=True)]
    click.echo(f"  {'all':<12}" + _cells(total))
    click.echo(
        f"  the gateway counted: {tally.settled} settled, {tally.translated} translated,"
        f" {tally.escrowed} values escrowed, {tally.lost} lost"
    )


def _row(count: Count) -> list[int]:
    return [getattr(count, name) for name in COLUMNS]


def _cells(values: tuple[str, ...] | list[int]) -> str:
    return "".join(f"{value:>11}" for value in values)
