"""What the bridge's verbs take and answer, and the protocols of whom it calls.

What else of the bridge faces import is listed in the package's docstring.

Four verbs - publish, subscribe, settle, grant - and their answers. No Deferred and no closure:
whoever waits is told by number. A turn is one pass over everything that the reactor had to read;
what a turn made durable is safe when `CommitWaiter.on_committed` names that turn or a later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, final

from gateway.bridge.queues.discipline import PLAIN, Discipline, Life
from gateway.message import Condition, Delivery, Encoding, Message, Outcome, Refusal
from gateway.wire.tagged import Tagged

LIVES: Final[dict[Life, str]] = {
    Life.UNUSED: "delete-if-unused",
    Life.UNUSED_AND_EMPTY: "delete-if-unused-and-empty",
    Life.CLOSED: "delete-on-close",
}


class PublishStatus(IntEnum):
    """Where a publish stands when the verb returns."""

    DONE = 0  # every copy is where it belongs: tell the publisher
    IN_TURN = 1  # safe when the current turn is committed
    PENDING = 2  # `Publisher.on_published` will say, by token
    UNROUTABLE = 3  # no queue took it; counted and audited; the face decides what is said
    REFUSED = 4  # see `refusal`; counted and audited; nothing was enqueued


@final
@dataclass(init=False, slots=True)
class Published:
    """The answer to `Publishing.publish`; constants below spare one object per message."""

    status: PublishStatus
    refusal: Refusal | None

    def __init__(self, status: PublishStatus, refusal: Refusal | None = None) -> None:
        self.status = status
        self.refusal = refusal


DONE: Final = Published(PublishStatus.DONE)
IN_TURN: Final = Published(PublishStatus.IN_TURN)
PENDING: Final = Published(PublishStatus.PENDING)
UNROUTABLE: Final = Published(PublishStatus.UNROUTABLE)
IMMEDIATE_UNTAKEN: Final = Published(
    PublishStatus.UNROUTABLE, Refusal(Condition.IMMEDIATE, "no queue had a ready consumer")
)


class Publisher(Protocol):
    """Whoever published with a token: a 0-10 session, a 1.0 link."""

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A `PENDING` publish has ended; what it made durable is safe."""


class CommitWaiter(Protocol):
    """Whoever asked, through `Bridge.wait`, to hear of a commit."""

    def on_committed(self, turn: int) -> None:
        """Everything up to and including `turn` is safe."""


class DeliverStatus(IntEnum):
    """What an outlet did with a delivery that it was offered."""

    TAKEN = 0
    BLOCKED = 1  # no room now (transport, session window): `Subscription.resume` when there is
    UNDELIVERABLE = 2  # cannot be sent to this peer at all; not taken, others may have it
    REFUSED = 3  # cannot be sent to anybody, see `Outlet.refusal`; only relays answer this


class Outlet(Protocol):
    """Where the bridge's deliveries go: a 0-10 subscription or a 1.0 sending link of a face."""

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one message; credit was there. The face remembers `delivery` until it is settled.

        Called at the end of a turn only, never from inside a verb, and calls no verb itself.
        """

    def refusal(self) -> Refusal:
        """Why the last delivery was answered with `REFUSED`."""

    def on_attached(self) -> None:
        """The upstream has the node of a subscription that was `attaching`: it is in force.

        Not called from inside a verb; `on_cancelled` instead when the upstream refuses.
        """

    def on_drained(self) -> None:
        """`Subscription.drain` is finished: nothing is left to send; credit is now zero."""

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The subscription ended by its queue (deleted, refused): no more deliveries."""


class Tracer(Protocol):
    """Is told of the steps of messages that it follows: those that have `Flag.TRACED`.

    Times are microseconds of the gateway's clock; kinds, outcomes and reasons the audit log's.
    """

    def arrives(self, message: Message) -> None:
        """It is routed next; followed from now on, or not."""

    def received(
        self, message: Message, exchange: str, copies: int, link: int, turn_us: int
    ) -> None:
        """It is routed, and came in the turn that began at `turn_us`; any message."""

    def sent(self, message: Message, queue: str, delivery: Delivery, entered_us: int) -> None:
        """An outlet has taken a copy that entered `queue` at `entered_us`."""

    def settled(self, delivery: Delivery, kind: int, outcome: int, reason: int) -> None:
        """A delivery has ended."""

    def ended(self, message: Message, kind: int, node: str, position: int, reason: int) -> None:
        """A copy left `node` otherwise, or came into none."""


