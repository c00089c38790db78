"""Sources that outlive their links: what is unsettled waits for the client to attach again (2.6.3).

What is kept are the deliveries, by their tags; the queue gives the link nothing meanwhile. When the
link is attached again both sides say what is unsettled, and each delivery is resumed, settled, or
goes back to the queue as one that may not have come (2.6.13, 3.4.6).
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Source, Unsettled
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transfers.resumption import ActionKind, resolve
from gateway.audit.schema import Reason
from gateway.bridge.queues.subscription import Subscription
from gateway.faces.client import Client
from gateway.faces.leaving import DELIVERY_OCTETS
from gateway.faces.outcomes import outcome_of
from gateway.faces.server_1_0.suspended import Suspended, granted_s, key_of, policy_of
from gateway.message import MODIFIED_FAILED, Delivery, Outcome
from gateway.wire.work import DELIVERY, WORK

ENTRY_OCTETS: Final = 16  # in the map of an attach: the tag with its code and size, and null
ATTACH_OCTETS: Final = 4_096  # what else an attach may take
FRAME_MAX: Final = 65_535
PREFIX_SIZE: Final = 8


def is_durable(source: Source) -> bool:
    """Whether it is to outlive its connection, with the queue of its own."""
    return bool(source.durable) or source.expiry_policy == _spec.EXPIRY_NEVER


def kept_s(client: Client, source: Source) -> int:
    """So long what is unsettled of it is kept; of a durable one that has no end as long as can be.

    If its unsettled state is to be as durable as itself, and that it says (3.5.5).
    """
    if is_durable(source) and source.durable == _spec.DURABLE_UNSETTLED_STATE:
        return client.settings.limits.session_timeout_s
    return granted_s(client, source)


def most(frame_size: int) -> int:
    """How many deliveries the map of an attach holds that fits a frame.

    In a very small one the attach may leave it no room; then it is told in parts.
    """
    octets = min(frame_size, FRAME_MAX)
    return max(octets - ATTACH_OCTETS, octets // 2) // ENTRY_OCTETS


@final
class Resumed:
    """A delivery that is resumed, when there is credit for it.

    Attributes:
        delivery: whose message is sent again; `None`: it is settled, by `state`.
        turn: with which that is safe.
    """

    __slots__ = ("delivery", "state", "tag", "turn")

    def __init__(
        self, tag: bytes, delivery: Delivery | None, state: DeliveryState | None, turn: int
    ) -> None:
        self.tag = tag
        self.delivery = delivery
        self.state = state
        self.turn = turn


@final
class Lasting:
    """What the link of such a source knows.

    Attributes:
        queue: its name.
        timeout_s, policy: as they were granted.
        tags: of resumed deliveries, by delivery-id; the others' are made of their ids.
        pending: what is to be resumed, in order.
        before: the subscriptions of the links before, as long as anything of theirs is unsettled.
    """

    __slots__ = (
        "_prefix",
        "_waiting",
        "before",
        "key",
        "pending",
        "policy",
        "queue",
        "tags",
        "timeout_s",
    )

    def __init__(self, client: Client, link: Link, queue: str, source: Source) -> None:
        self.key = key_of(client, link.name, link.role)
        self.queue = queue
        self.timeout_s = kept_s(client, source)
        self.policy = _spec.EXPIRY_LINK_DETACH if is_durable(source) else policy_of(source)
        self._prefix = client.bridge.numbers.next_link().to_bytes(PREFIX_SIZE, "big")
        self.tags: dict[int, bytes] = {}
        self.pending: list[Resumed] = []
        self._waiting: dict[bytes, Delivery] = {}  # the client's map was not complete
        self.before: list[Subscription] = []

    def tag(self, delivery_id: int) -> bytes:
        """The tag of a delivery; it is another one's on no link of that name."""
        tag = self.tags.get(delivery_id)
        return self._prefix + delivery_id.to_bytes(4, "big") if tag is None else tag

    def unsettled(self, deliveries: dict[int, Delivery]) -> dict[bytes, Delivery]:
        """All that is, by its tag."""
        found = {self.tag(delivery_id): each for delivery_id, each in deliveries.items()}
        found.update(self._waiting)
        for resumed in self.pending:
            if resumed.delivery is not None:
                found[resumed.tag] = resumed.delivery
        return found

    def resume(
        self, client: Client, left: LeftUnsettled, remote: Unsettled, *, incomplete: bool
    ) -> Unsettled:
        """Take what the link before left; the map of it for the client.

        `remote`: the client's own. What that says already is done. What both sides know comes
        first in ours, of which only a part may fit a frame; what goes back is not in it.
        """
        deliveries = left.take()
        self.before = left.before
        local: Unsettled = {tag: None for tag in deliveries if tag in remote}
        settlement = client.host.settlement
        WORK.units += DELIVERY * len(deliveries)
        for tag, action in resolve(
            dict.fromkeys(deliveries), remote, incomplete=incomplete
        ).items():
            delivery = deliveries[tag]
            if action.kind == ActionKind.RESUME:
                self.pending.append(Resumed(tag, delivery, None, 0))
            elif action.kind == ActionKind.SETTLE:
                outcome = outcome_of(action.state)
                settlement.settle(delivery, MODIFIED_FAILED if outcome is None else outcome)
                self.pending.append(Resumed(tag, None, action.state, client.bridge.turns.number))
            elif action.kind == ActionKind.WAIT:
                self._waiting[tag] = delivery
                local[tag] = None
            else:  # the client does not know of it
                settlement.settle(delivery, MODIFIED_FAILED, Reason.LINK_DETACHED)
        return local

    def leave(
        self, client: Client, deliveries: dict[bytes, Delivery], outcome: Outcome
    ) -> Suspended:
        """Keep them for the next link; where there is no room for that they go back.

        `outcome`: of what the client does not come back for.
        """
        left = LeftUnsettled(self, deliveries, outcome)
        suspended = Suspended(client, self.key, self.timeout_s, self.policy, left)
        suspended.begin()
        return suspended

    def tell_of_before(self, client: Client) -> None:
        """The links before are over when nothing of theirs is unsettled."""
        left: list[Subscription] = []
        for subscription in self.before:
            if subscription.is_settled():
                client.record_link_end(subscription.number, Reason.LINK_DETACHED)
            else:
                left.append(subscription)
        self.before = left


