"""A delivery that we receive in several transfers, until it is whole (2.6.14)."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0._spec import DeliveryState, TransactionalState, Transfer
from gateway.amqp_1_0.errors import LinkFieldError

LOOSE_PARTS: Final = 256
SMALL_OCTETS: Final = 256


@final
class Partial:
    """A delivery of which not all transfers have come."""

    __slots__ = (
        "_joined",
        "_loose_octets",
        "delivery_id",
        "message_format",
        "parts",
        "rcv_second",
        "resume",
        "settled",
        "size",
        "state",
        "tag",
    )

    def __init__(self, transfer: Transfer, payload: bytes, rcv_second: bool) -> None:
        delivery_id = transfer.delivery_id
        tag = transfer.delivery_tag
        assert delivery_id is not None
        assert tag is not None
        self.delivery_id = delivery_id
        self.tag = tag
        self.message_format = transfer.message_format or 0
        self.settled = transfer.settled is True
        self.state: DeliveryState | None = transfer.state
        self.resume = transfer.resume is True
        self.rcv_second = rcv_second
        self.parts = [payload]
        self.size = len(payload)
        self._joined = 1
        self._loose_octets = 0

    def add(self, transfer: Transfer, payload: bytes) -> None:
        """Take a continuation, which may repeat what the first transfer said but not change it."""
        if transfer.delivery_id is not None and transfer.delivery_id != self.delivery_id:
            raise LinkFieldError("deliveries of one link are interleaved")
        if transfer.delivery_tag is not None and transfer.delivery_tag != self.tag:
            raise LinkFieldError("a delivery that changes its delivery-tag")
        if transfer.message_format is not None and transfer.message_format != self.message_format:
            raise LinkFieldError("a delivery that changes its message-format")
        if transfer.settled is True:
            self.settled = True
        if transfer.state is not None:
            self._change(transfer.state)
        if payload:
            self.size += len(payload)
            self.parts.append(payload)
            self._join_small(len(payload))

    def _change(self, state: DeliveryState) -> None:
        """All transfers of a delivery belong to one transaction, or to none (4.4.1)."""
        before = self.state
        if isinstance(before, TransactionalState) and (
            not isinstance(state, TransactionalState) or state.txn_id != before.txn_id
        ):
            raise LinkFieldError("a delivery that changes its transaction")
        self.state = state

    def _join_small(self, octets: int) -> None:
        """Make one part of many: small ones take more memory than their octets."""
        self._loose_octets += octets
        if len(self.parts) - self._joined >= LOOSE_PARTS:
            if self._loose_octets < LOOSE_PARTS * SMALL_OCTETS:
                self.parts[self._joined :] = [b"".join(self.parts[self._joined :])]
            self._joined = len(self.parts)
            self._loose_octets = 0
