"""What several verbs of a virtual host refuse, in the same words."""

from __future__ import annotations

from typing import Final

from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Owner
from gateway.message import Condition, Refusal

OCTETS: Final = "octets in names, keys and arguments of queues, exchanges and bindings"


def not_found(what: str, name: str) -> Refusal:
    """There is no such thing."""
    return Refusal(Condition.NOT_FOUND, f"there is no {what} {name!r}")


def homeless(what: str, name: str) -> Refusal:
    """It would live in this gateway, and the others of its group would know nothing of it."""
    text = f"{what} {name!r} would live in one gateway of several: no rule places it at an upstream"
    return Refusal(Condition.NOT_ALLOWED, text)


def alone(queue: str) -> Refusal:
    """Nobody else is to use a remote queue, and other gateways of the group would let them."""
    text = f"queue {queue!r} cannot be exclusive: other gateways of the group use it, too"
    return Refusal(Condition.NOT_IMPLEMENTED, text)


def too_many(what: str) -> Refusal:
    """A limit of the gateway."""
    return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, f"there are too many {what}")


def locked(queue: Queue, owner: Owner | None) -> Refusal | None:
    """Whether the queue is exclusive to another owner than `owner`, or another user's."""
    subscriber = queue.settings.subscriber
    if subscriber is not None and owner is not None and owner.user() != subscriber.user:
        text = f"queue {queue.name!r} is a subscription of another user"
        return Refusal(Condition.UNAUTHORIZED_ACCESS, text)
    if queue.owner is None or (owner is not None and queue.owner.owner_id() == owner.owner_id()):
        return None
    return Refusal(Condition.RESOURCE_LOCKED, f"queue {queue.name!r} is exclusive to another")


def reserved(node: str, serves: int, owner: Owner) -> Refusal | None:
    """Whether a temporary node is for the consumers of another connection; `node`: which it is."""
    if serves in (0, owner.connection_id()):
        return None
    return Refusal(Condition.RESOURCE_LOCKED, f"{node} is a temporary one of another connection")


def closed(queue: Queue) -> Refusal:
    """A durable subscription gets what its exchanges have for it, and from nobody by its name.

    To its own user that is not allowed: whose it is, the face knows.
    """
    text = f"queue {queue.name!r} is a subscription: nobody publishes to it by its name"
    return Refusal(Condition.UNAUTHORIZED_ACCESS, text)


def crowded(
    name: str, others: int, *, alone: bool, exclusive: bool, subscriptions_max: int
) -> Refusal | None:
    """Why nobody can join so many `others` at queue `name`; `alone`: the one is exclusive."""
    if others >= subscriptions_max:
        return too_many("subscriptions")
    if exclusive and others:
        return Refusal(Condition.RESOURCE_LOCKED, f"queue {name!r} has subscriptions")
    if alone:
        return Refusal(Condition.RESOURCE_LOCKED, f"queue {name!r} has an exclusive subscription")
    return None
