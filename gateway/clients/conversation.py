"""Connecting clients, and running one conversation on Twisted's reactor from beginning to end."""

# twisted.internet.ssl has hardly any annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import pathlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast, final

from OpenSSL import SSL, crypto
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol, wrapClientTLS
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.ssl import Certificate, optionsForClientTLS
from twisted.python.failure import Failure

from gateway.clients.client import Client, ClientError, ClientProtocol, Login
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10
from gateway.files.whole import CERTIFICATES_MAX, read_whole
from gateway.net.clock import GatewayClock, keep_time
from gateway.net.threads import loosen

CONNECT_TIMEOUT_S: Final = 10
CLOSE_TIMEOUT_S: Final = 3

T = TypeVar("T")
Steps = Coroutine[Deferred[Any], Any, T]  # Any: whatever a script waits for


@dataclass(frozen=True, slots=True)
class Where:
    """The gateway to talk to.

    Attributes:
        tls_ca: a PEM file: speak TLS, and believe this authority.
    """

    host: str = "127.0.0.1"
    port: int = 5672
    tls_ca: pathlib.Path | None = None


@final
class Connector:
    """Makes connected clients on one reactor, and closes them."""

    def __init__(self, reactor: ReactorBase) -> None:
        self.reactor = reactor
        self.clock = GatewayClock()
        self._clients: list[Client] = []

    async def connect_0_10(
        self, where: Where, login: Login, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> Client010:
        """A 0-10 client with its session attached. Raises ClientError."""
        client = Client010(login, self.clock.now_ms())
        await self._connect(client, where, timeout_s)
        return client

    async def connect_1_0(
        self, where: Where, login: Login, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> Client10:
        """A 1.0 client with its session begun. Raises ClientError."""
        client = Client10(login, self.clock.now_ms())
        await self._connect(client, where, timeout_s)
        return client

    async def answered(self, answer: Deferred[T], what: str, timeout_s: float) -> T:
        """What a Deferred comes to, in time. Raises ClientError: `what` did not happen."""
        answer.addTimeout(timeout_s, self.reactor)
        try:
            return await answer
        except TimeoutError:
            raise ClientError(f"{what}: no answer within {timeout_s:g} s") from None

    async def _connect(self, client: Client, where: Where, timeout_s: float) -> None:
        protocol = ClientProtocol(client, self.reactor, self.clock.now_ms)
        try:
            await connectProtocol(self._endpoint(where), protocol)
        except (ConnectError, DNSLookupError, OSError, ValueError) as error:
            raise ClientError(f"cannot connect to {where.host}:{where.port}: {error}") from None
        self._clients.append(client)
        await self.answered(client.ready(), f"{where.host}:{where.port}", timeout_s)

    def _endpoint(self, where: Where) -> IStreamClientEndpoint:
        endpoint: IStreamClientEndpoint = HostnameEndpoint(
            self.reactor, where.host, where.port, timeout=CONNECT_TIMEOUT_S
        )
        if where.tls_ca is None:
            return endpoint
        try:
            trusted = Certificate.loadPEM(read_whole(where.tls_ca, CERTIFICATES_MAX))
        except OSError as error:
            raise ClientError(f"cannot read {where.tls_ca}: {error.strerror}") from None
        except (SSL.Error, crypto.Error, ValueError):
            raise ClientError(f"{where.tls_ca} is no PEM file with a certificate") from None
        options = optionsForClientTLS(where.host, trustRoot=trusted)
        return wrapClientTLS(options, endpoint)

    def pause(self, seconds: float) -> Deferred[None]:
        """Fires later."""
        later: Deferred[None] = Deferred()
        self.reactor.callLater(seconds, later.callback, None)
        return later

    async def close(self) -> None:
        """Close all clients; who does not answer soon is left alone."""
        clients, self._clients = self._clients, []
        for client in clients:
            if client.closed:
                continue
            closed = client.close(self.clock.now_ms())
            closed.addTimeout(CLOSE_TIMEOUT_S, self.reactor)
            closed.addErrback(lambda _failure: None)
            await closed


def converse(script: Callable[[Connector], Steps[T]]) -> T:
    """Run a script on Twisted's reactor; its result. Raises what it raises; once a process."""
    from twisted.internet import reactor as installed

    reactor = cast(ReactorBase, installed)
    keep_time(reactor)
    loosen(reactor)
    connector = Connector(reactor)
    results: list[T] = []
    failures: list[Failure] = []

    async def whole() -> None:
        try:
            results.append(await script(connector))
        except BaseException:
            failures.append(Failure())
        if interrupted:
            return  # the reactor stops already, and connections have ended with it
        try:
            await connector.close()
        finally:
            if not interrupted:
                reactor.removeSystemEventTrigger(trigger)
                reactor.stop()

    interrupted: list[bool] = []
    trigger = reactor.addSystemEventTrigger("before", "shutdown", lambda: interrupted.append(True))
    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(whole()))
    reactor.run()
    if interrupted:
        raise ClientError("interrupted")
    if failures:
        failures[0].raiseException()
    return results[0]
