"""What a 0-10 session is sent messages by, of one kind, by name.

A name is a subscription's destination or a consumer's tag. One that is cancelled is over, for the
audit log and for what a connection may have, when what it was sent is settled: that stays with the
session.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from gateway.audit.schema import Reason
from gateway.bridge.seams import Owner, SubscribeOptions
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.outlet import SessionOutlet
from gateway.faces.server_0_10.parking import TOO_MUCH, Parking
from gateway.faces.server_0_10.permissions import Permissions
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Refusal
from gateway.wire.work import LINK, SUBSCRIPTION, WORK

T = TypeVar("T", bound=SessionOutlet)


class SessionOutlets(Generic[T]):
    """Those of one session.

    Attributes:
        attaching: the one that has just come has to be attached at an upstream first.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_leaving",
        "_living",
        "_owner",
        "_parking",
        "_unsettled",
        "attaching",
    )

    def __init__(
        self, answers: Answers, unsettled: Unsettled, parking: Parking, owner: Owner
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._unsettled = unsettled
        self._parking = parking
        self._owner = owner
        self.attaching = False
        self._living: dict[str, T] = {}
        # Cancelled, for what reason, and still with deliveries that are not settled.
        self._leaving: list[tuple[T, Reason]] = []

    def _begin(
        self, name: str, outlet: T, queue: str, options: SubscribeOptions, *, flags: int = 0
    ) -> Refusal | None:
        """Subscribe it to a queue; the audit log has its `flags`."""
        client = self._client
        kept = outlet.kept
        if not client.account.take(kept):
            return TOO_MUCH
        bridged = client.host.subscribing.subscribe(queue, outlet, self._owner, options)
        if isinstance(bridged, Refusal):
            client.account.give(kept)
            return bridged
        outlet.bridged = bridged
        outlet.attaching = self.attaching = bridged.attaching
        self._living[name] = outlet
        client.on_link(opened=True)
        client.record_link(bridged.number, node=bridged.queue.node, flags=flags)
        return None

    def _end(self, name: str) -> T | None:
        """Its client cancels one; `None`: there is none of that name."""
        outlet = self._living.pop(name, None)
        if outlet is not None:
            outlet.cancel()
            self._detach(outlet, Reason.CANCELLED)
        return outlet

    def _detach(self, outlet: T, reason: Reason) -> None:
        """It is over once what was sent, which stays with the session, is settled."""
        if outlet.unsettled():
            self._leaving.append((outlet, reason))
            return
        self._client.on_link(opened=False)
        self._client.record_link_end(outlet.number(), reason)
        outlet.bridged = None  # which holds it

    # What the session calls.

    def review(self, permissions: Permissions) -> Refusal | None:
        """Why one of them may not go on, by other access rules."""
        for outlet in self._living.values():
            refusal = permissions.review(outlet.queue_name(), acquire=outlet.takes)
            if refusal is not None:
                return refusal
        return None

    def pause(self) -> None:
        """The session has no connection: they have no credit."""
        WORK.units += SUBSCRIPTION * len(self._living)
        for outlet in self._living.values():
            outlet.pause()

    def go_on(self) -> None:
        """It has one again: what credit they had counts."""
        WORK.units += SUBSCRIPTION * len(self._living)
        for outlet in list(self._living.values()):
            outlet.go_on()

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        all_of_them = [*self._living.values(), *[outlet for outlet, _ in self._leaving]]
        for outlet in all_of_them:
            outlet.move(client)
        self._client.links -= len(all_of_them)
        client.links += len(all_of_them)
        self._client = client

    def resume(self) -> None:
        """There is room again."""
        WORK.units += SUBSCRIPTION * len(self._living)
        for outlet in self._living.values():
            outlet.resume()

    def on_settled(self) -> None:
        """Deliveries were settled: there may be room, and cancelled ones may be over."""
        self.resume()
        leaving = self._leaving
        if leaving:
            self._leaving = []
            for outlet, reason in leaving:
                self._detach(outlet, reason)

    def cancel_all(self, reason: Reason) -> None:
        """The session is over; its deliveries are settled next."""
        living = self._living
        self._living = {}
        WORK.units += LINK * len(living)
        for outlet in living.values():
            outlet.cancel()
            self._leaving.append((outlet, reason))
