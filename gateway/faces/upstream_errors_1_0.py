"""What an upstream's errors mean for our clients: a refusal, or nothing but another try.

Errors that are our fault or pass by themselves - of connections, sessions, framing, limits of a
link - are not passed on: the link is attached again, and clients see delay.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec_conditions as conditions
from gateway.amqp_1_0._spec import Error
from gateway.message import Condition, Refusal
from gateway.translate.conditions import FROM_SYMBOLS

PASSING: Final = (
    conditions.INTERNAL_ERROR,
    conditions.DECODE_ERROR,
    conditions.FRAME_SIZE_TOO_SMALL,
    conditions.CONNECTION_FORCED,
    conditions.FRAMING_ERROR,
    conditions.CONNECTION_REDIRECT,
    conditions.WINDOW_VIOLATION,
    conditions.ERRANT_LINK,
    conditions.HANDLE_IN_USE,
    conditions.UNATTACHED_HANDLE,
    conditions.DETACH_FORCED,
    conditions.TRANSFER_LIMIT_EXCEEDED,
    conditions.LINK_REDIRECT,
    conditions.STOLEN,
)


def refusal_of(error: Error | None) -> Refusal | None:
    """What our client is told; `None`: nothing, the link is to be attached again.

    Conditions that the specification does not know (a broker's own) count as passing.
    """
    if error is None or error.condition in PASSING:
        return None
    condition = FROM_SYMBOLS.get(error.condition)
    if condition is None:
        return None
    return Refusal(condition, error.description or error.condition)


def lasting(upstream: str, problem: str) -> Refusal:
    """What our client is told of an error that should have passed, and has not."""
    return Refusal(Condition.INTERNAL_ERROR, f"upstream {upstream}: {problem}")


def text_of(error: Error | None) -> str:
    """For operators."""
    if error is None:
        return "no reason given"
    return f"{error.condition}: {error.description}" if error.description else error.condition
