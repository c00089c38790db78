"""What is used of a connection's transport, so that what drives one can be held by anything alike.

Twisted describes it in six interfaces, none of which says all of it.
"""

from __future__ import annotations

import socket
from typing import Protocol


class Layer(Protocol):
    """TLS of Twisted's, between a transport and its protocol."""

    @property
    def behind(self) -> bool:
        """Something has come that is not opened yet."""

    def dataReceived(self, data: bytes) -> None:
        """IProtocol: octets that are not decrypted yet."""

    def unregisterProducer(self) -> None:
        """IConsumer."""


class Transport(Protocol):
    """A TCP transport of Twisted, with or without TLS."""

    bufferSize: int
    connected: int

    def write(self, data: bytes) -> None:
        """ITransport."""

    def loseConnection(self) -> None:
        """ITransport: close when all is written."""

    def abortConnection(self) -> None:
        """ITCPTransport: close now."""

    def loseWriteConnection(self) -> None:
        """ITCPTransport: shut our side down when all is written."""

    def setTcpNoDelay(self, enabled: bool) -> None:
        """ITCPTransport."""

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """ITCPTransport."""

    def getHandle(self) -> socket.socket:
        """ISystemHandle."""

    def registerProducer(self, producer: object, streaming: bool) -> None:
        """IConsumer."""

    def unregisterProducer(self) -> None:
        """IConsumer."""

    def pauseProducing(self) -> None:
        """IPushProducer: read no more."""

    def resumeProducing(self) -> None:
        """IPushProducer."""
