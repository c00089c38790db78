"""Peers that are gone without a word: the kernel asks, where the protocol's heartbeats do not.

A 0-10 client may choose no heartbeat, and many do; with the kernel's own times a dead host would be
noticed after more than two hours. But it asks only where all that was sent has been acknowledged;
else it sends that again, for a quarter of an hour, and where the peer took no more it asks again
and again whether it does now, for half an hour. A client that has a delivery under way is the one
that matters, and so we look ourselves: at who acknowledges nothing, and not at who does not read,
which is acknowledged.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Final, Protocol, cast, final

from twisted.logger import Logger
from twisted.protocols.policies import ProtocolWrapper

IDLE_S: Final = 60  # of silence before the kernel asks
INTERVAL_S: Final = 15
PROBES: Final = 4  # unanswered, and the connection is over
UNANSWERED_MS: Final = 1000 * (IDLE_S + INTERVAL_S * PROBES)
LOOK_S: Final = 1.0
LOOKS: Final = 15  # until everybody has been looked at

_OPTIONS: Final = (
    (getattr(socket, "TCP_KEEPIDLE", None), IDLE_S),
    (getattr(socket, "TCP_KEEPINTVL", None), INTERVAL_S),
    (getattr(socket, "TCP_KEEPCNT", None), PROBES),
)
_INFO: Final = getattr(socket, "TCP_INFO", None)
# Linux's struct tcp_info: questions whether the peer takes more that it has not answered, segments
# not acknowledged, ms since the last acknowledgement.
_UNACKNOWLEDGED: Final = Struct("=3xB20xI28xI")
# Of the same: ms since the last octets, how many the peer is allowed at most. And of the kernel's
# account of a socket's memory: what octets that are not read take, and how much they may. While
# that is not half of either, the peer may send.
_HEARD: Final = Struct("=52xI8xI")
_LAST: Final = Struct("=44xI4xI")  # ms since octets were sent, and since some came
_MEMORY: Final = Struct("=II")
_SO_MEMINFO: Final = 55
QUESTIONS: Final = 2  # of these: one may be on its way, or lost; in the end two minutes part them


class Kept(Protocol):
    """What is used of a TCP transport of Twisted; TLS may be around it."""

    connected: int

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """ITCPTransport."""

    def getHandle(self) -> socket.socket:
        """ISystemHandle."""


class LookedAt(Protocol):
    """A connection."""

    connection_id: int
    address: str

    @property
    def transport(self) -> Kept:
        """Its transport."""

    def abort(self) -> None:
        """Cut it off."""


def keep_alive(transport: Kept) -> None:
    """Have the kernel look after silent peers."""
    transport = _tcp(transport)
    transport.setTcpKeepAlive(True)
    handle = _socket(transport)
    for option, value in _OPTIONS:
        if option is not None:
            handle.setsockopt(socket.IPPROTO_TCP, option, value)


def heard_ms(transport: Kept, now_ms: int, *, paused: bool) -> int | None:
    """When octets of the peer came last that are not read yet; `None`: there are none.

    `paused`: nothing is read for now. If the kernel has so much that the peer may not be allowed to
    send more, or does not tell, then its silence is not its own.
    """
    transport = _tcp(transport)
    unknown = now_ms if paused else None
    if _INFO is None or not transport.connected:
        return unknown
    handle = _socket(transport)
    told = handle.getsockopt(socket.IPPROTO_TCP, _INFO, _HEARD.size)
    memory = handle.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMORY.size)
    if len(told) < _HEARD.size or len(memory) < _MEMORY.size:
        return unknown
    used, most = _MEMORY.unpack(memory)
    if used == 0 and not paused:
        return None
    silent_ms, allowed = _HEARD.unpack(told)
    return now_ms if 2 * used >= min(most, allowed) else now_ms - int(silent_ms)


def last_ms(transport: Kept, now_ms: int) -> tuple[int, int]:
    """When octets were sent last, and when some came last; long ago and now, if nobody knows."""
    transport = _tcp(transport)
    if _INFO is None or not transport.connected:
        return 0, now_ms
    told = _socket(transport).getsockopt(socket.IPPROTO_TCP, _INFO, _LAST.size)
    if len(told) < _LAST.size:
        return 0, now_ms
    sent_ms, came_ms = _LAST.unpack(told)
    return now_ms - int(sent_ms), now_ms - int(came_ms)


def is_unread(transport: Kept) -> bool:
    """Whether the kernel has octets of the peer, as far as it tells."""
    transport = _tcp(transport)
    if _INFO is None or not transport.connected:
        return False
    memory = _socket(transport).getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMORY.size)
    return len(memory) == _MEMORY.size and int(_MEMORY.unpack(memory)[0]) > 0


def _tcp(transport: Kept) -> Kept:
    while isinstance(transport, ProtocolWrapper):  # TLS: its handle is no socket
        transport = cast(Kept, transport.transport)
    return transport


def _socket(transport: Kept) -> socket.socket:
    """Its socket: a transport in which TLS was started has another method, of TLS, in its place."""
    return type(transport).getHandle(transport)


@final
class Unanswered:
    """Cuts off who has acknowledged nothing for two minutes of what was sent.

    A share of all connections of clients with each look: there may be very many. Of those to
    upstreams there are few.
    """

    log = Logger()

    def __init__(
        self,
        connections: Mapping[int, LookedAt],
        upstreams: Callable[[], Iterable[LookedAt]],
    ) -> None:
        self._connections = connections
        self._upstreams = upstreams
        self._left: list[int] = []

    def look(self) -> None:
        """At the next share of them."""
        if _INFO is None:
            return
        for upstream in self._upstreams():
            self._look_at(upstream, _INFO)
        if not self._left:
            self._left = list(self._connections)
        for _ in range(1 + len(self._connections) // LOOKS):
            if not self._left:
                return
            connection = self._connections.get(self._left.pop())
            if connection is not None:
                self._look_at(connection, _INFO)

    def _look_at(self, connection: LookedAt, info: int) -> None:
        if _unanswered(connection.transport, info):
            self.log.info(
                "connection {connection} from {address} has acknowledged nothing for {seconds} s",
                connection=connection.connection_id,
                address=connection.address,
                seconds=UNANSWERED_MS // 1000,
            )
            connection.abort()


def _unanswered(transport: Kept, info: int) -> bool:
    transport = _tcp(transport)
    if not transport.connected:
        return False
    told = _socket(transport).getsockopt(socket.IPPROTO_TCP, info, _UNACKNOWLEDGED.size)
    if len(told) < _UNACKNOWLEDGED.size:  # an older kernel's
        return False
    questions, segments, silent_ms = _UNACKNOWLEDGED.unpack(told)
    return (segments > 0 or questions >= QUESTIONS) and int(silent_ms) > UNANSWERED_MS
