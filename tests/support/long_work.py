"""What is done over several turns: how many it takes, and who waits for its end."""

from __future__ import annotations

from support.bridge_world import World
from support.work import units_of

from gateway.message import Refusal
from gateway.wire.work import SHARE, VERB


class Waiter:
    """Remembers what it was told. Implements `LookUpWaiter`."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Refusal | None]] = []

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        self.told.append((token, refusal))


def turns(world: World, most: int = SHARE + VERB) -> int:
    """How many turns it takes until nothing is to be done; none of them is more than `most`."""
    count = 0
    more = True
    while more:
        results: list[bool] = []
        units = units_of(
            lambda results=results: results.append(world.bridge.end_turn(world.now_ms))
        )
        assert units <= most
        more = results[0]
        count += 1
    world.turn()
    return count