@final
class LeftUnsettled:
    """The unsettled deliveries of a link that is not attached, by their tags. Implements `Left`.

    Attributes:
        before: the subscriptions that they are of.
    """

    __slots__ = ("_deliveries", "_node", "_outcome", "before")

    def __init__(
        self, lasting: Lasting, deliveries: dict[bytes, Delivery], outcome: Outcome
    ) -> None:
        """`outcome`: of what the client does not come back for."""
        self._node = lasting.queue
        self.before = lasting.before
        self._deliveries = deliveries
        self._outcome = outcome

    @property
    def node(self) -> str:
        """See `Left`."""
        return self._node

    @property
    def octets(self) -> int:
        """See `Left`."""
        return DELIVERY_OCTETS * len(self)

    def __len__(self) -> int:
        """See `Left`."""
        return len(self._deliveries)

    def take(self) -> dict[bytes, Delivery]:
        """They are the next link's."""
        deliveries = self._deliveries
        self._deliveries = {}
        return deliveries

    def end(self, client: Client, reason: Reason) -> None:
        """See `Left`."""
        settlement = client.host.settlement
        deliveries = self.take()
        WORK.units += DELIVERY * len(deliveries)
        for delivery in deliveries.values():
            settlement.settle(delivery, self._outcome, Reason.LINK_DETACHED)
        for subscription in self.before:
            client.record_link_end(subscription.number, reason)
