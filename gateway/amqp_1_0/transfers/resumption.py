"""What becomes of unsettled deliveries when a link is resumed (2.6.13, 3.4.6): pure functions.

Both ends attach with a map of what they consider unsettled, delivery-tag -> state, and compare it
with the other's. The record behind the map - the messages, too - is the driver's; a link forgets
its deliveries with its handle. Deliveries of transactions do not belong into the map: their
transaction is rolled back with its control link.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, final

from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Modified,
    Received,
    Rejected,
    Released,
    Unsettled,
)


class ActionKind(IntEnum):
    """What the sender does about one delivery."""

    RESEND = 0  # send it as a new delivery, not resumed, by the same tag or another
    RESUME = 1  # send it resumed: the payload from `state` on, all of it where that is None
    SETTLE = 2  # apply the outcome in `state`, and say so: resumed, settled, no payload
    RESTATE = 3  # say our outcome: resumed, not settled, no payload; the receiver then settles
    ABORT = 4  # `Link.send_abort`: it cannot go on, and need not
    ABORT_AND_RESEND = 5  # `Link.send_abort`; send it anew by another tag, if all of it is there
    FORGET = 6  # settled already: nothing is sent
    WAIT = 7  # the peer's map is incomplete: the next attach will tell


@final
@dataclass(init=False, slots=True)
class Action:
    """What to do, and the delivery state to put on the transfer."""

    kind: ActionKind
    state: DeliveryState | None

    def __init__(self, kind: ActionKind, state: DeliveryState | None = None) -> None:
        self.kind = kind
        self.state = state


_START: Final = (0, 0)


def _is_outcome(state: DeliveryState | None) -> bool:
    return isinstance(state, (Accepted, Rejected, Released, Modified))


def _position(state: DeliveryState | None) -> tuple[int, int]:
    """How far it got; nothing is promised of a delivery whose transaction is gone."""
    if isinstance(state, Received):
        return (state.section_number, state.section_offset)
    return _START


def resolve(
    local: Unsettled, remote: Unsettled, *, incomplete: bool = False
) -> dict[bytes, Action]:
    """The sender's side: what to do about each of our deliveries.

    Args:
        local: the map that we attached with. `Received` is the earliest point from which we can
            send, `None` the beginning, an outcome one that we have applied.
        remote: the receiver's.
        incomplete: the receiver's is incomplete.

    Returns:
        By tag, in our order. What only the receiver knows is left out: it settles those itself.
    """
    return {
        tag: _both(state, remote[tag]) if tag in remote else _ours_alone(state, incomplete)
        for tag, state in local.items()
    }


def _ours_alone(local: DeliveryState | None, incomplete: bool) -> Action:
    if incomplete:
        return Action(ActionKind.WAIT)
    return Action(ActionKind.FORGET if _is_outcome(local) else ActionKind.RESEND)


def _both(local: DeliveryState | None, remote: DeliveryState | None) -> Action:
    if _is_outcome(local):
        if not _is_outcome(remote):
            return Action(ActionKind.ABORT)
        same = local == remote
        return Action(ActionKind.SETTLE if same else ActionKind.RESTATE, local)
    if _is_outcome(remote):
        return Action(ActionKind.SETTLE, remote)
    earliest = _position(local)
    if earliest > _position(remote):
        return Action(ActionKind.ABORT_AND_RESEND)
    return Action(ActionKind.RESUME, None if earliest == _START else local)


def settled_by_sender(
    local: Unsettled, remote: Unsettled, *, incomplete: bool = False
) -> list[bytes]:
    """The receiver's side: the deliveries in our map that the sender has settled, to be forgotten.

    All others are taken up by resumed transfers (`DeliveryReceived.resume`, `DeliveryAborted`).
    """
    return [] if incomplete else [tag for tag in local if tag not in remote]
