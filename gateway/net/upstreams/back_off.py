"""How long to wait between tries to reach an upstream."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

FACTORS_MAX: Final = 64  # more of them are no number any more


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long to wait between tries, in seconds: `initial`, times `factor` each, up to `maximum`.

    `jitter`: the part of each wait, from 0 to 1, that is left to chance.
    """

    initial: float = 0.5
    maximum: float = 30.0
    factor: float = 1.8
    jitter: float = 0.3


def policy(back_off: BackOff) -> Callable[[int], float]:
    """What the service is to wait after so many failures in a row, the first of which is 1."""

    def wait(failures: int) -> float:
        longest = back_off.initial * back_off.factor ** min(max(failures, 1) - 1, FACTORS_MAX)
        return min(longest, back_off.maximum) * (1 - back_off.jitter * random.random())

    return wait
