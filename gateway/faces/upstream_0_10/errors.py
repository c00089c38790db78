"""What a 0-10 upstream's errors mean for our clients: a refusal, or nothing but another try."""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10._spec import ExecutionException
from gateway.message import Condition, Refusal
from gateway.translate.conditions import FROM_CODES

TEXT_MAX: Final = 500
# Our fault, or passing by themselves: clients see delay.
PASSING: Final = (
    Condition.NONE,
    Condition.INTERNAL_ERROR,
    Condition.DECODE_ERROR,
    Condition.ILLEGAL_STATE,
)


def refusal_of(exception: ExecutionException) -> Refusal | None:
    """What our client is told; `None`: nothing, it is tried again."""
    condition = FROM_CODES.get(exception.error_code or 0)
    if condition is None or condition in PASSING:
        return None
    return Refusal(condition, text_of(exception))


def text_of(exception: ExecutionException) -> str:
    """For people: one line, of bounded length, whatever the peer wrote."""
    code, text = exception.error_code or 0, exception.description or ""
    return " ".join((f"{text} ({code})" if text else f"error code {code}")[:TEXT_MAX].split())
