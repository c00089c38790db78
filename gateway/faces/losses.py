"""Puts the losses of one translation into the audit log; the same for every protocol."""

from __future__ import annotations

from typing import Final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.message import Loss

POLICIES: Final[dict[str, int]] = {
    "narrow": int(Reason.NARROW),
    "drop": int(Reason.DROP),
    "refuse": int(Reason.REFUSE),
}


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
