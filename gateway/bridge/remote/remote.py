"""What the bridge and an upstream are to one another: where nodes live, and links to them.

A *placement* says that a queue or an exchange of the gateway is a node of an upstream. The bridge
keeps nothing for such a node but what is on its way: a *transit queue* in front of the upstream,
whose publishers hear of the end of each copy and not of its beginning, and one behind it for each
subscription. Everything that the bridge does for a queue - order, credit, settlement, the ledger -
it does for these, too. What speaks to the upstream is a face, behind `Remote` and `Source`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.seams import KeptThere, Publisher
from gateway.message import Condition, Message, Outcome, Refusal, UpstreamTransaction
from gateway.wire.tagged import Tagged

if TYPE_CHECKING:
    from gateway.bridge.queues.queue import Queue
    from gateway.bridge.remote.shadows import Shadowing


REJECTED_QUEUE: Final = "gateway.rejected"


class OnRejected(IntEnum):
    """What becomes of a copy that the upstream rejected and whose publisher did not ask."""

    DEAD_LETTER = 0  # to the queue of dead letters, `Placement.dead_letters`
    EXCEPTION = 1  # its publisher hears of it as an exception
    DROP = 2  # counted


class Target(IntEnum):
    """Which address of the upstream the copies of a transit queue go to."""

    QUEUE = 0  # that of the queue: `Queue.name`
    EXCHANGE = 1  # that of the exchange and the key of each message (`Queue.name`: the exchange)
    ADDRESS = 2  # the routing key of each message is the address
    SHADOW = 3  # that of the shadow of the queue `Queue.name`


class Source(Protocol):
    """A link from an upstream node, as the bridge sees it: it feeds an `Inlet` or a `Feed`.

    It is the `Publisher` of what it brings: `on_published(token, outcome)` tells how each copy
    ended, which is what the upstream is to be told. None of these calls a verb of the bridge.
    """

    def on_published(self, token: int, outcome: Outcome) -> None:
        """The copy that was received with `token` has ended; what that made durable is safe."""

    def on_credit(self) -> None:
        """`wanted()` or `draining` may have changed: look at the end of the turn."""

    def on_left(self) -> None:
        """Nobody wants messages of this link any more; what is unsettled still gets its outcome."""

    def on_moved(self) -> None:
        """The node lives elsewhere now: nobody wants messages of this link any more.

        What is unsettled still gets its outcome. What a durable subscription has, stays.
        """


class LookUpWaiter(Protocol):
    """Whoever asked whether a node exists."""

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """It is, or why not."""


class FeedSource(Source, Protocol):
    """A link from an exchange's node: it feeds a `Feed`."""

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether the subscription is made; `False`: it is, or nobody knows now.

        `on_looked_up` follows, not from inside, without a refusal, and also when the upstream does
        not answer soon, or does not want it.
        """


class Branch(Protocol):
    """A transaction at an upstream, which was asked for, and has begun with `Work.on_begun`."""

    @property
    def txn_id(self) -> bytes:
        """By what name it goes at the upstream."""

    def give_up(self) -> None:
        """Nobody wants it any more, and it has not begun: nothing more is told of it."""

    def retire(self, source: Publisher, token: int, outcome: Outcome) -> bool:
        """End in it what a `Source` received with `token`; `False`: its link has gone.

        Once it is committed the copy ends so, and the source is told, as always.
        """

    def discharge(self, *, fail: bool) -> None:
        """End it: commit, or roll back; `Work.on_discharged` or `on_lost` follows."""


class Work(UpstreamTransaction, Protocol):
    """What is to be done in a transaction at an upstream: told how it stands with that.

    Each delivery of a copy that belongs to it says so; it is sent in it, and stays unsettled until
    its end.
    """

    def on_begun(self) -> None:
        """The transaction has begun."""

    def on_discharged(self, refusal: Refusal | None) -> None:
        """It is done, or why it was rolled back."""

    def on_lost(self, refusal: Refusal) -> None:
        """There is none, or not any more; what a discharge under way did is not known."""


class Inlet(Protocol):
    """One subscription to a remote queue: what a link from the queue's node (a `Source`) feeds."""

    @property
    def host(self) -> str:
        """The virtual host of the queue."""

    @property
    def queue_name(self) -> str:
        """The queue whose node it is."""

    @property
    def node(self) -> int:
        """The audit log's number of what has come and has not ended."""

    @property
    def link(self) -> int:
        """The number of what it brings, in the audit log."""

    @property
    def acquire(self) -> bool:
        """Takes messages; otherwise the link is to bring copies."""

    @property
    def settled(self) -> bool:
        """Deliveries to the client are settled as they are sent."""

    @property
    def wants_settled(self) -> bool:
        """They may come settled, too: the rule of the queue says so."""

    @property
    def selector(self) -> str:
        """What the upstream is to select by; "": nothing."""

    @property
    def no_local(self) -> bool:
        """The upstream is to keep out what came by the same connection."""

    @property
    def kept_there(self) -> KeptThere | None:
        """Not to a queue, but a durable subscription that the upstream keeps."""

    @property
    def established(self) -> bool:
        """The client was told once that its subscription is in force."""

    @property
    def draining(self) -> bool:
        """The upstream is to send what it has, and say when that was all."""

    def wanted(self) -> int:
        """The link-credit that the link should have now."""

    def is_handing_over(self) -> bool:
        """Whether nothing is wanted only because what came has not been sent to the client."""

    def on_attached(self) -> None:
        """The link is attached, for the first time or again."""

    def on_refused(self, condition: Condition, description: str) -> None:
        """The upstream does not have the node (any more): the subscription ends."""

    def receive(self, message: Message, token: int, *, settled: bool = False) -> None:
        """A message has come; `Source.on_published` tells with `token` how it ended.

        `settled`: the upstream has forgotten it, unless it was a copy for a browser.
        """

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further; what its link says of it is its own affair."""

    def on_settled(self, tokens: set[int], *, taken_back: bool) -> None:
        """The upstream has settled before the client: what it has not taken back is the gateway's.

        It will hear nothing of these; what the client has of them, it will settle too late.
        """

    def on_drained(self) -> None:
        """The upstream has nothing more: when what came is sent, the drain is done."""

    def lost(self) -> None:
        """The link is gone, and the upstream has back what was not settled."""


class Feed(Protocol):
    """A binding of a queue to a remote exchange: what a link from the exchange's node feeds."""

    @property
    def host(self) -> str:
        """The virtual host of queue and exchange."""

    @property
    def exchange(self) -> str:
        """The exchange whose node it is."""

    @property
    def key(self) -> str:
        """The binding key."""

    @property
    def arguments(self) -> dict[str, Tagged]:
        """Of the binding, in neutral kinds."""

    @property
    def encoded(self) -> bytes:
        """The arguments as they came."""

    @property
    def queue_name(self) -> str:
        """Where the messages go."""

    @property
    def node(self) -> int:
        """The audit log's number of the queue."""

    @property
    def link(self) -> int:
        """The number of what it brings, in the audit log."""

    @property
    def durable(self) -> bool:
        """What the exchange routes while no link is attached is to be kept at the upstream."""

    def wanted(self) -> int:
        """The link-credit that the link should have now."""

    def receive(self, message: Message, token: int) -> None:
        """A message has come; `Source.on_published` tells with `token` how it ended."""

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further; what its link says of it is its own affair."""


class Remote(Protocol):
    """One upstream. Every call returns at once; answers come as calls."""

    @property
    def name(self) -> str:
        """Its key under `upstreams` in the configuration."""

    @property
    def transactional(self) -> bool:
        """Whether it offers transactions."""

    def begin_transaction(self, work: Work) -> Branch:
        """Begin a transaction at it; `on_begun` or `on_lost` follows, not from inside."""

    def serve(self, queue: Queue) -> None:
        """Send what is in `queue` to its node from now on: subscribe by `Subscribing.relay`."""

    def unserve(self, queue: Queue) -> None:
        """Send nothing more from `queue`: the relay is cancelled once what is under way ended."""

    def abandon(self, queue: Queue) -> None:
        """Send nothing more from `queue`, and cancel the relay at once.

        What is under way goes back to the queue: what became of it is not known.
        """

    def open(self, inlet: Inlet) -> Source:
        """Open a link from the node of `inlet`, now or when the upstream is connected.

        `inlet.on_attached` or `inlet.on_refused` follows, never from inside this call.
        """

    def can_feed(
        self, host: str, exchange: str, queue: str, key: str, arguments: dict[str, Tagged]
    ) -> Refusal | None:
        """Why no link from the exchange's node could feed such a binding, as far as is known."""

    def feed(self, feed: Feed) -> FeedSource:
        """Open a link from an exchange's node for one binding: a subscription at the upstream."""

    def look_up(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether the queue's node exists; `False`: taken to exist, no answer will come."""

    def reach(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        """Ask whether what is in `queue` can be sent; `False`: it can, or nobody knows now.

        It was to be served before. `on_looked_up` follows, not from inside, and without a refusal
        also when the upstream does not answer soon.
        """

    def delete(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """Delete the node: `on_looked_up` follows, not from inside, if that can be tried at all."""

    def purge(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        """Empty the node, in the same way."""


@final
class Placement:
    """Where a node lives.

    Attributes:
        remote: the upstream.
        spool: of a queue: what is published is stored by the gateway first, and sent on.
        on_rejected: what becomes of a rejected copy whose publisher did not ask.
        max_redeliveries: released or modified that often, a copy is taken to be rejected; `None`:
            as the upstream's settings say.
        way: what gives its nodes other addresses than another placement has, if it differs.
        paused: the rule says so: nothing is sent to the upstream and nothing wanted from it.
        held: the same, while the nodes are about to move.
        takers: where subscriptions take from while what its queues hold is carried to there;
            `None`: from the upstream.
        settled: of a queue: subscriptions without acceptance ask for settled deliveries.
        dead_letters: the queue for what is rejected; that of the gateway, or a remote one.
    """

    __slots__ = (
        "dead_letters",
        "held",
        "max_redeliveries",
        "on_rejected",
        "paused",
        "remote",
        "settled",
        "spool",
        "takers",
        "way",
    )

    def __init__(
        self,
        remote: Remote,
        *,
        spool: bool = False,
        on_rejected: OnRejected = OnRejected.DEAD_LETTER,
        max_redeliveries: int | None = None,
        way: str = "",
        paused: bool = False,
        settled: bool = False,
        dead_letters: str = REJECTED_QUEUE,
    ) -> None:
        self.remote = remote
        self.spool = spool
        self.on_rejected = on_rejected
        self.max_redeliveries = max_redeliveries
        self.way = way
        self.paused = paused
        self.held = False
        self.takers: Placement | None = None
        self.settled = settled
        self.dead_letters = dead_letters

    @property
    def rests(self) -> bool:
        """Nothing new is to go to the upstream or to come from it."""
        return self.paused or self.held

    def same_node(self, other: Placement) -> bool:
        """Whether a node with either of them is the same one, kept in the same way."""
        return self.remote is other.remote and self.way == other.way and self.spool == other.spool


class Placements(Protocol):
    """The node rules: which nodes of which virtual host are remote. Everything else is local."""

    def queue(self, host: str, name: str) -> Placement | None:
        """Where the queue `name` lives; `None`: at the gateway."""

    def exchange(self, host: str, name: str) -> Placement | None:
        """Where the exchange `name` lives; `None`: at the gateway."""

    def shadow(self, host: str, name: str) -> Shadowing | None:
        """The shadow of the queue `name`, wherever it lives; `None`: it has none."""

    def queues(self, host: str) -> list[str]:
        """Remote queues that are named one by one: they are there from the start."""
