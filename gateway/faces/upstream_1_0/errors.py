"""What an upstream's errors mean for our clients: a refusal, or nothing but another try.

Errors that are our fault or pass by themselves - of connections, sessions, framing, limits of a
link - are not passed on: the link is attached again, and clients see delay.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec_conditions as conditions
from gateway.amqp_1_0._spec import DeliveryState, Error, Rejected
from gateway.errors import RemoteProtocolError
from gateway.faces.dialled.health import UpstreamHealth
from gateway.message import Refusal
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


# Ends of links that say nothing of a delivery.
INNOCENT: Final = (
    conditions.CONNECTION_FORCED,
    conditions.CONNECTION_REDIRECT,
    conditions.DETACH_FORCED,
    conditions.LINK_REDIRECT,
    conditions.STOLEN,
)
TEXT_MAX: Final = 500
# Azure's own words for "not now", with which it ends links and rejects deliveries.
BUSY: Final = ("com.microsoft:server-busy", "com.microsoft:timeout")


class TooSmallError(RemoteProtocolError):
    """The peer's frames are too small for what a link has to say."""


def accuses(error: Error | None) -> bool:
    """Whether a link's end may be the fault of a delivery."""
    return error is not None and error.condition not in INNOCENT and error.condition not in BUSY


def is_taken(error: Error | None) -> bool:
    """Whether a connection was refused since its container has one already."""
    if error is None or error.condition != conditions.INVALID_FIELD:
        return False
    named = (error.info or {}).get("invalid-field")
    return named is not None and named.value == "container-id"


def is_busy(state: DeliveryState | None) -> bool:
    """Whether a delivery was rejected only for now."""
    return isinstance(state, Rejected) and state.error is not None and state.error.condition in BUSY


def is_idle_detach(error: Error | None) -> bool:
    """Whether a link was detached because nothing went by it: no news for anybody."""
    if error is None or error.condition != conditions.DETACH_FORCED:
        return False
    return "idle" in (error.description or "").lower()


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


def note(health: UpstreamHealth, error: Error | None, whose: str = "") -> None:
    """The peer ended something, and said this of it: operators may want to know."""
    if error is not None:
        text = text_of(error)
        health.note_problem(f"{whose}: {text}" if whose else text)


def text_of(error: Error | None) -> str:
    """For operators: one line, of bounded length, whatever the peer wrote."""
    if error is None:
        return "no reason given"
    text = f"{error.condition}: {error.description}" if error.description else error.condition
    return " ".join(text[:TEXT_MAX].split())
