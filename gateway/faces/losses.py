"""Puts the losses of one translation into the audit log; the same for every protocol.

A loss is one of a delivery that was sent, or that could not be for that very reason: translating
counts it, and an outlet that does not send what it has translated takes it back.
"""

from __future__ import annotations

from typing import Final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.message import Loss
from gateway.translate.context import Counts
from gateway.translate.mapping_rows import ROWS

POLICIES: Final[dict[str, int]] = {
    "narrow": int(Reason.NARROW),
    "drop": int(Reason.DROP),
    "refuse": int(Reason.REFUSE),
}


def take_back(counts: Counts, losses: list[Loss]) -> None:
    """What was translated is not sent, for now or at all: nothing of it is lost."""
    for loss in losses:
        counts.lost[ROWS[loss.row].number] -= 1


def record(bridge: Bridge, losses: list[Loss], message_id: int, link: int) -> None:
    """One record a loss: which row decided, what became of the value, for which subscription."""
    audit = bridge.audit
    for loss in losses:
        audit.translated_with_loss(
            bridge.now_ms,
            message_id,
            row=audit.name(loss.row),
            policy=POLICIES[loss.policy],
            link=link,
        )
