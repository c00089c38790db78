"""Who is told that somebody wants a job to end: by the two signals that say so."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def heard_by(whom: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Meanwhile; afterwards it is as before."""
    before = [(each, signal.signal(each, whom)) for each in SIGNALS]
    try:
        yield
    finally:
        for each, what in before:
            signal.signal(each, what)
