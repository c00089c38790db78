"""Upstreams faked: node rules, a `Remote`, its `Source`s, and the relay that serves a queue."""

from __future__ import annotations

from gateway.audit.digests import digest
from gateway.audit.schema import Reason
from gateway.audit.shares import share_of
from gateway.bridge.bridge import Bridge
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.remote.remote import Feed, Inlet, LookUpWaiter, OnRejected, Placement, Work
from gateway.bridge.remote.shadows import Shadowing
from gateway.bridge.seams import DeliverStatus, Publisher
from gateway.message import MODIFIED_FAILED, Condition, Delivery, Outcome, Refusal
from gateway.wire.tagged import Tagged


class FakeSource:
    """A `Source` that remembers what it was told."""

    def __init__(self) -> None:
        self.published: list[tuple[int, Outcome]] = []
        self.credits = 0
        self.left = 0
        self.moved = 0

    def on_published(self, token: int, outcome: Outcome) -> None:
        self.published.append((token, outcome))

    def on_credit(self) -> None:
        self.credits += 1

    def on_left(self) -> None:
        self.left += 1

    def on_moved(self) -> None:
        self.moved += 1


class FakeFeedSource(FakeSource):
    """A `FeedSource`: nobody waits for it unless its remote feeds late."""

    def __init__(self, remote: FakeRemote) -> None:
        super().__init__()
        self.remote = remote

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        if self.remote.feeds_late:
            self.remote.waiters.append((waiter, token))
        return self.remote.feeds_late


class FakeRelay:
    """The `Outlet` and `Owner` that serves a queue; `answers` are used up first, then `TAKEN`."""

    def __init__(self, bridge: Bridge, queue: Queue) -> None:
        self.bridge = bridge
        self.queue = queue
        self.number = bridge.numbers.next_owner()
        self.deliveries: list[Delivery] = []
        self.answers: list[DeliverStatus] = []
        self.why = Refusal(Condition.MESSAGE_SIZE_EXCEEDED, "too large")
        self.cancelled: list[Condition] = []
        self.subscription: Subscription = bridge.hosts[queue.host].subscribing.relay(
            queue, self, self
        )
        self.subscription.grant(UNLIMITED, UNLIMITED)

    def owner_id(self) -> int:
        return self.number

    def connection_id(self) -> int:
        return 0

    def user(self) -> str:
        return ""

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        answer = self.answers.pop(0) if self.answers else DeliverStatus.TAKEN
        if answer == DeliverStatus.TAKEN:
            delivery.body_digest = digest(delivery.message.body())
            self.deliveries.append(delivery)
        return answer

    def refusal(self) -> Refusal:
        return self.why

    def on_attached(self) -> None:
        raise AssertionError("a relay's queue is here")

    def on_drained(self) -> None:
        raise AssertionError("a relay does not drain")

    def on_cancelled(self, condition: Condition, description: str) -> None:
        self.cancelled.append(condition)

    def take(self) -> list[Delivery]:
        taken, self.deliveries = self.deliveries, []
        return taken


class FakeBranch:
    """A transaction that was asked for; whoever plays the upstream calls its `work`."""

    txn_id = b"t"

    def __init__(self, work: Work) -> None:
        self.work = work
        self.keeps = True  # the deliveries that are retired in it
        self.retired: list[int] = []
        self.discharged: list[bool] = []
        self.given_up = False

    def retire(self, source: Publisher, token: int, outcome: Outcome) -> bool:
        self.retired.append(token)
        return self.keeps

    def give_up(self) -> None:
        self.given_up = True

    def discharge(self, *, fail: bool) -> None:
        assert not self.discharged
        self.discharged.append(fail)


