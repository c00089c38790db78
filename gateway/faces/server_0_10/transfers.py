"""message.transfer from a 0-10 client, into the bridge.

A transfer is completed when every copy is safe or has ended by rule. An absent accept-mode means
none; what an upstream rejects then is an exception, if the gateway hears of it at all.

Where too much is in doubt, a client that takes producer flow - message.set-flow-mode, stop and flow
for the destination "" - is stopped by that.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.audit.schema import Reason
from gateway.bridge.confirming import ACCEPTED, REJECTED, Part, Told
from gateway.bridge.seams import Published, PublishStatus
from gateway.errors import DecodeError
from gateway.faces import qmf
from gateway.faces.access.publish_access import reason_of
from gateway.faces.client import Client
from gateway.faces.features import EXCHANGES
from gateway.faces.leaving import Addressee
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.arrivals import record_refused_stream
from gateway.faces.server_0_10.errors import failure_of
from gateway.faces.server_0_10.transactions import Transactions
from gateway.message import Condition, Flag, Message, Outcome, OutcomeKind, Refusal
from gateway.translate.facts import Arrival, arrival_0_10, message_from_0_10, undecodable

EXPLICIT: Final = int(spec.AcceptMode.EXPLICIT)
SESSION_FLOW: Final = ""  # the destination that stands for what the client publishes
# The Java client adds it to a signed counter, which a stop has set to zero.
CREDIT: Final = 2**31 - 1
UNROUTABLE: Final = Refusal(Condition.UNROUTABLE, "no queue took the message")


@final
class Transfers:
    """What one session publishes. Implements `Publisher`."""

    __slots__ = (
        "_access",
        "_addressee",
        "_answers",
        "_client",
        "_codes",
        "_failed",
        "_flow_set",
        "_parts",
        "_pending",
        "_publish_access",
        "_publishing",
        "_stopped",
        "_told",
        "_transacting",
        "_transactions",
    )

    def __init__(self, answers: Answers, transactions: Transactions) -> None:
        self._answers = answers
        self._client = answers.client
        self._access = answers.client.access
        self._publish_access = answers.client.publish_access
        self._transactions = transactions
        self._publishing = answers.client.host.publishing
        self._transacting = answers.client.host.transacting
        client = answers.client
        self._told = Told(
            client.bridge.confirming,
            client.bridge.numbers.next_link(),
            client.peer.connection_id,
        )
        # Octets of those that the bridge holds back, by id; which they are, without transaction.
        self._pending: dict[int, int] = {}
        self._parts: dict[int, Part] = {}
        # The codes of those commands that are no transfers and have not ended.
        self._codes: dict[int, int] = {}
        # The first that came to nothing where only an exception can say so.
        self._failed: tuple[int, Refusal] | None = None
        self._addressee = Addressee(self)
        self._flow_set = False
        self._stopped = False

    def move(self, client: Client) -> None:
        """The session has another connection, or none: what is held back is in that one's doubt."""
        for octets in self._pending.values():
            self._client.doubt.let_go(octets)
            client.doubt.hold(octets)
        self._client = client
        self._access = client.access
        self._publish_access = client.publish_access
        self._told.connection = client.peer.connection_id

    def held_back(self) -> int:
        """How many transfers the bridge holds back: in, but not to be confirmed yet."""
        return len(self._pending)

    def receive(self, event: CommandReceived, transfer: spec.MessageTransfer) -> None:
        """Publish one message."""
        answers = self._answers
        command_id = event.command_id
        try:
            arrival = arrival_0_10(event.payload, event.body_at)
        except DecodeError as error:
            _record(self._client, event, Arrival(), Reason.UNDECODABLE)
            refusal = undecodable(error)
            answers.fail(refusal, command_id=command_id, code=transfer.CODE)
            return
        if (transfer.accept_mode or 0) > 1 or (transfer.acquire_mode or 0) > 1:
            _record(self._client, event, arrival, Reason.BROKE_PROTOCOL)
            refusal = Refusal(Condition.ILLEGAL_ARGUMENT, "no such accept-mode or acquire-mode")
            answers.fail(refusal, command_id=command_id, code=transfer.CODE)
            return
        if not self._client.may_claim(arrival):
            _record(self._client, event, arrival, Reason.WRONG_USER)
            refusal = Refusal(Condition.UNAUTHORIZED_ACCESS, "user-id is not the connection's user")
            answers.fail(refusal, command_id=command_id, code=transfer.CODE)
            return
        if not self._access.permits.open:
            exchange = transfer.destination or ""
            denied = self._publish_access.refusal(exchange, arrival.routing_key)
            if denied is not None:
                _record(self._client, event, arrival, reason_of(denied))
                answers.fail(denied, command_id=command_id, code=transfer.CODE)
                return
        if event.empty_body:
            arrival.flags |= Flag.EMPTY_BODY
        explicit = transfer.accept_mode == EXPLICIT
        if explicit:
            answers.expect(command_id)
            if not arrival.flags & Flag.DISCARD_UNROUTABLE:
                arrival.flags |= Flag.TELL_UNROUTABLE
        self._publish(event, transfer, arrival)

    def _publish(
        self, event: CommandReceived, transfer: spec.MessageTransfer, arrival: Arrival
    ) -> None:
        answers = self._answers
        command_id = event.command_id
        message = _message(self._client, event, arrival)
        published = self._enter(message, command_id)
        status = published.status
        if self._is_taken(status, command_id, len(event.payload)):
            return
        if status is PublishStatus.UNROUTABLE:
            discard = bool(arrival.flags & Flag.DISCARD_UNROUTABLE)
            if transfer.destination in EXCHANGES:
                discard |= self._asked_for_management(event, transfer.destination or "")
            self._unrouted(command_id, published.refusal or UNROUTABLE, discard=discard)
        else:
            assert published.refusal is not None
            if transfer.destination in EXCHANGES:
                self._count(transfer.destination or "")
            self._transactions.count(published.refusal)
            refusal = self._publish_access.bridge_refusal(published.refusal, message)
            answers.fail(refusal, command_id=command_id, code=transfer.CODE)

    @property
    def link(self) -> int:
        """Its number in the audit log."""
        return self._told.link

    def publish_content(self, command_id: int, message: Message, code: int) -> Refusal | None:
        """Publish content of another class; why no queue took it, if it is to be returned.

        `code`: of its command.
        """
        published = self._enter(message, command_id)
        self._codes[command_id] = code
        if self._is_taken(published.status, command_id, len(message.payload)):
            return None
        del self._codes[command_id]
        if published.status is PublishStatus.UNROUTABLE:
            why = published.refusal or UNROUTABLE
            back = why.condition == Condition.IMMEDIATE or message.flags & Flag.TELL_UNROUTABLE
            self._done(command_id, REJECTED if back else ACCEPTED)
            return why if back else None
        assert published.refusal is not None
        self._transactions.count(published.refusal)
        refusal = self._publish_access.bridge_refusal(published.refusal, message)
        self._answers.fail(refusal, command_id=command_id, code=code)
        return None

    def _enter(self, message: Message, command_id: int) -> Published:
        """Into the bridge, or into the transaction that the session is in."""
        told = self._told
        told.came(message.id)
        transaction = self._transactions.current
        if transaction is None:
            return self._publishing.publish(message, self._addressee, command_id, told.link)
        return self._transacting.publish(
            transaction, message, self._addressee, command_id, told.link
        )

    def _is_taken(self, status: PublishStatus, command_id: int, octets: int) -> bool:
        """Whether queues have it; then it is done, or will be, and the client hears of that."""
        alone = self._transactions.current is None
        if status is PublishStatus.DONE or status is PublishStatus.IN_TURN:
            if alone:
                self._told.tell_last(ACCEPTED)
            if status is PublishStatus.DONE:
                self._answers.take(command_id, command_id)
            else:
                self._answers.complete_when_safe(command_id)
            if self._codes:
                self._codes.pop(command_id, None)
            return True
        if status is not PublishStatus.PENDING:
            return False
        if alone:
            self._parts[command_id] = self._told.part()
        self._hold(command_id, octets)
        return True

    def _asked_for_management(self, event: CommandReceived, exchange: str) -> bool:
        """Nobody took a message to one of the exchanges of management; whether it is answered."""
        self._count(exchange)
        if exchange != qmf.QMF_DIRECT:
            return False
        client = self._client
        return qmf.answer(client.bridge, client.host, client.settings, event.payload, event.body_at)

    def _count(self, exchange: str) -> None:
        self._client.uses.count(EXCHANGES[exchange])

    def _unrouted(self, command_id: int, why: Refusal, *, discard: bool) -> None:
        """Nobody took it: the client is told where it asked to be, and it is done in any case."""
        answers = self._answers
        alone = self._transactions.current is None
        if not discard:
            outcome = Outcome(
                OutcomeKind.REJECTED, condition=why.condition, description=why.description
            )
            if answers.reject(command_id, outcome):
                if alone:
                    self._told.tell_last(REJECTED)
                return
        self._done(command_id, ACCEPTED)

    def _done(self, command_id: int, told: int) -> None:
        """Nothing has to be safe for it, unless the disk refuses what is written of it."""
        if self._transactions.current is None:
            self._told.tell_last(told)
        if self._client.bridge.pressure.blocked:
            self._answers.complete_when_safe(command_id)
        else:
            self._answers.take(command_id, command_id)

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A transfer that was held back has ended; the token is its command id."""
        answers = self._answers
        self._client.doubt.let_go(self._pending.pop(token, 0))
        part = self._parts.pop(token, None)
        if outcome.kind == OutcomeKind.ACCEPTED:
            if self._codes:
                self._codes.pop(token, None)
            answers.take(token, token)
        elif not answers.reject(token, outcome):
            part = None
            if self._failed is None:
                self._failed = (token, failure_of(outcome))
        if part is not None:
            accepted = outcome.kind == OutcomeKind.ACCEPTED
            self._told.tell(part, ACCEPTED if accepted else REJECTED)
        self._client.touch()

    def end_failed(self) -> None:
        """End the session for a transfer that came to nothing, if there is one."""
        failed = self._failed
        if failed is not None:
            command_id, refusal = failed
            code = self._codes.get(command_id, spec.MessageTransfer.CODE)
            self._answers.fail(refusal, command_id=command_id, code=code)

    def forget(self) -> None:
        """The session is over: nobody waits for what is held back."""
        self._addressee.leave()
        doubt = self._client.doubt
        pending = self._pending
        self._pending = {}
        self._parts = {}
        self._codes = {}
        for octets in pending.values():
            doubt.let_go(octets)

    # Producer flow.

    def _hold(self, command_id: int, octets: int) -> None:
        self._pending[command_id] = octets
        self._client.doubt.hold(octets)
        self.stop_producer()

    def slow(self) -> bool:
        """Whether too much is held back, some of it of this session."""
        return self._client.doubt.high and len(self._pending) > 0

    def stop_producer(self) -> None:
        """Ask a client that is to slow down to publish no more, if it is one that takes that."""
        if self._stopped or not self._client.session_flow or not self.slow():
            return
        self._stopped = True
        if not self._flow_set:
            # Once: with each, some clients begin to count anew while they wait by the old count.
            self._flow_set = True
            self._answers.send(
                spec.MessageSetFlowMode(destination=SESSION_FLOW, flow_mode=spec.FlowMode.CREDIT)
            )
        self._answers.send(spec.MessageStop(destination=SESSION_FLOW))

    def resume_producer(self) -> None:
        """Let it publish again."""
        if self._stopped and not self.slow():
            self._stopped = False
            unit = spec.CreditUnit.MESSAGE
            self._answers.send(spec.MessageFlow(destination=SESSION_FLOW, unit=unit, value=CREDIT))


def record_refused(client: Client, event: CommandReceived, reason: Reason) -> None:
    """A command ended with its session, or ended that, and is not carried out: if it is a message.

    It may have come in part only.
    """
    if not client.visit.opened:
        return
    if isinstance(event.command, spec.StreamPublish):
        record_refused_stream(client, event, event.command, reason)
        return
    if not isinstance(event.command, spec.MessageTransfer):
        return
    try:
        arrival = arrival_0_10(event.payload, event.body_at)
    except DecodeError:
        arrival = Arrival()
    _record(client, event, arrival, reason)


def _record(client: Client, event: CommandReceived, arrival: Arrival, reason: Reason) -> None:
    """A message is not published: it came all the same."""
    message = _message(client, event, arrival)
    client.host.publishing.refuse(message, reason)
    client.publish_access.record_denied(message.id)


def _message(client: Client, event: CommandReceived, arrival: Arrival) -> Message:
    transfer = event.command
    assert isinstance(transfer, spec.MessageTransfer)
    return message_from_0_10(
        arrival,
        event.payload,
        event.body_at,
        id=client.bridge.numbers.next_message(),
        exchange=transfer.destination or "",
        now_ms=client.bridge.now_ms,
        publisher=client.peer.connection_id,
        times_in_ms=client.java,
        reader=client.host.reader,
    )
