"""Lengths of time, as command lines have them."""

from __future__ import annotations

import argparse
from typing import Final

LONGEST: Final = 1e9  # days, or seconds: nothing is that old


def length_of_time(text: str) -> float:
    """What an argument says, in whatever it is counted in. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time")
    return value
