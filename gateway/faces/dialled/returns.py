"""What becomes of the copies that a relay has sent: by what the upstream says of them, or does not.

Accepted and rejected are the end. What was released or modified goes back to its place, is held
back for a while and sent again, but not for ever; what nobody knows of is sent again, marked. Rows:
upstream outcomes.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.bridge.remote.remote import Target
from gateway.faces import losses
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.outflow import Outflow
from gateway.faces.dialled.suspicion import Suspicion
from gateway.message import (
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Delivery,
    Flag,
    Outcome,
    OutcomeKind,
)
from gateway.translate.outcomes import Merging, lose_annotations

REBUILD_SLACK: Final = 64
LOST: Final = Outcome(
    OutcomeKind.REJECTED,
    condition=Condition.INTERNAL_ERROR,
    description="the upstream was lost",
)


class Stopping(Protocol):
    """Whoever sent them: a relay, once it was stopped."""

    def on_returned(self) -> None:
        """One copy less is unsettled."""


@final
class Returns:
    """Of one relay.

    Attributes:
        suspicion: of messages that may be why the upstream breaks its connections.
    """

    __slots__ = (
        "_attempts",
        "_failures",
        "_outflow",
        "_queue",
        "_settlement",
        "_stopping",
        "_upstream",
        "suspicion",
    )

    def __init__(
        self,
        upstream: DialledContext,
        host: VirtualHost,
        outflow: Outflow,
        stopping: Stopping,
    ) -> None:
        self._upstream = upstream
        self._settlement = host.settlement
        self._outflow = outflow
        self._stopping = stopping
        self._queue = outflow.queue
        self._attempts: dict[int, int] = {}  # by position: how often it came back
        self._failures = 0
        self.suspicion = Suspicion()

    def on_outcome(self, delivery: Delivery, outcome: Outcome) -> None:
        """The upstream has decided."""
        self._upstream.counts.settled_sent[outcome.kind] += 1
        self.suspicion.clear()
        if self._presume(delivery, outcome):
            return
        if outcome.kind == OutcomeKind.ACCEPTED:
            self._failures = 0
        elif outcome.kind != OutcomeKind.REJECTED and not self._passes(delivery):
            outcome = self._again(delivery, outcome)
        if outcome.kind in (OutcomeKind.ACCEPTED, OutcomeKind.REJECTED):
            self._attempts.pop(delivery.position, None)
        self._settle(delivery, outcome, Reason.NONE)

    def on_busy(self, delivery: Delivery) -> None:
        """Not now, and no word against it: it goes again after a while, however often."""
        self._upstream.counts.settled_sent[OutcomeKind.REJECTED] += 1
        if self._presume(delivery, RELEASED):
            return
        if not self._passes(delivery):
            self._back_off()
        self._settle(delivery, RELEASED, Reason.NONE)

    def on_unknown(self, delivery: Delivery) -> None:
        """Sent, and nobody knows what became of it: it goes again, marked."""
        self._upstream.counts.unsettled_lost += 1
        if self._presume(delivery, LOST):
            return
        self._settle(delivery, MODIFIED_FAILED, Reason.UPSTREAM_LOST)

    def on_poison(self, delivery: Delivery, text: str) -> None:
        """It is why the upstream breaks what it comes by, which `text` says."""
        self._upstream.counts.poison += 1
        self._attempts.pop(delivery.position, None)
        if self._presume(delivery, LOST):
            return
        outcome = Outcome(
            OutcomeKind.REJECTED, condition=Condition.INTERNAL_ERROR, description=text
        )
        self._settle(delivery, outcome, Reason.NONE)

    def _presume(self, delivery: Delivery, outcome: Outcome) -> bool:
        """In a transaction an outcome is presumed, or failure: its end says what it is."""
        transaction = delivery.transaction
        if transaction is None or delivery.settled:
            return False
        transaction.on_presumed(delivery, outcome)
        self._over()
        return True

    def _settle(self, delivery: Delivery, outcome: Outcome, reason: Reason) -> None:
        self._settlement.settle(delivery, outcome, reason)
        self._over()

    def _over(self) -> None:
        if self._outflow.stopped:
            self._stopping.on_returned()
        self._upstream.touch()

    def _passes(self, delivery: Delivery) -> bool:
        """Whether its publisher takes released and modified as they are."""
        return self._queue.transit and (delivery.message.flags & Flag.OUTCOMES) != 0

    def _finds_no_route(self) -> bool:
        """Whether released means that."""
        profile = self._upstream.profile
        return self._queue.target == Target.EXCHANGE and profile.unroutable == "released"

    def _again(self, delivery: Delivery, outcome: Outcome) -> Outcome:
        """Released or modified: back to its place for a while, but not for ever."""
        if outcome.kind == OutcomeKind.RELEASED and self._finds_no_route():
            text = "the upstream's exchange has no route for it"
            return Outcome(OutcomeKind.REJECTED, condition=Condition.UNROUTABLE, description=text)
        tries = self._attempts.get(delivery.position, 0) + 1
        placement = self._queue.placement
        tries_max = None if placement is None else placement.max_redeliveries
        if tries_max is None:
            tries_max = self._upstream.settings.max_redeliveries
        if outcome.undeliverable_here or tries > tries_max:
            text = f"not taken by the upstream, {tries} times tried"
            return Outcome(
                OutcomeKind.REJECTED, condition=Condition.PRECONDITION_FAILED, description=text
            )
        self._attempts[delivery.position] = tries
        self._forget_gone()
        self._back_off()
        if outcome.annotations:
            outcome = self._merged(delivery, outcome)
        return outcome

    def _forget_gone(self) -> None:
        """Copies that came back and then expired, or were purged, are counted no more."""
        if len(self._attempts) > 2 * self._queue.depth + REBUILD_SLACK:
            self._attempts = {
                position: tries
                for position, tries in self._attempts.items()
                if self._queue.holds(position)
            }

    def _back_off(self) -> None:
        self._failures += 1
        self._outflow.wait(self._upstream.settings.redelivery_back_off_ms(self._failures))

    def _merged(self, delivery: Delivery, outcome: Outcome) -> Outcome:
        made = Merging(outcome).merged(delivery.annotations)
        if not made.annotations:
            upstream = self._upstream
            lost = lose_annotations(upstream.faces.translated)
            losses.record(upstream.bridge, lost, delivery.message.id, delivery.subscription)
        return made
