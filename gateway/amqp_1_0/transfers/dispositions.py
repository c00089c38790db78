"""Dispositions that wait for the end of the turn, coalesced into ranges (2.7.6).

The common one - we received, accepted and settle - is a set of ranges; any other extends the last
entry when it says the same of the next delivery. What is said of one delivery twice is written in
the order of the first saying; the peer drops what comes for a delivery that it has settled.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import frames
from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Disposition,
    Error,
    Modified,
    Outcome,
    Rejected,
    TransactionalState,
)
from gateway.amqp_1_0.errors import SessionFieldError
from gateway.wire import serial
from gateway.wire.serial import RangeSet

DESCRIPTION_OCTETS: Final = 200  # with all else, less than the smallest frame takes


@final
class Dispositions:
    """Those of one session."""

    __slots__ = ("accepted", "entries")

    def __init__(self) -> None:
        self.accepted = RangeSet()
        self.entries: list[Disposition] = []

    def add(self, role: bool, delivery_id: int, settled: bool, state: DeliveryState | None) -> None:
        """Say `state` of one delivery."""
        if role and settled and isinstance(state, Accepted):
            self.accepted.add(delivery_id)
            return
        entries = self.entries
        if entries:
            last = entries[-1]
            end = last.first if last.last is None else last.last
            if (
                last.role == role
                and last.settled == settled
                and serial.add(end, 1) == delivery_id
                and last.state == state
            ):
                last.last = delivery_id
                return
        entries.append(Disposition(role=role, first=delivery_id, settled=settled, state=state))

    def take(self) -> list[Disposition]:
        """Everything that waits, given once."""
        entries = self.entries
        self.entries = []
        if self.accepted:
            for first, last in self.accepted.take():
                end = None if last == first else last
                accepted = Disposition(
                    role=True, first=first, last=end, settled=True, state=Accepted()
                )
                entries.append(accepted)
        return entries


def fit(disposition: Disposition, maximum: int) -> bool:
    """Shorten what an outcome says until a frame of `maximum` octets takes it; whether it was.

    A word that is too long is no reason to end the connection, and everything on it.
    """
    state = disposition.state
    if isinstance(state, (Rejected, Modified, TransactionalState)) and not frames.fits(
        disposition, maximum
    ):
        disposition.state = _in_short(state)
        return True
    return False


def _in_short(state: Rejected | Modified | TransactionalState) -> DeliveryState:
    if isinstance(state, TransactionalState):
        outcome = state.outcome
        if isinstance(outcome, (Rejected, Modified)):
            return TransactionalState(txn_id=state.txn_id, outcome=_shorter(outcome))
        return state
    return _shorter(state)


def _shorter(outcome: Rejected | Modified) -> Outcome:
    if isinstance(outcome, Modified):
        return Modified(
            delivery_failed=outcome.delivery_failed, undeliverable_here=outcome.undeliverable_here
        )
    error = outcome.error
    if error is None:
        return outcome
    text = (error.description or "").encode()[:DESCRIPTION_OCTETS].decode(errors="ignore")
    return Rejected(error=Error(condition=error.condition, description=text or None))


def range_of(disposition: Disposition) -> int:
    """How many delivery-ids the range has; `SessionFieldError` for an inverted one."""
    first = disposition.first
    last = first if disposition.last is None else disposition.last
    count = serial.distance(first, last) + 1
    if count <= 0:
        raise SessionFieldError(f"a range from {first} to {last}")
    return count
