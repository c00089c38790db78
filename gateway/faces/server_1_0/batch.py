"""What becomes of a batch: the publishes of its messages, added up to one outcome.

Every message is checked before the first is published. What the bridge refuses after that ends the
batch: the messages before it stay published, and the rejection says how many they are.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.seams import PublishStatus
from gateway.message import Outcome, Refusal

# By `OutcomeKind`: accepted, rejected, released, modified.
BADNESS: Final = (0, 3, 1, 2)


@final
class Batch:
    """One delivery of `size` messages.

    Attributes:
        taken: messages published so far.
        in_turn: one of them is safe with the turn's commit only.
        held_back: publishes of it that the bridge has not let go.
        refusal: of the message that ended the batch.
        octets: of these, all together.
        outcome: the worst that a publish which was held back ended with.
    """

    __slots__ = ("held_back", "in_turn", "octets", "outcome", "refusal", "size", "taken")

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self.in_turn = False
        self.held_back = 0
        self.octets = 0
        self.refusal: Refusal | None = None
        self.outcome: Outcome | None = None

    def take(self, status: PublishStatus, octets: int) -> None:
        """One more message, of so many octets, is published."""
        self.taken += 1
        if status == PublishStatus.IN_TURN:
            self.in_turn = True
        elif status == PublishStatus.PENDING:
            self.held_back += 1
            self.octets += octets

    def stop(self, refusal: Refusal) -> None:
        """The next message was refused."""
        self.refusal = Refusal(
            refusal.condition,
            f"{self.taken} of {self.size} messages were taken: {refusal.description}",
        )

    def let_go(self, outcome: Outcome) -> bool:
        """A publish that was held back has ended; whether it was the last."""
        self.held_back -= 1
        if self.outcome is None or BADNESS[outcome.kind] > BADNESS[self.outcome.kind]:
            self.outcome = outcome
        return self.held_back == 0