class FakeRemote:
    """A `Remote`: relays by queue name, inlets and feeds with their sources, in order."""

    def __init__(self, name: str = "broker") -> None:
        self.given_name = name
        self.bridge: Bridge | None = None
        self.begin(None)

    def begin(self, bridge: Bridge | None) -> None:
        self.bridge = bridge
        self.relays: dict[str, FakeRelay] = {}
        self.every_relay: list[FakeRelay] = []
        self.inlets: list[tuple[Inlet, FakeSource]] = []
        self.feeds: list[tuple[Feed, FakeSource]] = []
        self.unserved: list[str] = []
        self.abandoned: list[str] = []
        self.stops_relays = False
        self.asked: list[tuple[str, str]] = []
        self.transactional = True
        self.branches: list[FakeBranch] = []
        self.answer: Refusal | None = None
        self.unfed: Refusal | None = None
        self.looks_up = True
        self.reachable = True
        self.feeds_late = False
        self.waiters: list[tuple[LookUpWaiter, int]] = []

    @property
    def name(self) -> str:
        return self.given_name

    def begin_transaction(self, work: Work) -> FakeBranch:
        branch = FakeBranch(work)
        self.branches.append(branch)
        return branch

    def serve(self, queue: Queue) -> None:
        assert self.bridge is not None
        self.relays[queue.name] = FakeRelay(self.bridge, queue)
        self.every_relay.append(self.relays[queue.name])

    def unserve(self, queue: Queue) -> None:
        self.unserved.append(queue.name)
        if self.stops_relays:
            self.relays.pop(queue.name).subscription.cancel()

    def abandon(self, queue: Queue) -> None:
        self.abandoned.append(queue.name)
        assert self.bridge is not None
        relay = self.relays.pop(queue.name)
        for delivery in relay.take():
            if not delivery.settled:
                self.bridge.hosts[queue.host].settlement.settle(
                    delivery, MODIFIED_FAILED, Reason.UPSTREAM_LOST
                )
        relay.subscription.cancel()

    def open(self, inlet: Inlet) -> FakeSource:
        source = FakeSource()
        self.inlets.append((inlet, source))
        return source

    def can_feed(
        self, host: str, exchange: str, queue: str, key: str, arguments: dict[str, Tagged]
    ) -> Refusal | None:
        return self.unfed

    def feed(self, feed: Feed) -> FakeFeedSource:
        source = FakeFeedSource(self)
        self.feeds.append((feed, source))
        return source

    def reach(self, queue: Queue, waiter: LookUpWaiter, token: int) -> bool:
        if self.reachable:
            return False
        self.waiters.append((waiter, token))
        return True

    def look_up(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> bool:
        self.waiters.append((waiter, token))
        return self.looks_up

    def delete(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        return self._ask("delete", queue, waiter, token)

    def purge(self, host: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        return self._ask("purge", queue, waiter, token)

    def _ask(self, what: str, queue: str, waiter: LookUpWaiter, token: int) -> Refusal | None:
        self.asked.append((what, queue))
        if self.answer is None:
            self.waiters.append((waiter, token))
        return self.answer


class FakeRules:
    """`Placements`: queues and exchanges by name, or by prefix when it ends with a star."""

    def __init__(self) -> None:
        self.remotes: dict[str, FakeRemote] = {}
        self.queue_rules: dict[str, Placement] = {}
        self.exchange_rules: dict[str, Placement] = {}
        self.shadow_rules: dict[str, Shadowing] = {}

    def begin(self, bridge: Bridge) -> None:
        for remote in self.remotes.values():
            remote.begin(bridge)

    def add(self, *names: str, spool: bool = False, on_rejected: int = 0) -> FakeRemote:
        """Queues of the one upstream."""
        remote = self.remotes.setdefault("broker", FakeRemote())
        for name in names:
            self.queue_rules[name] = Placement(
                remote, spool=spool, on_rejected=OnRejected(on_rejected)
            )
        return remote

    def add_exchange(self, name: str) -> FakeRemote:
        remote = self.remotes.setdefault("broker", FakeRemote())
        self.exchange_rules[name] = Placement(remote)
        return remote

    def add_shadow(
        self,
        queue: str,
        *,
        upstream: str = "new",
        way: str = "",
        share: float = 1.0,
        octets_max: int = 1 << 20,
        ttl_ms: int = 0,
        mark: bytes = b"",
    ) -> FakeRemote:
        remote = self.remotes.setdefault(upstream, FakeRemote(upstream))
        self.shadow_rules[queue] = Shadowing(
            Placement(remote, spool=True, on_rejected=OnRejected.DROP, way=way),
            share=share_of(share),
            octets_max=octets_max,
            ttl_ms=ttl_ms,
            mark=mark,
        )
        return remote

    def shadow(self, host: str, name: str) -> Shadowing | None:
        return self.shadow_rules.get(name)

    def queue(self, host: str, name: str) -> Placement | None:
        return _found(self.queue_rules, name)

    def exchange(self, host: str, name: str) -> Placement | None:
        return _found(self.exchange_rules, name)

    def queues(self, host: str) -> list[str]:
        return [name for name in self.queue_rules if not name.endswith("*")]


def _found(rules: dict[str, Placement], name: str) -> Placement | None:
    for pattern, placement in rules.items():
        if pattern == name or (pattern.endswith("*") and name.startswith(pattern[:-1])):
            return placement
    return None