class NodeSender(Protocol):
    """A link by which a client publishes to one queue or exchange, as long as that is there."""

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The node was deleted: what it sends finds nothing any more."""


class Owner(Protocol):
    """A session or connection that exclusive queues and unsettled deliveries hang on."""

    def owner_id(self) -> int:
        """A number that is unique among the living owners."""

    def connection_id(self) -> int:
        """The number of its connection, as in `Message.publisher`."""

    def user(self) -> str:
        """Whose connection it is; "" of a client without a login, and of the gateway itself."""


class Filter(Protocol):
    """What a subscription wants to see: a selector, a subject pattern.

    Attributes:
        octets: that it takes.
    """

    octets: int

    def accepts(self, message: Message) -> bool:
        """Whether the message is for this subscription; must not change while subscribed."""


@final
@dataclass(init=False, slots=True)
class KeptThere:
    """A client's durable subscription that an upstream keeps, for all gateways of a group.

    Attributes:
        exchange, key, arguments: what it is a subscription to.
        name: by which every gateway of the group knows it there.
        over: the client has ended it, and the upstream is to forget it.
    """

    exchange: str
    key: str
    arguments: dict[str, Tagged]
    name: str
    over: bool

    def __init__(self, exchange: str, key: str, arguments: dict[str, Tagged], name: str) -> None:
        self.exchange = exchange
        self.key = key
        self.arguments = arguments
        self.name = name
        self.over = False


@final
@dataclass(init=False, slots=True)
class SubscribeOptions:
    """How somebody subscribes.

    Attributes:
        acquire: takes messages; otherwise browses, which is seeing copies of them.
        exclusive: nobody else may subscribe meanwhile.
        settled: a delivery is settled as it is sent.
        name: by which its owner subscribes again to what it has cancelled; "": by none.
        filter: what is wanted from a local queue; `None`: everything.
        selector, no_local: what is wanted from a remote queue, for its upstream to apply.
        target: whose protocol it is: an `Encoding`, or `latency.UPSTREAM`.
        kept_there: it is a durable one, which the upstream keeps; `None`: it is not.
    """

    acquire: bool
    exclusive: bool
    settled: bool
    name: str
    filter: Filter | None
    selector: str
    no_local: bool
    target: int
    kept_there: KeptThere | None

    def __init__(
        self,
        *,
        acquire: bool = True,
        exclusive: bool = False,
        settled: bool = False,
        name: str = "",
        filter: Filter | None = None,
        selector: str = "",
        no_local: bool = False,
        target: int = Encoding.AMQP_1_0,
        kept_there: KeptThere | None = None,
    ) -> None:
        self.kept_there = kept_there
        self.acquire = acquire
        self.exclusive = exclusive
        self.settled = settled
        self.name = name
        self.filter = filter
        self.selector = selector
        self.no_local = no_local
        self.target = target


@final
@dataclass(init=False, slots=True)
class Subscriber:
    """Whose a durable subscription is: a user's, under a name that is given by container and link.

    Attributes:
        user: as of `Owner`: clients without a login are one user.
    """

    user: str
    container: str
    link: str

    def __init__(self, user: str, container: str, link: str) -> None:
        self.user = user
        self.container = container
        self.link = link

    def key(self) -> str:
        """What no other subscriber's parts make."""
        lengths = f"{len(self.user)}:{len(self.container)}:"
        return lengths + self.user + self.container + self.link


@final
@dataclass(init=False, slots=True)
class QueueSettings:
    """How a queue was declared.

    Attributes:
        alternate_exchange: where rejected messages and those of a deleted queue go; "": nowhere.
        max_count, max_size: messages and octets that it may hold; 0 is "no limit of its own".
        arguments: kept as they came, for queries: an encoded map.
        auto_delete_timeout_ms: how long an auto-delete queue stays after its last subscription.
        life: when an auto-delete queue is over.
        no_local: what the connection publishes does not enter that has it, or subscribes alone.
        subscriber: it was made for a durable subscription, and is its user's alone.
        unmarked: of a store that did not tell yet which queues were.
        maker: the user who made it; "" where that is not known.
        made_by: the connection that did; 0 where that is not known, as after a start.
        dynamic: it was made for a link of 1.0, and goes as that wanted.
        serves: the connection whose consumers it is for, while that link lives; 0: everybody's.
        discipline: how it orders its copies, and what it does at its limits.
    """

    durable: bool
    exclusive: bool
    auto_delete: bool
    alternate_exchange: str
    max_count: int
    max_size: int
    arguments: bytes
    auto_delete_timeout_ms: int
    life: Life
    no_local: bool
    subscriber: Subscriber | None
    unmarked: bool
    maker: str
    made_by: int
    dynamic: bool
    serves: int
    discipline: Discipline

    def __init__(
        self,
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str = "",
        max_count: int = 0,
        max_size: int = 0,
        arguments: bytes = b"",
        auto_delete_timeout_ms: int = 0,
        life: Life = Life.UNUSED,
        no_local: bool = False,
        subscriber: Subscriber | None = None,
        unmarked: bool = False,
        discipline: Discipline = PLAIN,
    ) -> None:
        self.durable = durable
        self.exclusive = exclusive
        self.auto_delete = auto_delete
        self.alternate_exchange = alternate_exchange
        self.max_count = max_count
        self.max_size = max_size
        self.arguments = arguments
        self.auto_delete_timeout_ms = auto_delete_timeout_ms
        self.life = life
        self.no_local = no_local
        self.subscriber = subscriber
        self.unmarked = unmarked
        self.maker = ""
        self.made_by = 0
        self.dynamic = False
        self.serves = 0
        self.discipline = discipline

    def in_words(self) -> str:
        """What becomes of its copies, and of itself, for people; "" for a plain queue."""
        words = [self.discipline.in_words()]
        if self.auto_delete and self.life != Life.UNUSED:
            words.append(LIVES[self.life])
        return " ".join([each for each in words if each])


@final
@dataclass(init=False, slots=True)
class Bound:
    """The five facts of 0-10's exchange.bound; all false is "yes, such a binding exists"."""

    exchange_not_found: bool
    queue_not_found: bool
    queue_not_matched: bool
    key_not_matched: bool
    args_not_matched: bool

    def __init__(
        self,
        *,
        exchange_not_found: bool = False,
        queue_not_found: bool = False,
        queue_not_matched: bool = False,
        key_not_matched: bool = False,
        args_not_matched: bool = False,
    ) -> None:
        self.exchange_not_found = exchange_not_found
        self.queue_not_found = queue_not_found
        self.queue_not_matched = queue_not_matched
        self.key_not_matched = key_not_matched
        self.args_not_matched = args_not_matched
