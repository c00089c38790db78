"""A container that redirects every link to Artemis: nothing is lost on the way to it.

The container is Proton's; Artemis is behind a proxy that cuts connections on order.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from faults.upstream_stand import Stand
from interop.brokers.artemis import Artemis
from interop.brokers.broker import free_ports
from interop.needed import needed
from interop.upstream.redirector import PREFIX, Redirector
from support.bridge_ledger import ledger_of
from support.certificates import Authority
from support.fault_proxy import FaultProxy

MESSAGES = 600
DETOURS = 'gateway_upstream_detour_connections{upstream="main"}'
REDIRECTS = 'gateway_upstream_redirects_total{upstream="main"}'


class Redirected(Stand):
    """A stand whose gateway knows the redirecting container only, not the broker.

    Args:
        host: what the redirects name as `hostname`; the broker has a certificate for it, then, and
            the container one for its own.
    """

    def __init__(
        self, directory: Path, broker: Artemis, name: str, *, host: str = "", **config: object
    ) -> None:
        needed("proton")
        (port,) = free_ports(1)
        self.front = FaultProxy(port)
        dialled: dict[str, object] = {
            "hosts": [f"{'amqps' if host else 'amqp'}://127.0.0.1:{self.front.port}"],
            "mechanisms": ["PLAIN", "ANONYMOUS"],  # Proton's server knows the latter alone
        }
        authority = Authority(directory)
        if host:
            dialled["tls"] = {"ca": str(authority.ca)}
        super().__init__(directory, broker, name, upstream=dialled, **config)
        if host:
            show(self.front, authority.issue("container"))
            show(self.proxy, authority.issue("broker", host=host))
        self.container = Redirector(port, self.proxy.port, host)

    def __enter__(self) -> Self:
        self.container.start()
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self.container.stop()
        self.front.stop()

    def lose_detour(self, how: str) -> None:
        """The connection to the broker ends; what comes after it comes by new links."""
        losses = self.metric('gateway_upstream_connections_total{event="lost",upstream="main"}')
        self.proxy.order(how)
        self.consumed.losses += 1
        self.load.run(
            lambda: (
                self.metric('gateway_upstream_connections_total{event="lost",upstream="main"}')
                > losses
            )
        )

    def detours(self) -> float:
        """Connections beside the one to the redirecting container."""
        return self.metric(DETOURS)


def show(proxy: FaultProxy, issued: tuple[Path, Path]) -> None:
    """Have a proxy show a certificate to whoever connects."""
    certificate, key = issued
    both = certificate.with_suffix(".both")
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    proxy.order(f"tls {both}")


@pytest.fixture
def stand(tmp_path: Path, artemis: Artemis, name: str) -> Iterator[Redirected]:
    made = Redirected(tmp_path, artemis, name)
    with made:
        yield made


def test_nothing_is_lost_while_either_container_goes_and_comes_back(
    stand: Redirected,
) -> None:
    stand.start_loaded(messages=MESSAGES)
    assert stand.detours() == 1
    assert stand.metric(REDIRECTS) >= 2
    assert stand.proxy.counts()["open"] == 1
    assert "it redirects links to 127.0.0.1:" in "\n".join(stand.said())

    stand.container.stop()
    stand.load.run(lambda: not stand.up)
    stand.run_on(100)  # what is at the other container goes on
    stand.container.start()
    stand.recover()
    assert stand.detours() == 1

    for how in ("cut", "reset"):
        stand.lose_detour(how)
        stand.run_on(100)
        assert stand.detours() == 1

    stand.container.stop()
    stand.lose_detour("cut")  # nobody is there to ask
    stand.load.run(lambda: stand.detours() == 0)
    stand.container.start()
    stand.run_on(100)
    stand.finish()
    verdict = stand.check()
    assert verdict.confirmed == len(stand.published.all_sent())
    assert verdict.consumed == MESSAGES
    ledger_of(verdict.audit).assert_balanced()


def test_the_address_that_is_told_is_attached_to(
    tmp_path: Path, artemis: Artemis, name: str
) -> None:
    plain = f"{name}-plain"
    artemis.create_queue(plain)
    node = {"address": f"{PREFIX}{plain}"}
    made = Redirected(tmp_path, artemis, name, node=node)
    with made:
        made.start()
        publisher = made.load.publish(made.published, made.inward, "0-10")
        publisher.limit = 20
        made.load.run(made.load.quiet)
        assert {arrival.text for arrival in made.at.drain(plain)} == made.published.confirmed
        assert len(made.published.confirmed) == 20


def test_a_detour_has_tls_where_the_connection_has_it_for_the_hostname_that_is_told(
    tmp_path: Path, artemis: Artemis, name: str
) -> None:
    with Redirected(tmp_path, artemis, name, host="broker.test") as made:
        made.start()
        publisher = made.load.publish(made.published, made.inward, "1.0")
        publisher.limit = 20
        made.load.run(made.load.quiet)
        assert len(made.published.confirmed) == 20
        assert made.detours() == 1
