"""Peers that are gone without a word: the kernel asks, where the protocol's heartbeats do not.

A 0-10 client may choose no heartbeat, and many do; with the kernel's own times a dead host would be
noticed after more than two hours.
"""

from __future__ import annotations

import socket
from typing import Final, Protocol, cast

from twisted.protocols.policies import ProtocolWrapper

IDLE_S: Final = 60  # of silence before the kernel asks
INTERVAL_S: Final = 15
PROBES: Final = 4  # unanswered, and the connection is over

_OPTIONS: Final = (
    (getattr(socket, "TCP_KEEPIDLE", None), IDLE_S),
    (getattr(socket, "TCP_KEEPINTVL", None), INTERVAL_S),
    (getattr(socket, "TCP_KEEPCNT", None), PROBES),
)


class Kept(Protocol):
    """What is used of a TCP transport of Twisted; TLS may be around it."""

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """ITCPTransport."""

    def getHandle(self) -> socket.socket:
        """ISystemHandle."""


def keep_alive(transport: Kept) -> None:
    """Have the kernel look after silent peers."""
    while isinstance(transport, ProtocolWrapper):  # TLS: its handle is no socket
        transport = cast(Kept, transport.transport)
    transport.setTcpKeepAlive(True)
    handle = transport.getHandle()
    for option, value in _OPTIONS:
        if option is not None:
            handle.setsockopt(socket.IPPROTO_TCP, option, value)
