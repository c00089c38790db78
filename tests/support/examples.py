"""How many examples a property test tries: as many as it names, or fewer where a run is fast."""

from __future__ import annotations

from hypothesis import settings

WHOLE, FAST = 100, 30  # examples of a test that names no number, and so the scale of the others


def examples(count: int) -> int:
    """That number in the scale of this run's profile (conftest.py)."""
    return max(1, count * settings().max_examples // WHOLE)
