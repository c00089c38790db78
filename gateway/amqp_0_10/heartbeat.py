"""Heartbeats: when to send one, and when the peer has been silent for too long.

A peer that negotiated a delay expects octets at least that often, and is taken for dead after twice
the delay (class connection, control heartbeat).
"""

from __future__ import annotations

from typing import final


@final
class Heartbeat:
    """Both directions of one connection. Looks twice per delay whether something was sent."""

    __slots__ = ("_delay_ms", "_last_received_ms", "_look_ms", "_sent")

    def __init__(self, now_ms: int) -> None:
        self._delay_ms = 0
        self._last_received_ms = now_ms
        self._look_ms = 0
        self._sent = False

    def start(self, delay_s: int) -> None:
        """Negotiated; 0 is none."""
        self._delay_ms = delay_s * 1000
        self._look_ms = self._last_received_ms + self._delay_ms // 2

    def received(self, now_ms: int) -> None:
        """Octets came."""
        self._last_received_ms = now_ms

    def heard(self, at_ms: int) -> None:
        """Octets came that may not be read yet."""
        self._last_received_ms = max(self._last_received_ms, at_ms)

    def sent(self) -> None:
        """Octets went."""
        self._sent = True

    def next_ms(self) -> int:
        """When to look again; 0 for never."""
        if not self._delay_ms:
            return 0
        return min(self._look_ms, self._last_received_ms + 2 * self._delay_ms)

    def silent(self, now_ms: int) -> bool:
        """Whether the peer has sent nothing for twice the delay."""
        return self._delay_ms > 0 and now_ms >= self._last_received_ms + 2 * self._delay_ms

    def due(self, now_ms: int) -> bool:
        """Whether a heartbeat is to be sent now."""
        if not self._delay_ms or now_ms < self._look_ms:
            return False
        self._look_ms = now_ms + self._delay_ms // 2
        idle = not self._sent
        self._sent = False
        return idle
