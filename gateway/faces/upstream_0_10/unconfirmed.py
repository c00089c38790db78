"""What a relay has sent to a 0-10 upstream and what that has not confirmed.

A transfer is confirmed when it is completed, unless it was rejected before; one to a queue, when
also an answer that was asked for behind it says that the queue is there (see `known`).
"""

from __future__ import annotations

from typing import final

from gateway.amqp_0_10.primitives import Ranges
from gateway.message import ACCEPTED, Delivery, Outcome, OutcomeKind, Refusal
from gateway.wire.serial import distance


@final
class Sent:
    """One transfer.

    Attributes:
        queue: where it was sent to; "": to an exchange, which needs no proof.
    """

    __slots__ = ("delivery", "queue")

    def __init__(self, delivery: Delivery, queue: str) -> None:
        self.delivery = delivery
        self.queue = queue


@final
class Ended:
    """A transfer that is confirmed, or refused."""

    __slots__ = ("delivery", "outcome")

    def __init__(self, delivery: Delivery, outcome: Outcome) -> None:
        self.delivery = delivery
        self.outcome = outcome


@final
class Unconfirmed:
    """Those of one session, by command id, in their order."""

    __slots__ = ("_completed", "_proved", "_rejected", "_under_way")

    def __init__(self) -> None:
        self._under_way: dict[int, Sent] = {}
        self._completed: dict[int, Sent] = {}  # whose queue has not been seen since
        self._rejected: dict[int, Outcome] = {}
        self._proved: dict[str, int] = {}  # by queue: the last question that found it

    def __len__(self) -> int:
        return len(self._under_way) + len(self._completed)

    def add(self, command_id: int, delivery: Delivery, queue: str) -> None:
        """One more."""
        self._under_way[command_id] = Sent(delivery, queue)

    def deliveries(self) -> list[Delivery]:
        """All of them, in their order."""
        return [sent.delivery for sent in [*self._completed.values(), *self._under_way.values()]]

    def on_rejected(self, ranges: Ranges, outcome: Outcome) -> None:
        """The peer rejects these; that it completes them follows."""
        for first, last in ranges:
            for command_id in self._among(first, last):
                self._rejected[command_id] = outcome

    def on_completed(self, ranges: Ranges) -> list[Ended]:
        """What has ended now that these are completed."""
        ended: list[Ended] = []
        for first, last in ranges:
            for command_id in self._among(first, last):
                sent = self._under_way.pop(command_id)
                outcome = self._rejected.pop(command_id, None)
                if outcome is not None:
                    ended.append(Ended(sent.delivery, outcome))
                elif not sent.queue or self._is_proved(command_id, sent.queue):
                    ended.append(Ended(sent.delivery, ACCEPTED))
                else:
                    self._completed[command_id] = sent
        return ended

    def on_seen(self, queue: str, asked: int) -> list[Ended]:
        """What has ended now that the queue was there at the question `asked`."""
        self._proved[queue] = asked
        return self._take_before(self._completed, queue, asked, ACCEPTED)

    def on_missing(self, queue: str, asked: int, refusal: Refusal) -> list[Ended]:
        """What has ended with its queue, which may have had it."""
        self._proved.pop(queue, None)
        outcome = Outcome(
            OutcomeKind.REJECTED, condition=refusal.condition, description=refusal.description
        )
        ended = self._take_before(self._completed, queue, asked, outcome)
        return ended + self._take_before(self._under_way, queue, asked, outcome)

    def take(self, command_id: int) -> Delivery | None:
        """One that the peer has refused by an exception."""
        sent = self._under_way.pop(command_id, None) or self._completed.pop(command_id, None)
        return None if sent is None else sent.delivery

    def take_all(self) -> list[Delivery]:
        """The session is over: nobody knows what became of these."""
        left = self.deliveries()
        self._under_way.clear()
        self._completed.clear()
        self._rejected.clear()
        self._proved.clear()
        return left

    def _among(self, first: int, last: int) -> list[int]:
        under_way = self._under_way
        if distance(first, last) >= len(under_way):
            return [each for each in under_way if _within(first, each, last)]
        return [each for each in range(first, last + 1) if each in under_way]

    def _is_proved(self, command_id: int, queue: str) -> bool:
        asked = self._proved.get(queue)
        return asked is not None and distance(command_id, asked) > 0

    def _take_before(
        self, some: dict[int, Sent], queue: str, asked: int, outcome: Outcome
    ) -> list[Ended]:
        ended: list[Ended] = []
        for command_id, sent in list(some.items()):
            if sent.queue == queue and distance(command_id, asked) > 0:
                del some[command_id]
                ended.append(Ended(sent.delivery, outcome))
        return ended


def _within(first: int, command_id: int, last: int) -> bool:
    return distance(first, command_id) >= 0 and distance(command_id, last) >= 0
