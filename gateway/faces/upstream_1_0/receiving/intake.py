"""What comes by one receiver link: deliveries as messages, and their outcomes back.

A delivery has a token, which stays its own when the link, and with it the delivery-id, is gone: an
outcome that comes too late finds nothing to settle. A delivery that is first in line each time that
the peer ends the link with an error is taken to be the reason, the third time it comes: it is
rejected and counted as poison.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, Error, Modified, Rejected, Released
from gateway.amqp_1_0._spec import Outcome as State
from gateway.amqp_1_0._spec_conditions import DECODE_ERROR, INTERNAL_ERROR
from gateway.amqp_1_0.events import DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transactions import retiring
from gateway.audit.schema import Reason
from gateway.errors import DecodeError
from gateway.faces.outcomes import OUTCOMES
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import accuses
from gateway.message import Flag, Message, Outcome, OutcomeKind
from gateway.translate.facts import Arrival, arrival_1_0, from_foreign, message_from_1_0
from gateway.translate.outcomes import to_state

SETTLED: Final = -1  # the token of deliveries that nobody has to be told of
POISON_ENDS: Final = 2
WHEN_USED_UP: Final = "when-used-up"


class Bearer(Protocol):
    """Whom the link feeds: an inlet or a feed of the bridge."""

    @property
    def host(self) -> str:
        """The name of its virtual host."""

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further."""


@final
class Taken:
    """A delivery that goes on as `message`.

    Attributes:
        token: what its outcome is told with; `SETTLED` where none is to follow.
    """

    __slots__ = ("message", "token")

    def __init__(self, message: Message, token: int) -> None:
        self.message = message
        self.token = token


