"""Files on their way to a client: opened, staged when it says from where on, and delivered.

What is opened is answered in the order in which it was, since no open-ok says of which file it is.
The identifier of a file is the same whenever it comes again, also after a restart. What is opened
and not delivered goes back as if it had not been sent.
Source: 0-10 XML, file.open, open-ok, stage, deliver, ack and reject.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.contents.consumer import Consumer, Tags
from gateway.faces.server_0_10.contents.windows import Windows
from gateway.faces.server_0_10.transactions import Transactions
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import (
    ACCEPTED,
    REJECTED,
    RELEASED,
    Condition,
    Delivery,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.translate.facts import UINT64_MAX
from gateway.wire.work import DELIVERY, WORK

OPENED_MAX: Final = 16  # of a session, and so many octets, or one
OPENED_OCTETS: Final = 1024 * 1024
TRIES: Final = 5  # failed deliveries, after which a file is dead-lettered where it can be
ELSEWHERE: Final = Outcome(
    OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True, nor_to_owner=True
)


@final
class Opening:
    """A file that is opened and not staged.

    Attributes:
        over: it has gone back; it is staged all the same, and not delivered.
    """

    __slots__ = ("body", "command_id", "consumer", "delivery", "header", "identifier", "over")

    def __init__(
        self,
        consumer: Consumer,
        delivery: Delivery,
        header: bytes,
        body: bytes,
        identifier: str,
        command_id: int,
    ) -> None:
        self.consumer = consumer
        self.delivery = delivery
        self.header = header
        self.body = body
        self.identifier = identifier
        self.command_id = command_id
        self.over = False


@final
class Outbound:
    """The files of one session. Implements `Staging`."""

    __slots__ = (
        "_answers",
        "_client",
        "_delivered",
        "_octets",
        "_opened",
        "_tags",
        "_transacted",
        "_transactions",
        "_unsettled",
        "windows",
    )

    def __init__(
        self, answers: Answers, unsettled: Unsettled, transactions: Transactions, windows: Windows
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._unsettled = unsettled
        self._transactions = transactions
        self._tags = Tags()
        self.windows = windows
        self._opened: deque[Opening] = deque()
        self._octets = 0
        # By delivery-tag: the command that delivered it, and its octets.
        self._delivered: dict[int, tuple[int, int]] = {}
        self._transacted = False  # some are acknowledged by a transaction that is under way

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        self._client = client

    def has_room(self, size: int) -> bool:
        """Whether a file of that size may be opened."""
        opened = len(self._opened)
        return opened == 0 or (opened < OPENED_MAX and self._octets + size <= OPENED_OCTETS)

    def stage(self, consumer: Consumer, delivery: Delivery, header: bytes, body: bytes) -> None:
        """Begin to stage it; it is delivered when it is."""
        message = delivery.message
        digest: int = message.body_digest  # signed, of 64 bits
        identifier = f"{message.id:016x}-{digest & UINT64_MAX:016x}"
        command_id = self._answers.session.send_command(
            spec.FileOpen(identifier=identifier, content_size=len(body))
        )
        self._unsettled.hold(command_id, delivery)
        if not consumer.no_ack:
            self.windows.sent(len(body), self._client.bridge.now_ms)
        self._opened.append(Opening(consumer, delivery, header, body, identifier, command_id))
        self._octets += len(body)

    def on_open_ok(self, command: spec.FileOpenOk) -> Refusal | None:
        """The client says how much of it it has: stage the rest, and deliver it."""
        if not self._opened:
            return Refusal(Condition.ILLEGAL_STATE, "no file is opened")
        opening = self._opened.popleft()
        self._octets -= len(opening.body)
        begin = command.staged_size or 0
        if begin > len(opening.body):
            self._opened.appendleft(opening)  # it goes back with the session
            self._octets += len(opening.body)
            return Refusal(Condition.INVALID_ARGUMENT, "staged-size is more than there is")
        self._answers.send_content(
            spec.FileStage(), opening.header, opening.body[begin:], empty_body=True
        )
        if not opening.over:
            self._deliver(opening)
        return None

    def _deliver(self, opening: Opening) -> None:
        delivery = opening.delivery
        self._unsettled.give(opening.command_id)
        if delivery.settled:  # its queue was deleted
            self._back(opening)
            return
        message = delivery.message
        tag = self._tags.next()
        command_id = self._answers.session.send_command(
            spec.FileDeliver(
                consumer_tag=opening.consumer.tag,
                delivery_tag=tag,
                redelivered=delivery.delivery_count > 0,
                exchange=message.exchange,
                routing_key=message.routing_key,
                identifier=opening.identifier,
            )
        )
        if opening.consumer.no_ack:
            self._client.host.settlement.settle(delivery, ACCEPTED)
        else:
            self._unsettled.hold(command_id, delivery)
            self._delivered[tag] = (command_id, len(opening.body))

    def _back(self, opening: Opening) -> None:
        if not opening.consumer.no_ack:
            self.windows.back(len(opening.body))

    def release(self, consumer: Consumer | None) -> None:
        """What is opened for a consumer, or `None` for any, and not delivered goes back."""
        for opening in self._opened:
            if opening.over or (consumer is not None and opening.consumer is not consumer):
                continue
            opening.over = True
            self._back(opening)
            delivery = self._unsettled.give(opening.command_id)
            if delivery is not None:
                WORK.units += DELIVERY
                self._client.host.settlement.settle(delivery, RELEASED, Reason.CANCELLED)

    def give_up_failed(self) -> None:
        """The session is over: what has failed too often does not come again."""
        for tag, (command_id, _) in list(self._delivered.items()):
            delivery = self._unsettled.get(command_id)
            if delivery is not None and self._is_last_try(delivery):
                self._settle(tag, REJECTED)

    def _is_last_try(self, delivery: Delivery) -> bool:
        """Whether a file that failed now has done so too often, and another queue gets it."""
        failed = delivery.delivery_count + 1
        return failed >= TRIES and self._client.host.settlement.copies_of(delivery) > 0

    def ack(self, command: spec.FileAck) -> Refusal | None:
        """file.ack: one, all up to one, or all; in a transaction they are kept for the commit."""
        found = self._find(command.delivery_tag or 0, multiple=command.multiple)
        if isinstance(found, Refusal):
            return found
        WORK.units += DELIVERY * len(found)
        ids = [self._delivered[tag][0] for tag in found]
        if self._transactions.current is not None:
            self._transacted = True
            return self._transactions.accept([(each, each) for each in ids])
        for tag in found:
            self._settle(tag, ACCEPTED)
        return None

    def reject(self, command: spec.FileReject) -> Refusal | None:
        """file.reject: discarded, or dead-lettered; or another session's to try."""
        found = self._find(command.delivery_tag or 0, multiple=False)
        if isinstance(found, Refusal):
            return found
        delivery = self._unsettled.get(self._delivered[found[0]][0])
        again = command.requeue and delivery is not None and not self._is_last_try(delivery)
        self._settle(found[0], ELSEWHERE if again else REJECTED)
        return None

    def _find(self, tag: int, *, multiple: bool) -> list[int] | Refusal:
        self.forget_settled()
        if multiple and tag <= self._tags.last:
            return [each for each in self._delivered if tag == 0 or each <= tag]
        if tag in self._delivered:
            return [tag]
        return Refusal(Condition.INVALID_ARGUMENT, f"no delivery {tag} is outstanding")

    def _settle(self, tag: int, outcome: Outcome) -> None:
        command_id, size = self._delivered.pop(tag)
        self.windows.back(size)
        delivery = self._unsettled.give(command_id)
        if delivery is not None:
            self._client.host.settlement.settle(delivery, outcome)

    def forget_settled(self) -> None:
        """What a transaction has acknowledged may be settled by now."""
        if not self._transacted:
            return
        self._transacted = self._transactions.current is not None
        for tag, (command_id, size) in list(self._delivered.items()):
            if not self._unsettled.has(command_id):
                del self._delivered[tag]
                self.windows.back(size)
