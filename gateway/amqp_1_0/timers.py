"""When a connection must speak, and how long it listens (2.4.5), in gateway milliseconds."""

from __future__ import annotations

from typing import Final, final

CLOSE_TIMEOUT_MS: Final = 2_000
REMOTE_IDLE_MIN_MS: Final = 50
NEVER: Final = -1


@final
class Timers:
    """The deadlines of one connection."""

    __slots__ = (
        "_close_at",
        "_handshake_at",
        "_held_ms",
        "_idle_ms",
        "_received_ms",
        "_remote_ms",
        "_sent_ms",
    )

    def __init__(self, now_ms: int, handshake_ms: int, idle_ms: int) -> None:
        self._handshake_at = now_ms + handshake_ms
        self._held_ms = NEVER
        self._idle_ms = idle_ms
        self._received_ms = now_ms
        self._sent_ms = now_ms
        self._remote_ms = 0
        self._close_at = NEVER

    def opened(self, remote_idle_ms: int) -> None:
        """The handshake is over; the peer wants a frame every `remote_idle_ms` (0: it does not)."""
        self._handshake_at = NEVER
        self._remote_ms = remote_idle_ms

    def hold(self, now_ms: int) -> None:
        """In the handshake the peer waits for us: that is not its own time."""
        self._held_ms = now_ms

    def go_on(self, now_ms: int) -> None:
        """It does not wait any more."""
        if self._held_ms != NEVER:
            if self._handshake_at != NEVER:
                self._handshake_at += now_ms - self._held_ms
            self._held_ms = NEVER

    def closing(self, now_ms: int) -> None:
        """We have said close: the peer has a while to answer."""
        self._handshake_at = NEVER
        if self._close_at == NEVER:
            self._close_at = now_ms + CLOSE_TIMEOUT_MS

    def received(self, now_ms: int) -> None:
        """A whole frame came."""
        self._received_ms = now_ms

    def heard(self, at_ms: int) -> None:
        """Octets came: of a frame that is not whole, or that are not read yet."""
        self._received_ms = max(self._received_ms, at_ms)

    def sent(self, now_ms: int) -> None:
        """Something was written."""
        self._sent_ms = now_ms

    def next_deadline(self) -> int | None:
        """The earliest of them."""
        if self._close_at != NEVER:
            return self._close_at
        if self._handshake_at != NEVER:
            return self._handshake_at if self._held_ms == NEVER else None
        deadline = NEVER
        if self._idle_ms:
            deadline = self._received_ms + self._idle_ms
        if self._remote_ms:
            speak = self._sent_ms + self._remote_ms // 2
            if deadline == NEVER or speak < deadline:
                deadline = speak
        return None if deadline == NEVER else deadline

    def must_speak(self, now_ms: int) -> bool:
        """Half of the peer's idle-time-out has passed, and we have not sent a frame."""
        if self._remote_ms == 0 or self._close_at != NEVER or self._handshake_at != NEVER:
            return False
        return now_ms >= self._sent_ms + self._remote_ms // 2

    def overdue(self, now_ms: int) -> bool:
        """The peer has been silent too long, or the handshake has taken too long."""
        if self._handshake_at != NEVER:
            return self._held_ms == NEVER and now_ms >= self._handshake_at
        return self._idle_ms > 0 and now_ms >= self._received_ms + self._idle_ms

    def given_up(self, now_ms: int) -> bool:
        """The peer did not answer our close in time."""
        return self._close_at != NEVER and now_ms >= self._close_at
