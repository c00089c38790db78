"""Which form of the hot packages this process runs."""

from __future__ import annotations

from gateway.wire import buffers


def form() -> str:
    """Which form of the hot packages runs: ``compiled`` or ``pure``."""
    return "pure" if buffers.__file__.endswith(".py") else "compiled"
