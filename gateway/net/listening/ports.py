"""The ports that the gateway listens on, by name."""

# Twisted's ports and factories are annotated in part.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast, final

from twisted.internet import tcp
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IAddress, IListeningPort, IReactorTCP
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import ServerFactory

from gateway.config import Address
from gateway.errors import StartupError
from gateway.wire.work import BEGUN, STRANGERS

BACKLOG: Final = 512
AT_ONCE: Final = STRANGERS // BEGUN  # connections that a port accepts in one pass


def accept_few(port: tcp.Port) -> None:
    """From now on it accepts no more in one pass than an address may have done in a turn.

    Whose share a connection takes is not known before it has been accepted, and Twisted accepts a
    hundred, and 20 more in each pass than in the one before. Those beyond wait in the system's
    backlog for the next pass.
    """
    accept: Callable[[], None] = port.doRead

    def accept_at_most() -> None:
        port.numberAccepts = min(port.numberAccepts, AT_ONCE)
        accept()

    port.doRead = accept_at_most  # type: ignore[method-assign]  # listenTCP takes no other class


@final
class Entrance(
    ServerFactory[Any]
):  # Any: the protocols of the kinds of port have nothing in common
    """Whoever comes in is served by the factory that there is by then.

    Any: the protocols of the kinds of port have nothing in common.

    Attributes:
        inner: that factory; `None`: nobody comes in yet.
    """

    noisy = False

    def __init__(self) -> None:
        self.inner: ServerFactory[Any] | None = None

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Its protocol for a connection."""
        return None if self.inner is None else self.inner.buildProtocol(addr)

    def serve(self, factory: ServerFactory[Any]) -> None:
        """By this one from now on; who is in stays with the one before."""
        before, self.inner = self.inner, factory
        if self.numPorts:
            factory.doStart()
            if before is not None:
                before.doStop()

    def stopFactory(self) -> None:
        """The port is shut."""
        if self.inner is not None:
            self.inner.doStop()


@final
class Ports:
    """What is open.

    Attributes:
        addresses: where each port was opened, with its real number; it stays when the port is shut.
        open: the ports that listen; those that nobody serves accept nobody, and who comes waits in
            the system's backlog.
    """

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor
        self.addresses: dict[str, Address] = {}
        self.open: dict[str, IListeningPort] = {}
        self._entrances: dict[str, Entrance] = {}

    def serve(self, name: str, factory: ServerFactory[Any]) -> None:
        """Who comes in by that port is served by this one from now on."""
        self._entrances[name].serve(factory)
        port = self.open[name]
        if isinstance(port, tcp.Port):  # no port in memory
            port.startReading()

    def listen(self, name: str, address: Address) -> None:
        """Open one. Raises StartupError."""
        entrance = self._entrances[name] = Entrance()
        try:
            port = cast(IReactorTCP, self._reactor).listenTCP(
                address.port, entrance, backlog=BACKLOG, interface=address.host
            )
        except CannotListenError as error:
            reason = getattr(error.socketError, "strerror", None) or error.socketError
            raise StartupError(f"cannot listen on {address}: {reason}") from None
        if isinstance(port, tcp.Port):  # no port in memory
            accept_few(port)
            port.stopReading()
        self.open[name] = port
        host = port.getHost()
        assert isinstance(host, IPv4Address | IPv6Address)
        self.addresses[name] = Address(address.host, host.port)

    def shut(self, *names: str) -> None:
        """Nobody new comes in by these; who is connected stays."""
        for name in names:
            port = self.open.pop(name, None)
            if port is not None:
                port.stopListening()
