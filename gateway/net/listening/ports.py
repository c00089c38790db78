"""The ports that the gateway listens on, by name."""

from __future__ import annotations

from typing import Any, Final, cast, final

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IReactorTCP
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import ServerFactory

from gateway.config import Address
from gateway.errors import StartupError

BACKLOG: Final = 512


@final
class Ports:
    """What is open.

    Attributes:
        addresses: where each port was opened, with its real number; it stays when the port is shut.
        open: the ports that accept.
    """

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor
        self.addresses: dict[str, Address] = {}
        self.open: dict[str, IListeningPort] = {}

    def listen(self, name: str, address: Address, factory: ServerFactory[Any]) -> None:
        """Open one. Raises StartupError."""
        # Any: the protocols of the kinds of port have nothing in common.
        try:
            port = cast(IReactorTCP, self._reactor).listenTCP(
                address.port, factory, backlog=BACKLOG, interface=address.host
            )
        except CannotListenError as error:
            reason = getattr(error.socketError, "strerror", None) or error.socketError
            raise StartupError(f"cannot listen on {address}: {reason}") from None
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
