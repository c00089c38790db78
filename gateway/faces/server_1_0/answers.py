"""What the client of one link hears of the messages that it publishes: outcomes, in time.

At once, with the commit of their turn, or when the bridge lets go what it holds back. What an
upstream says of a message is passed on as it is, if the source can know it; what is said of work in
a transaction is presumed, until that is discharged (4.4.1).
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.faces.client import Client
from gateway.faces.outcomes import STATE_ACCEPTED, Known, error_of, refusal_of, rejected
from gateway.faces.safe_with import SafeWith
from gateway.faces.server_1_0.lasting_target import LastingTarget
from gateway.faces.server_1_0.transactions import presumed
from gateway.faces.server_1_0.unsettled import ClientTransaction
from gateway.message import Condition, Outcome, Refusal

UNTOLD: Final = Refusal(
    Condition.INTERNAL_ERROR, "a link has gone before outcomes of its deliveries were told"
)


class Answered(Protocol):
    """Whose deliveries are answered."""

    def on_told(self) -> None:
        """Outcomes of a turn have been told."""

    def on_unanswerable(self, error: Error) -> None:
        """An outcome cannot be told: end the link with this instead."""


@final
class Nobody:
    """Implements `Answered`: nothing is told any more."""

    def on_told(self) -> None:
        """No outcome has been."""

    def on_unanswerable(self, error: Error) -> None:
        """The link is gone already."""


NOBODY: Final = Nobody()


@final
class Answers:
    """Implements `CommitWaiter`.

    Args:
        tells_tags: what is refused is told with its delivery-tag, as the anonymous terminus does.

    Attributes:
        known: the outcomes that the source can have.
        safe_with: deliveries that are accepted when their turn is safe.
        lasting: its target outlives the link.
        second: those that the client is to settle first.
        works: those without an outcome that are part of a transaction, by delivery-id.
    """

    __slots__ = (
        "_answered",
        "_client",
        "_link",
        "_suspended",
        "_tells_tags",
        "known",
        "lasting",
        "safe_with",
        "second",
        "works",
    )

    def __init__(self, client: Client, link: Link, answered: Answered, *, tells_tags: bool) -> None:
        self._client = client
        self._link = link
        self._answered: Answered = answered
        self._tells_tags = tells_tags
        self._suspended = False
        self.lasting: LastingTarget | None = None
        self.second: set[int] = set()
        self.works: dict[int, ClientTransaction] = {}
        attach = link.attach
        outcomes = None
        if attach is not None and attach.source is not None:
            outcomes = attach.source.outcomes
        self.known = Known(outcomes)
        self.safe_with = SafeWith(client.bridge)

    def on_committed(self, turn: int) -> None:
        """Accept what is safe with that turn."""
        for first, last in self.safe_with.take(turn):
            for delivery_id in range(first, last + 1):
                self.tell(delivery_id, STATE_ACCEPTED)
        self._answered.on_told()

    def end(self, event: DeliveryReceived, state: DeliveryState) -> None:
        """Tell the outcome of a delivery, if the client wants to hear it."""
        if not event.settled:
            self.tell(event.delivery_id, state)

    def refuse(self, event: DeliveryReceived, refusal: Refusal) -> None:
        """A delivery has come to nothing; one that came settled is not told of."""
        self.fail(event, refusal)
        if not event.settled:
            self.reject(event.delivery_id, refusal, event.tag if self._tells_tags else b"")

    def fail(self, event: DeliveryReceived, refusal: Refusal) -> None:
        """What is refused is part of a transaction: that cannot be committed any more."""
        work = self.works.get(event.delivery_id)
        if work is not None:
            work.fail(refusal)
            self._client.uses.on_refused(refusal)

    def reject(self, delivery_id: int, refusal: Refusal, tag: bytes = b"") -> None:
        """Tell that nobody took a delivery, by its outcome or the end of the link."""
        if self.known.rejected or self._suspended:
            self.tell(delivery_id, rejected(refusal, tag))
        else:
            self._answered.on_unanswerable(error_of(refusal, tag))

    def tell_outcome(self, delivery_id: int, outcome: Outcome) -> None:
        """Tell an outcome of the bridge, by the nearest that the source knows."""
        state = self.known.state(outcome)
        if state is None:
            self.reject(delivery_id, refusal_of(outcome))
        else:
            self.tell(delivery_id, state)

    def tell(self, delivery_id: int, state: DeliveryState) -> None:
        """Tell an outcome, and settle unless the client is to do that first."""
        if self.lasting is not None:
            self.lasting.on_told(delivery_id, state)
        if self._suspended:
            return
        second = delivery_id in self.second
        if second:
            self.second.discard(delivery_id)
        session = self._link.session
        if self.works:
            work = self.works.pop(delivery_id, None)
            if work is not None:
                if second:
                    work.posted.append((session, delivery_id, state))
                state = presumed(work, state)
        session.settle_incoming(delivery_id, state, settled=not second)
        self._client.touch()

    def suspend(self) -> None:
        """The link is gone, and the client may attach it again: outcomes are for what it knows.

        Its transactions cannot be committed.
        """
        for work in self.works.values():
            work.fail(UNTOLD)
        self.works.clear()
        self._suspended = True

    def forget(self) -> None:
        """The link is gone, and nobody is told any more."""
        self.suspend()
        self.safe_with.clear()
        self.lasting = None
        self._answered = NOBODY
