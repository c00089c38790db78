"""What a receiver has yet to get: deliveries by the credit it gave, and one in parts (2.6.14)."""

from __future__ import annotations

from io import BytesIO
from typing import Final, final

from gateway.amqp_1_0._spec import DeliveryState, TransactionalState, Transfer
from gateway.amqp_1_0.carrier import Carrier
from gateway.amqp_1_0.errors import LinkFieldError
from gateway.amqp_1_0.weighing import weigh_state
from gateway.wire.work import OCTETS_COPIED, WORK

NO_DELIVERY: Final = -1
UNNUMBERED: Final = -2  # a delivery that came without its delivery-id


@final
class Partial:
    """A delivery of which not all transfers have come.

    Attributes:
        kept: octets of it on the connection's account; `state_kept` of these for its state.
        octets: its payload so far, in one buffer that becomes the whole one's uncopied.
    """

    __slots__ = (
        "delivery_id",
        "kept",
        "message_format",
        "octets",
        "rcv_second",
        "resume",
        "settled",
        "size",
        "state",
        "state_kept",
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
        self.octets = BytesIO()
        self.octets.write(payload)
        self.size = len(payload)
        self.kept = 0
        self.state_kept = 0

    def grown(self, transfer: Transfer, payload: bytes) -> int:
        """Octets to be kept since its latest transfer."""
        octets = len(payload)
        if transfer.state is not None:
            state = weigh_state(transfer.state)
            octets += state - self.state_kept
            self.state_kept = state
        return octets

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
            self.octets.write(payload)

    def _change(self, state: DeliveryState) -> None:
        """All transfers of a delivery belong to one transaction, or to none (4.4.1)."""
        before = self.state
        if isinstance(before, TransactionalState) and (
            not isinstance(state, TransactionalState) or state.txn_id != before.txn_id
        ):
            raise LinkFieldError("a delivery that changes its transaction")
        self.state = state


@final
class Incoming:
    """The receiving half of a link, beside its flow state.

    Args:
        carrier: counts what unfinished deliveries hold.

    Attributes:
        allowed: deliveries that may come: like the credit, but what is on its way when that is
            lowered stays allowed.
        counts_anew: the sender takes each credit as new, not as counted from the delivery-count
            beside it: what is under way comes on top.
        partial: the delivery of which not all transfers have come.
        passed_over: the delivery-id of one that was told of as dropped before it was whole, or
            `UNNUMBERED`; else `NO_DELIVERY`.
        resumable: tags of the unsettled map that was sent, not taken up yet.
    """

    __slots__ = ("_carrier", "allowed", "counts_anew", "partial", "passed_over", "resumable")

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self.allowed = 0
        self.counts_anew = False
        self.partial: Partial | None = None
        self.passed_over = NO_DELIVERY
        self.resumable: set[bytes] = set()

    @property
    def may_bring(self) -> bool:
        """Deliveries may be under way, of credit that was given, even if it was taken back."""
        return self.allowed > 0

    @property
    def unfinished_state(self) -> DeliveryState | None:
        """The state of the delivery of which not all transfers have come."""
        partial = self.partial
        return None if partial is None else partial.state

    def allow(self, credit: int) -> None:
        """The link-credit is set anew."""
        if self.counts_anew:
            self.allowed += credit
        elif credit > self.allowed:
            self.allowed = credit

    def drop_partial(self) -> None:
        """The delivery that was under way is whole, or will never be."""
        partial = self.partial
        if partial is not None:
            self.partial = None
            WORK.units += partial.size // OCTETS_COPIED
            self._carrier.account.give(partial.kept)

    def takes_up(self, tag: bytes) -> bool:
        """Whether it is in the unsettled map; what is not must be ignored (2.6.13)."""
        if tag not in self.resumable:
            return False
        self.resumable.remove(tag)
        return True
