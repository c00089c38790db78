"""The face of a connection whose protocol is not known yet.

It reads the protocol header and then gives way to the protocol's own face, which is handed all
octets, the header included; or, where the header asks for it, to TLS, in which another one follows.
"""

from __future__ import annotations

from typing import Protocol, final

from twisted.internet.interfaces import IOpenSSLContextFactory

from gateway.faces.face import STOPS, Ending, Face
from gateway.net.counts import NetCounts
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.first_octets import HEADER_OCTETS, Ask, choose
from gateway.net.listening.turned_away import TurnedAway
from gateway.net.pump import Pump
from gateway.net.silent_face import SilentFace


class Entrance(Protocol):
    """What it is the threshold of: `listen.Door`."""

    tls_context: IOpenSSLContextFactory | None
    authentication: Authentication
    counts: NetCounts
    turned_away: TurnedAway

    def begin_tls(self, pump: Pump, deadline_ms: int, rest: bytes) -> None:
        """Answer the TLS header; what follows is a new protocol header inside TLS."""

    def on_tls_failed(self, pump: Pump) -> None:
        """It is gone before TLS stood."""

    def make_face(self, ask: Ask, pump: Pump, now_ms: int) -> Face:
        """The face for the protocol that was asked for."""


@final
class Threshold(SilentFace):
    """Has the time until `deadline_ms`."""

    def __init__(self, door: Entrance, pump: Pump, deadline_ms: int) -> None:
        super().__init__()
        self._door = door
        self._pump = pump
        self._deadline_ms = deadline_ms
        self._answer = b""
        self._left = False  # whatever ends this connection from now on is counted elsewhere

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Collect the header, then hand over or refuse."""
        self.read += data
        if len(self.read) < HEADER_OCTETS or self.closed:
            return
        pump, door = self._pump, self._door
        possible = door.tls_context is not None and not pump.secure
        ask, answer = choose(
            self.read[:HEADER_OCTETS],
            tls_possible=possible,
            anonymous_allowed=door.authentication.anonymous_allowed,
        )
        if ask is Ask.REFUSE:
            self._answer = answer
            self._fail("header")
        elif ask is Ask.START_TLS:
            self._left = True
            door.begin_tls(pump, self._deadline_ms, self.read[HEADER_OCTETS:])
        else:
            self._left = True
            pump.become(door.make_face(ask, pump, now_ms), self.read)

    def _fail(self, reason: str) -> None:
        if not self._left:
            self._left = True
            self._door.counts.handshake_failures[reason] += 1
            self._door.turned_away.tell(self._pump.address, reason)
        self.closed = True
        self.read = b""

    def receive_eof(self, now_ms: int) -> None:
        """Gone before it said what it wants."""
        failed = self._pump.secure and not self._pump.handshaken
        if failed and not self._left:
            self._door.on_tls_failed(self._pump)
        reason = "size" if self._pump.oversized else "tls"
        self._fail(reason if failed else "closed")

    def data_to_send(self) -> bytes:
        """The header that answers one which we do not speak."""
        answer, self._answer = self._answer, b""
        return answer

    def next_deadline(self) -> int | None:
        """The end of the peer's time for its first octets."""
        return None if self.closed else self._deadline_ms

    def handle_deadline(self, now_ms: int) -> None:
        """Too late."""
        self._fail("timeout")

    def doing(self) -> str:
        """It has read a header."""
        return "protocol header"

    def drain(self, now_ms: int) -> None:
        """Nothing has begun: the connection can go."""
        self._end()

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The peer speaks no protocol yet in which it could be told."""
        self._end()

    def _end(self) -> None:
        self._left = True
        self.closed = True
