"""The face of a connection that says nothing: before it may be heard, and when it is gone.

A pump always has a face; one whose connection is over has this, so that it holds nothing of it.
"""

from __future__ import annotations

from gateway.faces.face import STOPS, Ending, PeerStatus


class SilentFace:
    """A face that has nothing to say.

    Attributes:
        read: what the peer has said.
    """

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

    def heard(self, at_ms: int) -> None:
        """Its time is over whatever it sends."""

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

    def owed(self) -> int:
        """Nothing was given."""
        return 0

    def status(self) -> PeerStatus | None:
        """Nobody yet."""
        return None

    def force_close(self, now_ms: int, why: Ending = STOPS) -> None:
        """The peer speaks no protocol yet in which it could be told."""
        self.closed = True
