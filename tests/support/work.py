"""How much work something was, in units: they are counted, so the same on every machine."""

from __future__ import annotations

from collections.abc import Callable

from gateway.wire.work import WORK


def units_of(do: Callable[[], object]) -> int:
    """The units that `do` costs."""
    before = WORK.units
    do()
    return WORK.units - before


def grows_linearly(small: int, large: int, factor: float) -> bool:
    """Whether what is `factor` times as large costs no more than that, and a fixed part."""
    return small < large <= small * factor * 1.1
