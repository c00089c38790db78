"""What is done once the turn that it came in is safe: numbers, by turn, as ranges.

A peer is told of what became durable only after the commit. Numbers are command-ids or delivery-ids
as its protocol counts them; those that follow one another in a turn are one range, so that nothing
is made for each message. Source: `bridge.seams.CommitWaiter`.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.seams import CommitWaiter

NO_TURN: Final = 0  # turns count from 1


@final
class SafeWith:
    """The numbers that one `CommitWaiter` is to confirm; that holds this, and not this that."""

    __slots__ = ("_ended", "_first", "_last", "_turn", "_turns")

    def __init__(self, bridge: Bridge) -> None:
        self._turns = bridge.turns
        # The latest range, which may grow: its turn, first and last; before it (turn, first, last).
        self._turn = NO_TURN
        self._first = 0
        self._last = 0
        self._ended: list[tuple[int, int, int]] = []

    def add(self, number: int, waiter: CommitWaiter) -> None:
        """Confirm `number` when the turn under way is safe.

        `waiter` hears of the commit, once a turn; it then asks for what it may confirm by `take`.
        """
        turns = self._turns
        turn = turns.number
        if turn != self._turn:
            turns.wait(waiter)
        elif number == self._last + 1:
            self._last = number
            return
        if self._turn != NO_TURN:
            self._ended.append((self._turn, self._first, self._last))
        self._turn = turn
        self._first = number
        self._last = number

    def take(self, turn: int) -> list[tuple[int, int]]:
        """First and last of each range that is safe with `turn`, as they came; then forgotten."""
        taken: list[tuple[int, int]] = []
        ended = self._ended
        done = 0
        for number, first, last in ended:
            if number > turn:
                break
            done += 1
            taken.append((first, last))
        if done:
            del ended[:done]
        if self._turn != NO_TURN and self._turn <= turn:
            taken.append((self._first, self._last))
            self._turn = NO_TURN
        return taken

    def waiting(self) -> bool:
        """Whether anything is not confirmed yet."""
        return self._turn != NO_TURN or len(self._ended) > 0

    def clear(self) -> None:
        """Nobody is to be told of these any more."""
        self._turn = NO_TURN
        self._ended.clear()
