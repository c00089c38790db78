"""What comes by one subscription of a 0-10 upstream: transfers as messages, and outcomes back.

A delivery has a token, which stays its own when the session, and with it the command id, is gone:
an outcome that comes too late finds nothing to settle. What is settled in a turn is said at its
end, as ranges of one command each; what the upstream has not completed of that when the session is
lost may come again, and is remembered by its digest. Rows: upstream outcomes.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.audit.schema import Reason
from gateway.errors import DecodeError
from gateway.faces.dialled.context import DialledContext
from gateway.message import Flag, Message, Outcome, OutcomeKind
from gateway.translate.facts import Arrival, arrival_0_10, message_from_0_10
from gateway.translate.outcomes import reject_of
from gateway.translate.towards_0_10.published import exchange_of
from gateway.wire.serial import RangeSet, distance

TEXT_MAX: Final = 255  # octets of the text of a reject
NO_TOKEN: Final = -1  # of copies for a browser, whose outcome has no meaning for the upstream


class Bearer(Protocol):
    """Whom it feeds: an inlet or a feed of the bridge."""

    @property
    def host(self) -> str:
        """The name of its virtual host."""

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further."""


class Answers(Protocol):
    """Where answers to what comes are to go."""

    def incoming(self, payload: bytes, body_at: int) -> bytes:
        """The header segment of a message as it goes on."""


@final
class Taken:
    """A transfer that goes on as `message`."""

    __slots__ = ("message", "token")

    def __init__(self, message: Message, token: int) -> None:
        self.message = message
        self.token = token


