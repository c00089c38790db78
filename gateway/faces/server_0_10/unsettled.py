"""What a 0-10 session has sent: deliveries that are not settled, transfers that are not completed.

The two are apart: completion gives window credit back and settles nothing; accept, reject and
release settle, also after the subscription was cancelled. Ids are serial numbers; ranges that a
client gives may be far larger than what there is, so the smaller side is walked.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar, final

from gateway.amqp_0_10.primitives import Ranges
from gateway.faces.server_0_10.credit import Credit
from gateway.message import Delivery
from gateway.wire.serial import add, distance
from gateway.wire.work import LOOK, RANGE, WORK

V = TypeVar("V")

BROWSED_MAX: Final = 1000  # of a session; the oldest can no longer be acquired
Browsed = tuple[int, int, int]  # the subscription's number, the position, the message's number


class Windowed(Protocol):
    """Whose window opens as the client completes what was sent."""

    def completed(self, octets: int, era: int) -> None:
        """The client has completed such a delivery, sent in `era`."""


@final
class Unsettled:
    """By command id, in the order of sending."""

    __slots__ = ("_browsed", "_deliveries", "_windowed")

    def __init__(self) -> None:
        self._deliveries: dict[int, Delivery] = {}
        # Settled as they were sent to somebody who looks on, and not completed.
        self._browsed: dict[int, Browsed] = {}
        # Sent in window mode and not completed: the subscription's credit, its era, octets.
        self._windowed: dict[int, tuple[Windowed, int, int]] = {}

    def __len__(self) -> int:
        return len(self._deliveries)

    def sent(self, command_id: int, credit: Credit, octets: int, delivery: Delivery | None) -> None:
        """Remember a transfer; without `delivery` it was settled as it was sent."""
        if delivery is not None:
            self._deliveries[command_id] = delivery
        if credit.window:
            self._windowed[command_id] = (credit, credit.era, octets)

    def hold(self, command_id: int, delivery: Delivery) -> None:
        """Remember a delivery; commands ascend."""
        self._deliveries[command_id] = delivery

    def get(self, command_id: int) -> Delivery | None:
        """A delivery, which stays."""
        return self._deliveries.get(command_id)

    def give(self, command_id: int) -> Delivery | None:
        """A delivery, which is then forgotten."""
        return self._deliveries.pop(command_id, None)

    def has(self, command_id: int) -> bool:
        """Whether it has that delivery."""
        return command_id in self._deliveries

    def ahead(self, command_id: int, windowed: Windowed, octets: int) -> None:
        """Remember a delivery that is settled, and ahead until it is completed."""
        self._windowed[command_id] = (windowed, 0, octets)

    def looked_at(self, command_id: int, delivery: Delivery) -> None:
        """Remember which copy was sent to who looks on and settles nothing."""
        browsed = self._browsed
        if len(browsed) >= BROWSED_MAX:
            del browsed[next(iter(browsed))]
        browsed[command_id] = delivery.subscription, delivery.position, delivery.message.id

    def take_looked_at(self, ranges: Ranges) -> list[tuple[int, Browsed]]:
        """Those of `ranges`, which are then forgotten."""
        browsed = self._browsed
        return [(command_id, browsed.pop(command_id)) for command_id in _pick(ranges, browsed)]

    def completed(self, ranges: Ranges) -> None:
        """The client completed transfers: each subscription's window opens by what it held."""
        if self._browsed:
            self.take_looked_at(ranges)
        windowed = self._windowed
        for command_id in _pick(ranges, windowed):
            credit, era, octets = windowed.pop(command_id)
            credit.completed(octets, era)

    def take(self, ranges: Ranges) -> list[Delivery]:
        """The deliveries in `ranges`, which are then forgotten; ids that are not there are not."""
        deliveries = self._deliveries
        return [deliveries.pop(command_id) for command_id in _pick(ranges, deliveries)]

    def find(self, ranges: Ranges) -> list[tuple[int, Delivery]]:
        """The deliveries in `ranges`, which stay."""
        deliveries = self._deliveries
        return [(command_id, deliveries[command_id]) for command_id in _pick(ranges, deliveries)]

    def take_all(self) -> list[Delivery]:
        """Everything, in the order in which it was sent: so it goes on where its queue is gone."""
        taken = list(self._deliveries.values())
        self._deliveries = {}
        self._browsed = {}
        self._windowed = {}
        return taken


def _pick(ranges: Ranges, known: dict[int, V]) -> list[int]:
    """The keys of `known`, which ascend, that lie in `ranges`; linear in the smaller of the two."""
    total = 0
    for first, last in ranges:
        total += max(0, distance(first, last) + 1)
    WORK.units += RANGE * len(ranges) + LOOK * min(total, len(known))
    if total <= len(known):
        return [
            add(first, step)
            for first, last in ranges
            for step in range(distance(first, last) + 1)
            if add(first, step) in known
        ]
    base = next(iter(known), 0)
    spans = sorted([(distance(base, first), distance(base, last)) for first, last in ranges])
    picked: list[int] = []
    at = 0
    for each in known:
        offset = distance(base, each)
        while at < len(spans) and spans[at][1] < offset:
            at += 1
        if at < len(spans) and spans[at][0] <= offset:
            picked.append(each)
    return picked
