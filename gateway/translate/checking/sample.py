"""Which messages are looked at: one in 64, by number, whatever the rhythm of who publishes."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64 as int64

ONE_IN: Final = 64
OCTETS_MAX: Final = 64 * 1024  # a larger message is not looked at
_LOW: Final = 0x7FFF_FFFF
_MIX: Final = 0x4C95_7F2D


def is_sampled(message: int64) -> bool:
    """Whether the message of that number is looked at whenever it is translated."""
    mixed: int64 = (message & _LOW) * _MIX
    return (mixed >> 16) & (ONE_IN - 1) == 0
