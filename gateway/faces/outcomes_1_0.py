"""Refusals and delivery states in the words of 1.0 links (2.8.14, 3.4); outcomes are translated."""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Error,
    Received,
    Rejected,
    TransactionalState,
)
from gateway.amqp_1_0.errors import DESCRIPTION_MAX
from gateway.message import Outcome, Refusal
from gateway.translate.conditions import to_symbol
from gateway.translate.outcomes import of_state

STATE_ACCEPTED: Final = Accepted()
REJECTED_SYMBOL: Final = "amqp:rejected:list"
OUTCOMES: Final = [
    "amqp:accepted:list",
    REJECTED_SYMBOL,
    "amqp:released:list",
    "amqp:modified:list",
]


def error_of(refusal: Refusal) -> Error:
    """A "no" of the bridge, for a detach, an end or a rejection."""
    description = refusal.description[:DESCRIPTION_MAX]
    return Error(condition=to_symbol(refusal.condition), description=description or None)


def rejected(refusal: Refusal) -> Rejected:
    """A "no" of the bridge, as a delivery's outcome."""
    return Rejected(error=error_of(refusal))


def outcome_of(state: DeliveryState | None) -> Outcome | None:
    """What a receiver says of a delivery; `None` when that is no outcome."""
    if state is None or isinstance(state, (Received, TransactionalState)):
        return None
    return of_state(state)
