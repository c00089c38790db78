"""What a client may publish. Of a message that it may not the audit log also has the number.

So whoever has asked puts the message into the books as refused, and then calls `record_denied`.
"""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.queues.queue import Queue
from gateway.faces.access.client_access import ClientAccess
from gateway.faces.access.denials import undecided
from gateway.faces.access.in_force import InForce
from gateway.message import Condition, Message, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, publishing
from gateway.permissions.rules import Decision


@final
class Denied:
    """Why a message is not published, until it is in the books and has a number."""

    __slots__ = ("object", "reason", "rule")

    def __init__(self, object: str, rule: str, reason: Reason) -> None:
        self.object = object
        self.rule = rule
        self.reason = reason


@final
class PublishAccess:
    """What one client may publish."""

    __slots__ = ("_access", "_denied", "_in_force")

    def __init__(self, in_force: InForce, access: ClientAccess) -> None:
        self._in_force = in_force
        self._access = access
        self._denied: Denied | None = None

    def refusal(self, exchange: str, key: str, address: str = "") -> Refusal | None:
        """Why it may not publish a message; `None`: it may, or there is no such exchange.

        That others say, to who may hear it. `address`: the message names the node so, and must not
        hear what it is.
        """
        access = self._access
        permits = access.permits
        decision = permits.may_publish(exchange, key)
        if decision.allowed:
            if decision.logged:
                access.denials.tell(str(publishing(exchange, key)), str(decision))
            return None
        unasked = undecided(decision)
        if unasked is not None:
            return unasked
        if not permits.hides and access.who.host.topology.find_exchange(exchange) is None:
            return None
        asked = publishing(exchange, key)
        queue = "" if exchange else key
        if address and permits.hides and not access.sees(address, queue, exchange):
            asked = Asked(Action.PUBLISH, ObjectKind.QUEUE, address)
        return self._deny(asked, decision)

    def staging_refusal(self) -> Refusal | None:
        """Why it may not stage what it has not said yet where to publish: there is nothing."""
        decision = self._access.permits.may_publish_any()
        if decision.allowed:
            return None
        asked = Asked(Action.PUBLISH, ObjectKind.NOTHING)
        return undecided(decision) or self._access.denials.deny(asked, decision)

    def lost_refusal(self, address: str) -> Refusal | None:
        """The same for a message that names no node; `None`: others say that there is none."""
        access = self._access
        if not access.permits.hides or access.sees(address):
            return None
        asked = Asked(Action.PUBLISH, ObjectKind.QUEUE, address)
        decision = access.permits.may(asked)
        return undecided(decision) or self._deny(asked, decision)

    def closed_refusal(self, queue: Queue, message: int = 0) -> Refusal:
        """Why it may not publish to a durable subscription by its name, whatever the rules say.

        To another user's that is refused as access is. `message`: its number in the books.
        """
        if self._access.belongings.owns_queue(queue):
            text = f"queue {queue.name!r} is a subscription, to which nobody sends"
            return Refusal(Condition.NOT_ALLOWED, text)
        return self._access.denials.deny_anothers(publishing("", queue.name), message)

    def bridge_refusal(self, refusal: Refusal, message: Message) -> Refusal:
        """Why a message was not published, by the bridge, which does not know who is who."""
        if refusal.condition != Condition.UNAUTHORIZED_ACCESS:
            return refusal
        queue = self._access.who.host.topology.queues.get(message.routing_key)
        return refusal if queue is None else self.closed_refusal(queue, message.id)

    def deny_claim(self, user_id: str) -> None:
        """A message carries another's user-id: told, and recorded with the message."""
        text = f"user-id {user_id!r}"
        self._denied = Denied(text, "", Reason.WRONG_USER)
        self._access.denials.refuse_claim(f"publish as {text}")

    def _deny(self, asked: Asked, decision: Decision) -> Refusal:
        rule = self._in_force.rule(decision)
        self._denied = Denied(asked.object_text(), rule, Reason.NOT_ALLOWED)
        return self._access.denials.refuse(asked, decision)

    def record_denied(self, message: int) -> None:
        """What was denied last was a message, which has this number in the books."""
        denied = self._denied
        if denied is not None:
            self._denied = None
            self._access.denials.record(
                Action.PUBLISH, denied.object, denied.rule, denied.reason, message
            )


def reason_of(refusal: Refusal) -> Reason:
    """Why a message is not published that may not be, for the books."""
    denied = refusal.condition == Condition.UNAUTHORIZED_ACCESS
    return Reason.NOT_ALLOWED if denied else Reason.TOO_LARGE
