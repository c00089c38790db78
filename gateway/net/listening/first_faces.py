"""Faces of connections that may not say yet what they want: unheard, or passed on by a proxy.

Before the `Threshold` (`threshold`). They say nothing, and what the peer says first they hand on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from gateway.errors import DecodeError
from gateway.net.listening.proxy_header import read_proxy_header
from gateway.net.silent_face import SilentFace


@final
class Unheard(SilentFace):
    """Waits for its turn; nothing is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reading_paused = True


@final
class PassedOn(SilentFace):
    """A proxy says first whose connection it is."""

    def __init__(
        self,
        deadline_ms: int,
        told: Callable[[str, int, bytes], None],
        failed: Callable[[str], None],
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
            self._told(header.address, header.port, self.read[header.octets :])

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
