"""Refusals and delivery states in the words of 1.0 links (2.8.14, 3.4); outcomes are translated."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Error,
    Modified,
    Received,
    Rejected,
    Released,
    TransactionalState,
)
from gateway.amqp_1_0._spec import Outcome as State
from gateway.amqp_1_0.errors import DELIVERY_TAG, DESCRIPTION_MAX
from gateway.message import Condition, Outcome, OutcomeKind, Refusal
from gateway.translate.conditions import to_symbol
from gateway.translate.outcomes import of_state, to_state
from gateway.wire.tagged import Tagged

STATE_ACCEPTED: Final = Accepted()
DEFAULT_OUTCOME: Final = Modified(delivery_failed=True)
REJECTED_SYMBOL: Final = "amqp:rejected:list"
RELEASED_SYMBOL: Final = "amqp:released:list"
MODIFIED_SYMBOL: Final = "amqp:modified:list"
OUTCOMES: Final = ["amqp:accepted:list", REJECTED_SYMBOL, RELEASED_SYMBOL, MODIFIED_SYMBOL]
NOT_ACCEPTED: Final = Refusal(Condition.PRECONDITION_FAILED, "the message was not accepted")


def error_of(refusal: Refusal, tag: bytes = b"") -> Error:
    """A "no" of the bridge, for a detach, an end or a rejection; `tag`: of the delivery it is of.

    (Using the Anonymous Terminus for Message Routing, 2.2.2.)
    """
    description = refusal.description[:DESCRIPTION_MAX]
    info = {DELIVERY_TAG: Tagged(types.BINARY, tag)} if tag else None
    return Error(condition=to_symbol(refusal.condition), description=description or None, info=info)


def rejected(refusal: Refusal, tag: bytes = b"") -> Rejected:
    """A "no" of the bridge, as a delivery's outcome."""
    return Rejected(error=error_of(refusal, tag))


def refusal_of(outcome: Outcome) -> Refusal:
    """Why nobody took a message."""
    condition = outcome.condition
    if condition == Condition.NONE:
        return NOT_ACCEPTED
    return Refusal(condition, outcome.description)


def outcome_of(state: DeliveryState | None) -> Outcome | None:
    """What a receiver says of a delivery; `None` when that is no outcome."""
    if state is None or isinstance(state, (Received, TransactionalState)):
        return None
    return of_state(state)


def default_of(state: State | None) -> State:
    """The default-outcome that a receiver's source is given, who asked for `state` (3.5.3).

    Without annotations: there may be very many messages that none of them would be meant for.
    """
    if state is None:
        return DEFAULT_OUTCOME
    return _without_annotations(state) if isinstance(state, Modified) else state


def without_words(state: DeliveryState | None) -> DeliveryState | None:
    """An outcome to be kept until it is told back: which it is, not all that was said with it."""
    if isinstance(state, Rejected):
        return Rejected()
    return _without_annotations(state) if isinstance(state, Modified) else state


def _without_annotations(state: Modified) -> Modified:
    return Modified(
        delivery_failed=state.delivery_failed, undeliverable_here=state.undeliverable_here
    )


@final
class Known:
    """The outcomes that a sender's source can have (3.5.3); one that names none takes them all."""

    __slots__ = ("modified", "rejected", "released")

    def __init__(self, outcomes: list[str] | None) -> None:
        self.rejected = not outcomes or REJECTED_SYMBOL in outcomes
        self.released = not outcomes or RELEASED_SYMBOL in outcomes
        self.modified = not outcomes or MODIFIED_SYMBOL in outcomes

    def takes_back(self) -> bool:
        """Whether the sender can be told that a message is its own again, whatever became of it."""
        return self.rejected and (self.released or self.modified)

    def state(self, outcome: Outcome) -> DeliveryState | None:
        """How the sender is told of an outcome, by the nearest it knows; `None`: not at all."""
        kind = outcome.kind
        if kind == OutcomeKind.ACCEPTED:
            return STATE_ACCEPTED
        if kind == OutcomeKind.RELEASED:
            if self.released:
                return Released()
            if self.modified:
                return Modified()
        elif kind == OutcomeKind.MODIFIED:
            if self.modified:
                return to_state(outcome)
            if self.released and not outcome.undeliverable_here:
                return Released()
        if not self.rejected:
            return None
        return to_state(outcome) if kind == OutcomeKind.REJECTED else rejected(NOT_ACCEPTED)
