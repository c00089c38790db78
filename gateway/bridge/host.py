"""One virtual host: the verbs that faces call, each answered by a value.

It owns nothing but names: exchanges and queues of one host. What happens to a message lives below
it - `routing` finds queues, `queues` hold, `dispatch` sends, `ledger` counts and audits.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.queues import Queue
from gateway.bridge.routing import Exchange
from gateway.bridge.seams import (
    Bound,
    Filter,
    Outlet,
    Owner,
    Published,
    Publisher,
    QueueSettings,
)
from gateway.bridge.subscription import Subscription
from gateway.message import Delivery, Message, Outcome, Refusal
from gateway.wire.tagged import Tagged


@final
class VirtualHost:
    """The four verbs and the topology of one virtual host."""

    def publish(self, message: Message, publisher: Publisher | None, token: int) -> Published:
        """Route `message` by its `exchange` and `routing_key` and put a copy in each queue.

        One copy a queue, however many bindings match. `DONE`: every copy is in its queue, nothing
        durable among them. `IN_TURN`: safe with the current turn (`Bridge.wait`). `PENDING`: the
        copies are in, but too much is held: `publisher.on_published(token, outcome)` when it is not
        (without a publisher the answer is as if there were room). `UNROUTABLE`: no queue took it,
        nor the exchange's alternate, which is tried once unless the message has
        `Flag.TELL_UNROUTABLE` or `Flag.DISCARD_UNROUTABLE`. `REFUSED`: nothing was enqueued;
        not-found (no such exchange) or resource-limit-exceeded (a queue is full).
        """
        raise NotImplementedError

    def subscribe(
        self,
        queue: str,
        outlet: Outlet,
        owner: Owner,
        *,
        acquire: bool,
        exclusive: bool,
        settled: bool,
        filter: Filter | None = None,
    ) -> Subscription | Refusal:
        """Begin to take (`acquire`) or browse the messages of `queue`; starts without credit.

        Refused: not-found; resource-locked (the queue is exclusive to another owner, or a
        subscription of it is exclusive, or `exclusive` was asked and there are others);
        resource-limit-exceeded.
        """
        raise NotImplementedError

    def settle(self, delivery: Delivery, outcome: Outcome) -> bool:
        """End `delivery`; `False` when it had ended before (audited as settled too late).

        Of an acquired delivery: `ACCEPTED` removes the copy; `RELEASED` gives it back to its place;
        `MODIFIED` too, counted as failed with `delivery_failed`, kept from this subscription with
        `undeliverable_here`; `REJECTED` sends it to the queue's alternate exchange, else drops it.
        A browsed one just ends. What was durable is safe with the current turn (`Bridge.wait`).
        """
        raise NotImplementedError

    def acquire(self, delivery: Delivery) -> bool:
        """Make a browsed, unsettled delivery an acquired one; `False` if the copy is not free."""
        raise NotImplementedError

    def release_owner(self, owner: Owner) -> None:
        """A session or connection ended: its subscriptions, exclusive queues, auto-deletes.

        The face settles what is unsettled first (`MODIFIED_FAILED`).
        """
        raise NotImplementedError

    def declare_exchange(
        self,
        name: str,
        type: str,
        *,
        durable: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str = "",
        arguments: bytes = b"",
        passive: bool = False,
    ) -> Exchange | Refusal:
        """Make an exchange of `type` direct, topic, fanout or headers, or check that it is there.

        An existing one: its type (when `type` is given) and its alternate (when one is given) must
        be the same, else not-allowed; all else is ignored. Refused too: not-found (passive and not
        there; unknown type or alternate), not-allowed (reserved name), invalid-argument (no name).
        """
        raise NotImplementedError

    def delete_exchange(self, name: str, if_unused: bool = False) -> Refusal | None:
        """Delete it and its bindings.

        Refused: not-found, not-allowed (predeclared, or an alternate of something),
        precondition-failed (`if_unused` and it has bindings), invalid-argument (no name).
        """
        raise NotImplementedError

    def declare_queue(
        self, name: str, settings: QueueSettings, owner: Owner, *, passive: bool = False
    ) -> Queue | Refusal:
        """Make a queue, or check that it is there.

        An existing one keeps its settings. Refused: resource-locked (exclusive to another owner, or
        exclusive asked while others use it), not-allowed (another alternate), not-found (passive
        and not there; unknown alternate), invalid-argument (no name).
        """
        raise NotImplementedError

    def delete_queue(
        self,
        name: str,
        owner: Owner | None = None,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
    ) -> Refusal | None:
        """Delete it; its messages go to its alternate exchange, else are dropped and counted.

        Subscribers are told (`on_cancelled`, resource-deleted); their unsettled deliveries can
        still be settled. Refused: not-found, resource-locked, precondition-failed.
        """
        raise NotImplementedError

    def purge_queue(self, name: str, owner: Owner | None = None) -> int | Refusal:
        """Drop all messages that nobody has acquired; their number. not-found, resource-locked."""
        raise NotImplementedError

    def bind(
        self,
        queue: str,
        exchange: str,
        key: str,
        arguments: dict[str, Tagged],
        encoded: bytes,
        owner: Owner | None = None,
    ) -> Refusal | None:
        """Bind; a second binding of the same queue, exchange and key changes nothing.

        `arguments` have codes of `Kind` (the match of a headers exchange), `encoded` is how they
        came. Refused: not-found, resource-locked, invalid-argument (default exchange, empty queue
        name, unknown x-match), resource-limit-exceeded.
        """
        raise NotImplementedError

    def unbind(
        self, queue: str, exchange: str, key: str, owner: Owner | None = None
    ) -> Refusal | None:
        """Unbind. Refused: not-found (queue, exchange or binding), invalid-argument."""
        raise NotImplementedError

    def queue(self, name: str) -> Queue | None:
        """The queue of that name."""
        raise NotImplementedError

    def exchange(self, name: str) -> Exchange | None:
        """The exchange of that name; "" is the default exchange."""
        raise NotImplementedError

    def bound(
        self,
        exchange: str,
        queue: str | None = None,
        key: str | None = None,
        arguments: dict[str, Tagged] | None = None,
    ) -> Bound:
        """Whether there is a binding with the parts that are given (`None` is "any")."""
        raise NotImplementedError
