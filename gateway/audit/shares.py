"""Shares of all messages, by their ids. Plain Python: the jobs, too, have them."""

from __future__ import annotations

from typing import Final

SHARES: Final = 0x1_0000_0000  # of which a share is so many


def share_of(part: float) -> int:
    """How many of `SHARES` a part of all messages is, above 0 and up to 1."""
    return max(1, round(part * SHARES))
