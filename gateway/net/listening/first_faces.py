"""Faces of connections that may not say yet what they want: unheard, or passed on by a proxy.

Before the `Threshold` (`listen`). They say nothing, and what the peer says first they hand on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from gateway.errors import DecodeError
from gateway.faces.face import STOPS, Ending, PeerStatus
from gateway.net.listening.proxy_header import read_proxy_header


class FirstFace:
    """A face that has nothing to say."""

    def __init__(self) -> None:
        self.closed = False
        self.reading_paused = False
        self.behind = False
        self.read = b""

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Kept for who comes next."""
        self.read += data

    def receive_eof(self, now_ms: int) -> None:
        """Gone."""
        self.closed = True

    def data_to_send(self) -> bytes:
        """Nothing."""
        return b""

    def next_deadline(self) -> int | None:
        """None."""
        return None

    def handle_deadline(self, now_ms: int) -> None:
        """Too late."""
        self.closed = True

    def doing(self) -> str:
        """It has waited, or read a proxy's header."""
        return "first octets"

    def write_blocked(self, blocked: bool) -> None:
        """Nothing is written."""

    def drain(self, now_ms: int) -> None:
        """Nothing has begun: the connection can go."""
        self.closed = True

    def drained(self) -> bool:
        """Always."""
        return True

    def status(self) -> PeerStatus | None:
        """Nobody yet."""
        return None

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The peer speaks no protocol yet in which it could be told."""
        self.closed = True


@final
class Unheard(FirstFace):
    """Waits for its turn; nothing is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reading_paused = True


@final
class PassedOn(FirstFace):
    """A proxy says first whose connection it is."""

    def __init__(
        self, deadline_ms: int, told: Callable[[str, bytes], None], failed: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._deadline_ms = deadline_ms
        self._told = told
        self._failed = failed

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Collect the header, then go on as whoever it names."""
        if self.closed:
            return
        self.read += data
        try:
            header = read_proxy_header(self.read)
        except DecodeError as error:
            self._fail(str(error))
            return
        if header is not None:
            self._told(header.address, self.read[header.octets :])

    def next_deadline(self) -> int | None:
        """The end of the proxy's time for its header."""
        return None if self.closed else self._deadline_ms

    def handle_deadline(self, now_ms: int) -> None:
        """Too late."""
        self._fail("")

    def _fail(self, problem: str) -> None:
        """Nobody comes next: nothing is kept while the connection lingers."""
        self.closed = True
        self.read = b""
        self._failed(problem)
