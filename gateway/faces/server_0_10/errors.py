"""What a condition is in 0-10: the exception that ends a session for it."""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10 import errors
from gateway.message import Condition, Outcome, Refusal
from gateway.translate.conditions import to_code

BY_CODE: Final[dict[int, type[errors.ExecutionError]]] = {
    error.code: error
    for error in (
        errors.CommandInvalidError,
        errors.IllegalArgumentError,
        errors.IllegalStateError,
        errors.InternalError,
        errors.InvalidArgumentError,
        errors.NotAllowedError,
        errors.NotFoundError,
        errors.NotImplementedHereError,
        errors.PreconditionFailedError,
        errors.ResourceDeletedError,
        errors.ResourceLimitExceededError,
        errors.ResourceLockedError,
        errors.UnauthorizedAccessError,
    )
}


def execution_error(refusal: Refusal) -> errors.ExecutionError:
    """The execution.exception for a refusal, by the mapping of conditions."""
    return BY_CODE.get(to_code(refusal.condition), errors.InternalError)(refusal.description)


def failure_of(outcome: Outcome) -> Refusal:
    """What is said of a message that nobody took, to whom an exception has to say it."""
    condition = outcome.condition
    if condition == Condition.NONE:
        condition = Condition.PRECONDITION_FAILED
    return Refusal(condition, outcome.description or "the message was not accepted")
