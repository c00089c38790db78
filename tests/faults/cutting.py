"""What the programs that cut connections at random octets have together."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from faults.cut_line import CutLine
from faults.runs import play

CUTS_A_RUN: Final = 50
WHOLE: Final = 1 << 40


class Cutting:
    """Connections of one gateway that break, each after octets of its own.

    Args:
        octets: that a connection lets through, most of the time fewer.
    """

    def __init__(self, port: int, chance: random.Random, octets: Sequence[int]) -> None:
        self._port, self.chance, self._octets = port, chance, octets
        self.cuts = 0

    def line(self, *, whole: bool) -> CutLine:
        """One more; `whole`: that does not break."""
        chance = self.chance
        up, down = (
            (WHOLE if whole else chance.randrange(chance.choice(self._octets))) for _ in range(2)
        )
        return CutLine(self._port, up, down, reset=chance.random() < 0.5)


class Published:
    """Messages in their order, each with its number in front.

    Args:
        sizes: that they have behind it.
    """

    def __init__(self, chance: random.Random, sizes: Sequence[int]) -> None:
        self._chance, self._sizes = chance, sizes
        self.bodies: list[bytes] = []

    def some_more(self, publish: Callable[[bytes], None]) -> None:
        """Some, or none."""
        for _ in range(self._chance.randrange(8)):
            size = self._chance.choice(self._sizes)
            body = b"%d " % len(self.bodies) + self._chance.randbytes(size)
            self.bodies.append(body)
            publish(body)

    def assert_came(self, bodies: list[bytes]) -> None:
        """Each came once, and in order."""
        numbers = [int(body.split(b" ", 1)[0]) for body in bodies]
        assert bodies == self.bodies, f"{len(self.bodies)} published, received {numbers}"


def play_cuts(about: str, name: str, campaign: Callable[[Path, int, int], object]) -> int:
    """A program that cuts so often with each gateway; its exit code."""
    return play(about, name, CUTS_A_RUN, campaign, unit="cuts", count=500)