@final
class Intake:
    """The unsettled deliveries of one receiver.

    Args:
        bearer: who puts into the books what comes and goes no further.
        copy: the link browses: outcomes have no meaning for the node.
        address: of the node, for what is remembered of its messages beyond the link.
    """

    def __init__(
        self, upstream: UpstreamContext, bearer: Bearer, *, copy: bool, address: str
    ) -> None:
        self.upstream = upstream
        self._bearer = bearer
        self._here = hash(address)
        self.copy = copy
        self._used_up_first = upstream.profile.credit == WHEN_USED_UP
        self._unsettled: dict[int, tuple[int, int]] = {}  # by token: delivery-id and digest
        # The digests of what was settled last: the peer gives credit back only for what it has
        # heard of, so that it cannot have missed more settlements than about so many.
        self._settled: deque[int] = self._none_settled()
        self._again: set[int] = set()  # tokens of what is known to have come before
        self._retired: set[int] = set()  # tokens of what is accepted in a transaction
        self._tokens = 0
        self._suspect = 0
        self._ends = 0

    def _none_settled(self) -> deque[int]:
        return deque(maxlen=2 * self.upstream.settings.limits.link_credit)

    @property
    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return len(self._unsettled)

    def begin(self, link: Link) -> None:
        """A link that is to be attached: what its credit means to the peer."""
        link.incoming.counts_anew = self._used_up_first

    def is_due(self, link: Link, wanted: int) -> bool:
        """Whether the peer is to be told that so much credit is wanted now."""
        if self._used_up_first:
            return (wanted == 0) != (link.credit == 0)
        return wanted < link.credit or (wanted > 0 and link.credit * 2 <= wanted)

    def outcomes(self) -> list[str]:
        """What the source is told that we may say."""
        return OUTCOMES if self.upstream.profile.modified else OUTCOMES[:3]

    def default_outcome(self) -> Modified | Released:
        """What becomes of deliveries that a link's end leaves unsettled."""
        return Modified(delivery_failed=True) if self.upstream.profile.modified else Released()

    def read(self, event: DeliveryReceived) -> Arrival | None:
        """The facts of a delivery; `None`: it is none, or poison, and has been settled."""
        self.upstream.counts.received += 1
        payload = event.payload
        try:
            arrival = arrival_1_0(payload) if event.message_format == 0 else from_foreign(payload)
        except DecodeError as error:
            self.upstream.counts.undecodable += 1
            self._refuse(event, from_foreign(payload), Reason.UNDECODABLE)
            self._settle(event, _rejected(DECODE_ERROR, str(error)), OutcomeKind.REJECTED)
            return None
        if arrival.in_order:
            event.payload = arrival.in_order
        if arrival.acquired_before and self.upstream.profile.first_acquirer:
            arrival.flags |= Flag.REDELIVERED
            arrival.delivery_count = max(arrival.delivery_count, 1)
        return arrival

    def take(
        self, event: DeliveryReceived, arrival: Arrival, *, exchange: str, routing_key: str
    ) -> Taken | None:
        """The message of a delivery that was read; `None`: it is poison, and has been settled.

        One that may have come before is marked so, if the upstream does not say it.
        """
        message = self._message(event, arrival, exchange, routing_key)
        digest = message.id_digest ^ message.body_digest
        if self._is_poison(event, digest):
            self._bearer.refuse(message, Reason.POISON)
            return None
        token = self._token(event, digest)
        if self._was_here(digest):
            self._again.add(token)
            if message.delivery_count == 0:
                message.delivery_count = 1
        return Taken(message, token)

    def _message(
        self, event: DeliveryReceived, arrival: Arrival, exchange: str, routing_key: str
    ) -> Message:
        bridge = self.upstream.bridge
        return message_from_1_0(
            arrival,
            event.payload,
            event.message_format,
            id=bridge.numbers.next_message(),
            exchange=exchange,
            routing_key=routing_key,
            now_ms=bridge.now_ms,
            publisher=0,
            reader=bridge.hosts[self._bearer.host].reader,
        )

    def _refuse(self, event: DeliveryReceived, arrival: Arrival, reason: Reason) -> None:
        """What came is in the books, though it goes no further."""
        self._bearer.refuse(self._message(event, arrival, "", ""), reason)

    def _was_here(self, digest: int) -> bool:
        seen_before = self.upstream.seen_before
        given_back = self.upstream.profile.forgets_failed and seen_before.take(digest ^ self._here)
        return seen_before.take(digest) or given_back

    def _token(self, event: DeliveryReceived, digest: int) -> int:
        if event.settled:
            return SETTLED
        self._tokens += 1
        self._unsettled[self._tokens] = (event.delivery_id, digest)
        return self._tokens

    def _is_poison(self, event: DeliveryReceived, digest: int) -> bool:
        """Whether the link has ended over this delivery twice; then it has been rejected."""
        if self._ends < POISON_ENDS or digest != self._suspect:
            return False
        self._ends = 0
        self.upstream.counts.poison += 1
        state = _rejected(INTERNAL_ERROR, "the link ended twice with this delivery first in line")
        self._settle(event, state, OutcomeKind.REJECTED)
        return True

    def release(self, event: DeliveryReceived) -> None:
        """Nobody wants this one any more."""
        arrival = self.read(event)
        if arrival is None:
            return
        self._refuse(event, arrival, Reason.CANCELLED)
        self._settle(event, Released(), OutcomeKind.RELEASED)

    def _settle(self, event: DeliveryReceived, state: DeliveryState, kind: OutcomeKind) -> None:
        if not event.settled:
            self.upstream.counts.settled_received[kind] += 1
            event.link.session.settle_incoming(event.delivery_id, state)

    def settle(self, link: Link | None, token: int, outcome: Outcome) -> None:
        """Tell the peer how a delivery ended, if it was of the link that there is now."""
        found = self._unsettled.pop(token, None)
        self._retired.discard(token)
        if found is None or link is None:
            return
        self.upstream.counts.settled_received[outcome.kind] += 1
        self._settled.append(found[1])
        if token in self._again:
            self._again.discard(token)
            if outcome.kind in (OutcomeKind.RELEASED, OutcomeKind.MODIFIED):
                self.upstream.seen_before.add(found[1])
        elif outcome.delivery_failed and self.upstream.profile.forgets_failed and not self.copy:
            self.upstream.seen_before.add(found[1] ^ self._here)
        link.session.settle_incoming(found[0], self._state_of(outcome))
        self.upstream.touch()

    def retire(self, link: Link | None, token: int, txn_id: bytes, outcome: Outcome) -> bool:
        """End a delivery in a transaction: its outcome follows; `False`: it was lost."""
        found = self._unsettled.get(token)
        if found is None or link is None:
            return False
        if not self.copy:
            self._retired.add(token)
            state = retiring(txn_id, self._state_of(outcome))
            link.session.settle_incoming(found[0], state, settled=False)
            self.upstream.touch()
        return True

    def forget(self, delivery_ids: set[int]) -> set[int]:
        """The peer has settled these before us; the tokens of those that were unsettled.

        It may send them again. What is accepted in a transaction ends with that.
        """
        forgotten = {
            token: digest
            for token, (number, digest) in self._unsettled.items()
            if number in delivery_ids and token not in self._retired
        }
        for token, digest in forgotten.items():
            del self._unsettled[token]
            self._again.discard(token)
            if not self.copy:
                self.upstream.seen_before.add(digest)
        self.upstream.counts.unsettled_lost += len(forgotten)
        return set(forgotten)

    def take_settled(self) -> deque[int]:
        """The digests of what was settled last, which are whoever's that ends the link."""
        settled = self._settled
        self._settled = self._none_settled()
        if self.copy:
            settled.clear()
        return settled

    def lose(self, error: Error | None) -> None:
        """The link is gone, and every delivery with it; `error` is what the peer said."""
        for _, digest in self._unsettled.values():
            if accuses(error):
                self._ends = self._ends + 1 if digest == self._suspect else 1
                self._suspect = digest
            break
        self.upstream.counts.unsettled_lost += len(self._unsettled)
        if not self.copy:
            seen_before = self.upstream.seen_before
            for digest in self._settled:
                seen_before.add(digest)
            for _, digest in self._unsettled.values():
                seen_before.add(digest)
        self._settled.clear()
        self._again.clear()
        self._retired.clear()
        self._unsettled.clear()

    def _state_of(self, outcome: Outcome) -> State:
        """An outcome as the upstream takes it."""
        profile = self.upstream.profile
        if self.copy and outcome.kind != OutcomeKind.ACCEPTED:
            return Released()
        if outcome.kind != OutcomeKind.MODIFIED:
            return to_state(outcome)
        if not profile.modified:
            return Released()
        return to_state(
            Outcome(
                OutcomeKind.MODIFIED,
                delivery_failed=outcome.delivery_failed,
                undeliverable_here=outcome.undeliverable_here and profile.undeliverable_here,
                annotations=outcome.annotations if profile.annotations else b"",
            )
        )


def _rejected(condition: str, description: str) -> Rejected:
    return Rejected(error=Error(condition=condition, description=description))