@final
class Intake:
    """The unsettled deliveries of one subscription.

    Attributes:
        copies: it browses: the upstream is told of no outcome.
    """

    __slots__ = (
        "_accepted",
        "_answers",
        "_bearer",
        "_completed",
        "_released",
        "_returned",
        "_said",
        "_settled",
        "_tokens",
        "_unsettled",
        "_upstream",
        "copies",
    )

    def __init__(
        self, upstream: DialledContext, bearer: Bearer, answers: Answers, *, copies: bool
    ) -> None:
        self._upstream = upstream
        self._answers = answers
        self._bearer = bearer
        self.copies = copies
        self._tokens = 0
        self._unsettled: dict[int, tuple[int, int]] = {}  # by token: command id and digest
        self._settled: list[int] = []  # digests of what was settled in this turn
        self._said: dict[int, list[int]] = {}  # by our command: the digests that it settles
        self._accepted = RangeSet()
        self._released = RangeSet()
        self._returned = RangeSet()  # released, and marked as redelivered
        self._completed = RangeSet()

    def allowed(self, wanted: int) -> int:
        """So much credit of what is wanted may be given."""
        upstream = self._upstream
        if upstream.draining:
            return 0
        limits = upstream.settings.limits
        return max(min(wanted, limits.link_credit, limits.unsettled_max - self.outstanding), 0)

    @property
    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return len(self._unsettled)

    def take(self, event: CommandReceived) -> Taken | None:
        """The message of a transfer; `None`: it is none, and has been rejected."""
        self._upstream.counts.received += 1
        try:
            arrival = arrival_0_10(event.payload, event.body_at)
            exchange = exchange_of(event.payload, event.body_at)
        except DecodeError as error:
            self._upstream.counts.undecodable += 1
            message = self._message(event, Arrival(), "")
            self._bearer.refuse(message, Reason.UNDECODABLE)
            self._reject(event.session, event.command_id, str(error))
            return None
        if event.empty_body:
            arrival.flags |= Flag.EMPTY_BODY
        header = self._answers.incoming(event.payload, event.body_at)
        if len(header) != event.body_at or not event.payload.startswith(header):
            event.payload = header + event.payload[event.body_at :]
            event.body_at = len(header)
        message = self._message(event, arrival, exchange)
        digest: int = message.id_digest ^ message.body_digest
        if self._upstream.seen_before.take(digest) and message.delivery_count == 0:
            message.delivery_count = 1
        if self.copies:
            self._completed.add(event.command_id)
            return Taken(message, NO_TOKEN)
        self._tokens += 1
        self._unsettled[self._tokens] = (event.command_id, digest)
        return Taken(message, self._tokens)

    def let_go(self, event: CommandReceived) -> None:
        """Nobody wants this one any more."""
        taken = self.take(event)
        if taken is None:
            return
        self._bearer.refuse(taken.message, Reason.CANCELLED)
        self.settle(event.session, taken.token, Outcome(OutcomeKind.RELEASED))

    def settle(self, session: Session | None, token: int, outcome: Outcome) -> None:
        """A delivery has ended so: the peer hears of it at the end of the turn."""
        found = self._unsettled.pop(token, None)
        if found is None or session is None:
            return
        command_id, digest = found
        upstream = self._upstream
        upstream.counts.settled_received[outcome.kind] += 1
        self._settled.append(digest)
        if outcome.kind == OutcomeKind.ACCEPTED:
            self._accepted.add(command_id)
        elif outcome.kind == OutcomeKind.REJECTED:
            self._say_rejected(session, command_id, outcome)
        elif outcome.kind == OutcomeKind.MODIFIED and outcome.delivery_failed:
            self._returned.add(command_id)
        else:
            self._released.add(command_id)
        self._completed.add(command_id)
        upstream.touch()

    def _say_rejected(self, session: Session, command_id: int, outcome: Outcome) -> None:
        code, text = reject_of(outcome, self._upstream.faces.translated)
        if not session.ended:
            session.send_command(
                spec.MessageReject(transfers=[(command_id, command_id)], code=code, text=text)
            )

    def _reject(self, session: Session, command_id: int, text: str) -> None:
        text = text.encode("utf-8")[:TEXT_MAX].decode("utf-8", "ignore")
        self._completed.add(command_id)
        if self.copies or session.ended:
            return
        self._upstream.counts.settled_received[OutcomeKind.REJECTED] += 1
        session.send_command(
            spec.MessageReject(
                transfers=[(command_id, command_id)],
                code=spec.RejectCode.UNSPECIFIED,
                text=text,
            )
        )

    def flush(self, session: Session) -> None:
        """The turn ends: say what was settled, and that its transfers are done."""
        last = -1
        if self._accepted:
            accept = spec.MessageAccept(transfers=self._accepted.take())
            last = session.send_command(accept, sync=True)
        for released, marked in ((self._released, False), (self._returned, True)):
            if released:
                release = spec.MessageRelease(transfers=released.take(), set_redelivered=marked)
                last = session.send_command(release, sync=True)
        if self._settled:
            if last >= 0:
                self._said[last] = self._settled
            self._settled = []
        for first, end in self._completed.take():
            session.complete(first, end)

    def on_completed(self, ranges: Ranges) -> None:
        """The upstream has carried these out: what they settled does not come again."""
        for first, end in ranges:
            for command_id in list(self._said):
                if distance(first, command_id) >= 0 and distance(command_id, end) >= 0:
                    del self._said[command_id]

    def lose(self) -> None:
        """The session is gone, and every delivery with it."""
        upstream = self._upstream
        upstream.counts.unsettled_lost += len(self._unsettled)
        if not self.copies:
            seen_before = upstream.seen_before
            for digests in [*self._said.values(), self._settled]:
                for digest in digests:
                    seen_before.add(digest)
            for _, digest in self._unsettled.values():
                seen_before.add(digest)
        self._said.clear()
        self._settled = []
        self._unsettled.clear()
        for each in (self._accepted, self._released, self._returned, self._completed):
            each.take()

    def _message(self, event: CommandReceived, arrival: Arrival, exchange: str) -> Message:
        bridge = self._upstream.bridge
        return message_from_0_10(
            arrival,
            event.payload,
            event.body_at,
            id=bridge.numbers.next_message(),
            exchange=exchange,
            now_ms=bridge.now_ms,
            publisher=0,
            times_in_ms=False,
            reader=bridge.hosts[self._bearer.host].reader,
        )
