"""Sources that outlive their links: what is unsettled waits for the client to attach again (2.6.3).

A client asks for it by the timeout of its source (3.5.3), which is granted up to a limit; it counts
from the detach, or from the end of the session, as the expiry-policy says (3.5.6). What is kept are
the deliveries, by their tags, on the account of the client's user; the queue gives the link nothing
meanwhile. When the link is attached again both sides say what is unsettled, and each delivery is
resumed, settled, or goes back to the queue as one that may not have come (2.6.13, 3.4.6).
It is in memory only, and so the source is not durable (3.5.5).
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Source, Unsettled
from gateway.amqp_1_0.transfers.resumption import ActionKind, resolve
from gateway.audit.schema import Reason
from gateway.bridge.queues.subscription import Subscription
from gateway.faces.client import Client
from gateway.faces.leaving import DELIVERY_OCTETS
from gateway.faces.outcomes import outcome_of
from gateway.message import MODIFIED_FAILED, Delivery, Outcome
from gateway.wire.work import DELIVERY, WORK

ENTRY_OCTETS: Final = 16  # in the map of an attach: the tag with its code and size, and null
ATTACH_OCTETS: Final = 4_096  # what else an attach may take
FRAME_MAX: Final = 65_535
NOT_YET: Final = 1 << 62
PREFIX_SIZE: Final = 8
Key = tuple[str, str, str, str]


def key_of(client: Client, name: str) -> Key:
    """Whose link it is, and which."""
    return (client.host.name, client.identity, client.container, name)


def granted_s(client: Client, source: Source) -> int:
    """So long what is unsettled of a source is kept; 0: it is not."""
    return min(source.timeout or 0, client.settings.limits.session_timeout_s)


def policy_of(source: Source) -> str:
    """When that time begins: as the client wants, or with the end of the session."""
    detach = source.expiry_policy == _spec.EXPIRY_LINK_DETACH
    return _spec.EXPIRY_LINK_DETACH if detach else _spec.EXPIRY_SESSION_END


def most(frame_size: int) -> int:
    """How many deliveries the map of an attach holds that fits a frame."""
    return max(0, (min(frame_size, FRAME_MAX) - ATTACH_OCTETS) // ENTRY_OCTETS)


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

    def __init__(self, client: Client, name: str, queue: str, source: Source) -> None:
        self.key = key_of(client, name)
        self.queue = queue
        self.timeout_s = granted_s(client, source)
        self.policy = policy_of(source)
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
        self, client: Client, suspended: Suspended, remote: Unsettled, *, incomplete: bool
    ) -> Unsettled:
        """Take what was suspended; the map of it for the client.

        `remote`: the client's own. What that says already is done.
        """
        deliveries = suspended.take()
        self.before = suspended.before
        local: Unsettled = dict.fromkeys(deliveries)
        settlement = client.host.settlement
        WORK.units += DELIVERY * len(deliveries)
        for tag, action in resolve(local, remote, incomplete=incomplete).items():
            delivery = deliveries[tag]
            if action.kind == ActionKind.RESUME:
                self.pending.append(Resumed(tag, delivery, None, 0))
            elif action.kind == ActionKind.SETTLE:
                outcome = outcome_of(action.state)
                settlement.settle(delivery, MODIFIED_FAILED if outcome is None else outcome)
                self.pending.append(Resumed(tag, None, action.state, client.bridge.turns.number))
            elif action.kind == ActionKind.WAIT:
                self._waiting[tag] = delivery
            else:  # the client does not know of it
                settlement.settle(delivery, MODIFIED_FAILED, Reason.LINK_DETACHED)
        return local

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
class Suspended:
    """The unsettled deliveries of a link that is not attached. Implements `Absent`, `Reviewed`."""

    __slots__ = (
        "_client",
        "_deadline_ms",
        "_deliveries",
        "_detaches",
        "_number",
        "_outcome",
        "_timeout_s",
        "before",
        "key",
        "queue",
    )

    def __init__(self, client: Client, lasting: Lasting, outcome: Outcome) -> None:
        """`outcome`: of what the client does not come back for."""
        self.key = lasting.key
        self.queue = lasting.queue
        self.before = lasting.before
        self._timeout_s = lasting.timeout_s
        self._detaches = lasting.policy == _spec.EXPIRY_LINK_DETACH
        self._outcome = outcome
        self._deadline_ms = NOT_YET
        self._deliveries: dict[bytes, Delivery] = {}
        self._number = client.bridge.numbers.next_owner()
        self._client: Client = client.absent(self)

    @property
    def deadline_ms(self) -> int:
        """See `Absent`."""
        return self._deadline_ms

    @property
    def octets(self) -> int:
        """See `Absent`."""
        return self._client.account.held

    def begin(self, deliveries: dict[bytes, Delivery], subscription: Subscription) -> None:
        """Keep these; where that is too much for its user they go back."""
        self.before.append(subscription)
        self._deliveries = deliveries
        kept = self._client.settings.kept
        kept.absent[self._number] = self
        kept.links[self.key] = self
        kept.detached += 1
        room = self._client.account.take(DELIVERY_OCTETS * len(deliveries))
        if not room:
            self.end(Reason.OVER_LIMIT)

    @property
    def over(self) -> bool:
        """It was resumed, or its time is over."""
        return self._number not in self._client.settings.kept.absent

    @property
    def counts_from_detach(self) -> bool:
        """Its time begins at once, and not with the end of its session."""
        return self._detaches

    def start(self, now_ms: int) -> None:
        """Its time begins."""
        self._deadline_ms = now_ms + 1000 * self._timeout_s

    def take(self) -> dict[bytes, Delivery]:
        """The link is attached again: what is unsettled is its."""
        deliveries = self._deliveries
        self._deliveries = {}
        self._client.settings.kept.resumed += 1
        self._close()
        return deliveries

    def leave(self) -> None:
        """See `Absent`."""

    def end(self, reason: Reason) -> None:
        """See `Absent`."""
        deliveries = self._deliveries
        self._deliveries = {}
        settlement = self._client.host.settlement
        WORK.units += DELIVERY * len(deliveries)
        for delivery in deliveries.values():
            settlement.settle(delivery, self._outcome, Reason.LINK_DETACHED)
        for subscription in self.before:
            self._client.record_link_end(subscription.number, reason)
        self._close()

    def _close(self) -> None:
        client = self._client
        kept = client.settings.kept
        if kept.absent.pop(self._number, None) is None:
            return
        if kept.links.get(self.key) is self:
            del kept.links[self.key]
        client.account.close()
        client.settings.access.forget(client.access)
        client.leave()

    def on_rules_changed(self, now_ms: int) -> None:
        """See `Reviewed`."""
        if self._client.access.may_stay() is not None:
            self.end(Reason.RULES_CHANGED)
