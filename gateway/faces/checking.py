"""Holds some translations against what came, and puts into the audit log what that shows."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64 as int64

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.message import Delivery, Loss
from gateway.translate.checking.sample import OCTETS_MAX, is_sampled
from gateway.translate.checking.way_back import differences
from gateway.translate.context import Context
from gateway.translate.mapping_rows import BY_NUMBER
from gateway.wire.work import CROSSING, WORK

TOO_LARGE: Final = int(Reason.TOO_LARGE)


def wants_look(message: int64, kind: int64, context: Context) -> bool:
    """Whether its translation, which is sent, is to be looked at."""
    return is_sampled(message) or context.counts.kinds.is_rare(kind)


def check(
    bridge: Bridge,
    delivery: Delivery,
    header: bytes,
    body: bytes,
    losses: list[Loss],
    context: Context,
    *,
    empty_body: bool = False,
) -> None:
    """Look at a translation that is sent, of a message for which `wants_look` says so.

    `header`, `body`: as of `way_back.differences`. What receivers before added is no part of it.
    """
    message = delivery.message
    if message.message_format != 0 or delivery.annotations:
        return
    audit = bridge.audit
    link = delivery.subscription
    if len(header) + len(body) > OCTETS_MAX or len(message.payload) > OCTETS_MAX:
        audit.translation_checked(bridge.now_ms, message.id, row=0, link=link, reason=TOO_LARGE)
        return
    WORK.units += CROSSING
    rows = differences(message, header, body, losses, context, empty_body=empty_body)
    for row in rows:
        name = audit.name(BY_NUMBER[row].id)
        audit.translation_checked(bridge.now_ms, message.id, row=name, link=link)
    if not rows:
        audit.translation_checked(bridge.now_ms, message.id, row=0, link=link)
