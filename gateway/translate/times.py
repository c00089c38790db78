"""Times: 0-10 datetimes are POSIX seconds, those of the Java client milliseconds; 1.0 has ms.

A 0-10 value beyond `SECONDS_MAX` (the year 5138) is taken for milliseconds.
"""

from __future__ import annotations

from typing import Final

SECONDS_MAX: Final = 100_000_000_000


def to_ms(datetime: int) -> int:
    """A 0-10 datetime as milliseconds."""
    if datetime > SECONDS_MAX or datetime < -SECONDS_MAX:
        return datetime
    return datetime * 1000


def from_ms(timestamp_ms: int, java: bool) -> int:
    """Milliseconds as a 0-10 datetime for the Java client or any other."""
    return timestamp_ms if java else timestamp_ms // 1000
