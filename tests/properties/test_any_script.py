"""After any script of verbs, turns, restarts and crashes the ledger balances.

And every message is in exactly one place: held in one queue once, or ended by exactly one record.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.bridge_world import Consumer, Producer, Session, World
from support.examples import examples
from support.remotes import FakeRelay, FakeRemote, FakeRules, FakeSource

from gateway.audit.schema import Reason
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.paging.away import AwayPage
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.queues.discipline import Discipline, FlowLimits
from gateway.bridge.queues.places import NO_PAGE, PAGE_MASK
from gateway.bridge.queues.queue import EVERYTHING, Queue
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import DeliverStatus, PublishStatus, SubscribeOptions
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    NO_PRIORITY,
    NO_TTL,
    REJECTED,
    RELEASED,
    Condition,
    Delivery,
    Flag,
    Message,
    Outcome,
    OutcomeKind,
    Refusal,
)

ELSEWHERE = Outcome(OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True)
OTHERS = Outcome(
    OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True, nor_to_owner=True
)
OUTCOMES = st.sampled_from(
    [ACCEPTED, ACCEPTED, REJECTED, RELEASED, MODIFIED_FAILED, ELSEWHERE, OTHERS]
)
QUEUES = st.sampled_from(["durable", "small", "brief", "shared"])
PAGED = st.sampled_from(["durable", "small", "brief", "shared", "spool"])
REMOTE = st.sampled_from(["far", "spool", "drop", "deep.1"])
KEYS = st.sampled_from(
    ["a", "a.b", "a.b.c", "durable", "small", "shared", "brief", "far", "spool", "drop", "deep.1"]
)
EXCHANGES = st.sampled_from(
    [
        *("", "", "", "amq.topic", "amq.topic", "amq.fanout", "amq.direct", "lost", "nowhere"),
        *("trades", "upstream.broker"),
    ]
)
FLOWING = Discipline(flow=FlowLimits(stop_count=1, resume_count=1))
ANSWERS = [DeliverStatus.TAKEN, DeliverStatus.BLOCKED, DeliverStatus.UNDELIVERABLE]
CREDIT = st.sampled_from([UNLIMITED, 1, 3])
SELDOM = st.integers(0, 4).map(lambda number: number == 4)


class OddBodies:
    """A `Filter`."""

    octets = 0

    def accepts(self, message: Message) -> bool:
        return len(message.payload) % 2 == 1


class Script(RuleBasedStateMachine):
    memory_octets = 0  # pages of queues go away when there is more

    def __init__(self) -> None:
        super().__init__()
        limits = BridgeLimits(
            messages_high=12,
            messages_low=6,
            messages_max=25,
            turn_deliveries=3,
            route_cache_max=2,
            memory_octets=self.memory_octets,
        )
        rules = FakeRules()
        self.remote: FakeRemote = rules.add("far", "deep.*")
        rules.add("spool", spool=True)
        rules.add("drop", on_rejected=2)
        rules.add_exchange("trades")
        rules.add_shadow("far", octets_max=4 * COPY_OCTETS)  # which nobody empties
        for name in ("shared", "brief"):
            rules.add_shadow(name, octets_max=4 * COPY_OCTETS, ttl_ms=20)
        self.world = World(limits=limits, rules=rules)
        self.producer = Producer()
        self.consumers: list[tuple[Session, Consumer, Subscription]] = []
        self.refused: set[FakeSource] = set()
        self.brought: dict[FakeSource, set[int]] = {}
        self.pending: set[int] = set()
        self.token = 0
        self.confirmed: set[int] = set()
        self._declare()

    def _declare(self) -> None:
        world = self.world
        host = world.host
        if host.topology.find_exchange("lost") is None:
            host.declaring.declare_exchange("dead", "fanout", durable=True)
            host.declaring.declare_exchange(
                "lost", "direct", durable=True, alternate_exchange="dead"
            )
        world.queue("durable", durable=True, alternate_exchange="dead")
        world.queue("small", max_count=4, alternate_exchange="amq.fanout", discipline=FLOWING)
        world.queue("shared", durable=True)
        world.queue("brief", auto_delete=True, alternate_exchange="dead")
        for queue, exchange, key in (
            ("shared", "dead", ""),
            ("small", "dead", ""),
            ("durable", "amq.topic", "a.#"),
            ("durable", "amq.topic", "#.b"),
            ("small", "amq.topic", "a.*"),
            ("brief", "amq.fanout", ""),
            ("shared", "amq.direct", "a"),
            ("far", "amq.topic", "a.#"),
            ("spool", "amq.fanout", ""),
            ("drop", "dead", ""),
            ("shared", "trades", "k"),
            ("far", "trades", "k"),
        ):
            assert host.bindings.bind(queue, exchange, key, {}, b"") is None

    @rule(
        exchange=EXCHANGES,
        key=KEYS,
        durable=st.booleans(),
        size=st.integers(0, 3),
        ttl_ms=st.sampled_from([NO_TTL, NO_TTL, 5, 100]),
        flags=st.sampled_from(
            [0, 0, 0, Flag.IMMEDIATE, Flag.TELL_UNROUTABLE, Flag.OUTCOMES, Flag.FILE, Flag.STREAM]
        ),
        priority=st.sampled_from([NO_PRIORITY, NO_PRIORITY, 0, 9]),
    )
    def publish(
        self,
        exchange: str,
        key: str,
        durable: bool,
        size: int,
        ttl_ms: int,
        flags: int,
        priority: int = NO_PRIORITY,
    ) -> None:
        self.token += 1
        message = self.world.message(
            b"x" * size,
            exchange=exchange,
            key=key,
            durable=durable,
            ttl_ms=ttl_ms,
            flags=flags,
            priority=priority,
        )
        published = self.world.host.publishing.publish(message, self.producer, self.token)
        if published.status == PublishStatus.PENDING:
            self.pending.add(self.token)

    @rule(
        queue=QUEUES,
        acquire=st.booleans(),
        settled=st.booleans(),
        chooses=st.booleans(),
        credit=CREDIT,
        answers=st.lists(st.sampled_from(ANSWERS), max_size=3),
    )
    def subscribe(
        self,
        queue: str,
        acquire: bool,
        settled: bool,
        chooses: bool,
        credit: int,
        answers: list[DeliverStatus],
    ) -> None:
        owner, consumer = self.world.owner(), Consumer()
        consumer.answers = list(answers)
        answer = self.world.host.subscribing.subscribe(
            queue,
            consumer,
            owner,
            SubscribeOptions(
                acquire=acquire, settled=settled, filter=OddBodies() if chooses else None
            ),
        )
        if isinstance(answer, Refusal):
            assert self.world.host.topology.find_queue(queue) is None
            return
        answer.grant(credit, UNLIMITED)
        self.consumers.append((owner, consumer, answer))

    @rule(queue=QUEUES)
    def consume(self, queue: str) -> None:
        self.subscribe(queue, True, False, False, UNLIMITED, [])

    @rule(key=QUEUES, durable=st.booleans())
    def send(self, key: str, durable: bool) -> None:
        for size in range(3):
            self.publish("", key, durable, size, NO_TTL, 0)

    @rule(queue=REMOTE, acquire=st.booleans(), settled=st.booleans(), credit=CREDIT)
    def subscribe_there(self, queue: str, acquire: bool, settled: bool, credit: int) -> None:
        self.subscribe(queue, acquire, settled, False, credit, [])

    @rule(
        pick=st.integers(0, 100),
        what=st.sampled_from(
            ["attach", "bring", "bring", "bring", "bring", "drained", "lost", "refuse"]
        ),
        ttl_ms=st.sampled_from([NO_TTL, NO_TTL, 5]),
        settled=SELDOM,
    )
    def upstream_link(self, pick: int, what: str, ttl_ms: int, settled: bool) -> None:
        """What the link of an inlet does."""
        if not self.remote.inlets:
            return
        inlet, source = self.remote.inlets[pick % len(self.remote.inlets)]
        if source in self.refused:
            return
        if what == "attach":
            inlet.on_attached()
        elif what == "bring":
            self.token += 1
            self.brought.setdefault(source, set()).add(self.token)
            message = self.world.message(
                b"xx", key=inlet.queue_name, ttl_ms=ttl_ms, durable=settled
            )
            inlet.receive(message, self.token, settled=settled)
            if settled:  # told or not, as it goes
                self.brought[source].discard(self.token)
        elif what == "drained":
            inlet.on_drained()
        elif what == "lost":
            self._forget(source)
            inlet.lost()
        elif not source.left:
            self._forget(source)
            self.refused.add(source)
            inlet.on_refused(Condition.RESOURCE_DELETED, "gone")

    def _forget(self, source: FakeSource) -> None:
        """What was brought and is over is told still, the rest perhaps not."""
        self.brought.pop(source, None)

    @rule(pick=st.integers(0, 100), durable=st.booleans())
    def upstream_feed(self, pick: int, durable: bool) -> None:
        if self.remote.feeds:
            feed, source = self.remote.feeds[pick % len(self.remote.feeds)]
            self.token += 1
            self.brought.setdefault(source, set()).add(self.token)
            feed.receive(self.world.message(b"f", key="k", durable=durable), self.token)

    @rule(outcome=OUTCOMES, pick=st.integers(0, 100), unknown=SELDOM)
    def upstream_decides(self, outcome: Outcome, pick: int, unknown: bool) -> None:
        relays = [relay for relay in self.remote.every_relay if self._unsettled(relay)]
        if relays:
            delivery = self._unsettled(relays[pick % len(relays)])[0]
            reason = Reason.UPSTREAM_LOST if unknown else Reason.NONE
            self.world.host.settlement.settle(
                delivery, MODIFIED_FAILED if unknown else outcome, reason
            )

    @rule(pick=st.integers(0, 100), answer=st.sampled_from(list(DeliverStatus)))
    def upstream_answers(self, pick: int, answer: DeliverStatus) -> None:
        relays = list(self.remote.relays.values())
        relay = relays[pick % len(relays)]
        if answer != DeliverStatus.UNDELIVERABLE:
            relay.answers.append(answer)
        relay.subscription.resume()

    def _unsettled(self, relay: FakeRelay) -> list[Delivery]:
        return [delivery for delivery in relay.deliveries if not delivery.settled]

    @rule(outcome=OUTCOMES)
    def settle_newest(self, outcome: Outcome) -> None:
        for delivery in reversed(self._open()[-3:]):
            self.world.host.settlement.settle(delivery, outcome)

    def _open(self) -> list[Delivery]:
        return [
            delivery
            for _, consumer, _ in self.consumers
            for delivery in consumer.deliveries
            if not delivery.settled
        ]

    @rule(outcome=OUTCOMES, pick=st.integers(0, 100), back=st.booleans())
    def settle(self, outcome: Outcome, pick: int, back: bool) -> None:
        deliveries = self._open()
        if deliveries:
            delivery = deliveries[pick % len(deliveries)]
            reason = Reason.SESSION_ENDED if back else Reason.NONE
            in_time = self.world.host.settlement.settle(delivery, outcome, reason)
            assert in_time or self._inbound(delivery)
            assert not self.world.host.settlement.settle(delivery, outcome)

    def _inbound(self, delivery: Delivery) -> bool:
        return any(inlet.queue.number == delivery.queue for inlet, _ in self.remote.inlets)

    @rule(pick=st.integers(0, 100))
    def acquire(self, pick: int) -> None:
        deliveries = self._open()
        if deliveries:
            self.world.host.settlement.acquire(deliveries[pick % len(deliveries)])

    @rule(
        pick=st.integers(0, 100),
        what=st.sampled_from(["add", "drain", "stop", "resume", "unlimited"]),
    )
    def flow(self, pick: int, what: str) -> None:
        if not self.consumers:
            return
        _, _, subscription = self.consumers[pick % len(self.consumers)]
        if what == "add":
            subscription.add(2, 3)
        elif what == "drain":
            subscription.drain()
        elif what == "stop":
            subscription.stop()
        elif what == "resume":
            subscription.resume()
        else:
            subscription.grant(UNLIMITED, UNLIMITED)

    @rule(pick=st.integers(0, 100), whole=st.booleans())
    def leave(self, pick: int, whole: bool) -> None:
        if not self.consumers:
            return
        owner, consumer, subscription = self.consumers[pick % len(self.consumers)]
        if not whole:
            subscription.cancel()
            return
        for delivery in consumer.deliveries:
            if not delivery.settled:
                self.world.host.settlement.settle(delivery, MODIFIED_FAILED, Reason.SESSION_ENDED)
        self.world.host.owners.release(owner)

    @rule(queue=QUEUES, seldom=SELDOM)
    def purge(self, queue: str, seldom: bool) -> None:
        if not seldom:
            return
        self.world.host.declaring.purge_queue(queue)

    @rule(queue=REMOTE, seldom=SELDOM)
    def delete_there(self, queue: str, seldom: bool) -> None:
        if seldom:
            self.world.host.declaring.delete_queue(queue)

    @rule(queue=QUEUES, seldom=SELDOM)
    def delete(self, queue: str, seldom: bool) -> None:
        if not seldom:
            return
        self.world.host.declaring.delete_queue(queue)

    @rule()
    def declare(self) -> None:
        self._declare()

    @rule(ms=st.integers(1, 60))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule()
    def turn(self) -> None:
        self.world.turn()

    @rule(commits=st.booleans())
    def set_committing(self, commits: bool) -> None:
        self.world.auto_commit = commits
        self.world.turn()

    @rule(seldom=SELDOM)
    def crash(self, seldom: bool) -> None:
        if not seldom:
            return
        self._again(self.world.crash)

    @rule(seldom=SELDOM)
    def restart(self, seldom: bool) -> None:
        if not seldom:
            return
        for _, consumer, _ in self.consumers:
            for delivery in consumer.deliveries:
                if not delivery.settled:
                    self.world.host.settlement.settle(delivery, MODIFIED_FAILED, Reason.STOPPING)
        for relay in self.remote.every_relay:
            for delivery in self._unsettled(relay):
                self.world.host.settlement.settle(delivery, MODIFIED_FAILED, Reason.UPSTREAM_LOST)
        self._again(self.world.restart)

    def _again(self, how: object) -> None:
        assert callable(how)
        how()
        self.consumers.clear()
        self.refused.clear()
        self.brought.clear()
        self.pending.clear()
        self._declare()

    @invariant()
    def totals_agree(self) -> None:
        queues: dict[int, Queue] = {
            queue.number: queue for queue in self.world.host.topology.queues.values()
        }
        for _, _, subscription in self.consumers:
            queues[subscription.queue.number] = subscription.queue
        for queue in self.world.host.nodes.in_front():
            queues[queue.number] = queue
        for relay in self.remote.every_relay:
            queues[relay.queue.number] = relay.queue
        for queue in self.world.host.settlement.lingering_queues():
            queues[queue.number] = queue
        pressure = self.world.bridge.pressure
        assert pressure.held == sum(queue.depth for queue in queues.values())
        assert pressure.payload == sum(queue.octets for queue in queues.values())

    @invariant()
    def whoever_is_withheld_has_a_copy_in_a_queue_that_is_stopped(self) -> None:
        for queue in self.world.host.topology.queues.values():
            flow = queue.flow
            if flow is not None:
                assert flow.stopped or not flow.withheld
                assert all(queue.holds(position) for position in flow.withheld)

    @invariant()
    def whoever_can_take_a_message_has_none_waiting(self) -> None:
        self.world.turn()
        for _, consumer, subscription in self.consumers:
            if self._idle(subscription):
                queue = subscription.queue
                waiting = queue.places.next_at(0)
                while waiting is not None:
                    excluded = waiting.excluded or set()
                    chosen = subscription.filter is None or len(waiting.message.payload) % 2
                    kept = {subscription.number, -subscription.owner.owner_id()} & excluded
                    assert waiting.holder or kept or not chosen, (
                        "a copy waits although a consumer has credit"
                    )
                    waiting = queue.places.next_at(waiting.position + 1)
                passed = subscription.filter is not None or queue.choosy or waiting is not None
                seen = passed or queue.places.missed == NO_PAGE
                assert seen or not self.world.auto_commit, "it waits for a page, and none comes"
            del consumer

    def _idle(self, subscription: Subscription) -> bool:
        return (
            subscription.acquire
            and not subscription.cancelled
            and not subscription.blocked
            and subscription.credit != 0
            and subscription.allowance.octets == UNLIMITED
            and subscription.queue.rows.safe_after <= self.world.bridge.turns.safe
        )

    def teardown(self) -> None:
        self.world.auto_commit = True
        self.world.commit()
        self.world.check()
        pressure = self.world.bridge.pressure
        told = {token for token, _ in self.producer.published}
        tickets = self.world.bridge.copies.tickets
        if not pressure.high and not tickets.open and not tickets.withheld:
            assert self.pending <= told
        assert len(self.producer.published) == len(told)
        for _, source in [*self.remote.inlets, *self.remote.feeds]:
            heard = [token for token, _ in source.published]
            assert len(heard) == len(set(heard))
        self._everything_ends()

    def _everything_ends(self) -> None:
        """When clients and upstreams accept everything, everybody hears of everything."""
        for _, _, subscription in self.consumers:
            subscription.cancel()
        for _ in range(100):
            self.world.turn()
            waiting = self._open()
            for relay in self.remote.every_relay:
                relay.answers.clear()
                relay.subscription.resume()
                waiting += self._unsettled(relay)
            for delivery in waiting:
                self.world.host.settlement.settle(delivery, ACCEPTED)
            if not waiting and not self.world.bridge.copies.tickets.waiting:
                break
        self.world.bridge.drain()  # nobody waits any more for what stays in queues
        self.world.turn()
        assert self.world.bridge.copies.tickets.waiting == 0
        assert self.world.bridge.copies.tickets.withheld == 0
        if not self.world.bridge.pressure.high:
            assert self.pending <= {token for token, _ in self.producer.published}
        for source, tokens in self.brought.items():
            assert tokens <= {token for token, _ in source.published}
        self.world.check()


Script.TestCase.settings = settings(
    max_examples=examples(250), stateful_step_count=40, deadline=None
)
TestScript = Script.TestCase


class PagedScript(Script):
    """The same where pages have few copies, and go to the disk as soon as they can."""

    memory_octets = 1

    def _declare(self) -> None:
        paging = self.world.bridge.paging
        paging.near, paging.patience = 1, 3
        if self.world.host.topology.find_queue("shared") is None:
            self.world.queue("shared", durable=True, discipline=Discipline(levels=2))
        super()._declare()

    @rule(full=SELDOM)
    def disk(self, full: bool) -> None:
        self.world.disk.full = full

    @rule(queue=PAGED)
    def next_page(self, queue: str) -> None:
        """What comes next is in another page."""
        found = self.world.host.topology.find_queue(queue)
        if found is not None and found.behind == EVERYTHING:
            found.next_position += PAGE_MASK - (found.next_position & PAGE_MASK) + 1

    @rule(queue=PAGED, durable=st.booleans())
    def send_pages(self, queue: str, durable: bool) -> None:
        for size in range(5):
            self.publish("", queue, durable, size, NO_TTL, 0)
            self.next_page(queue)

    @invariant()
    def what_is_away_is_on_disk_or_in_the_log(self) -> None:
        for queue in self.world.host.topology.queues.values():
            for page in queue.places.ahead(0, queue.places.pages):
                away = page.away
                assert isinstance(away, AwayPage | None)
                if away is not None:
                    assert (
                        away.logged if away.spot is None else away.spot[0] in self.world.disk.pages
                    )

    def on_looked_up(self, token: int, answer: object) -> None:
        """A queue is empty."""

    def _everything_ends(self) -> None:
        super()._everything_ends()
        queues = self.world.host.topology.queues.values()
        for queue in queues:
            if not self.world.host.settlement.clearing.purge(queue, self, 0):
                self.world.host.declaring.purge_queue(queue.name)
        self.world.turn()
        assert self.world.disk.pages == {} or any(queue.depth for queue in queues)


PagedScript.TestCase.settings = settings(
    max_examples=examples(250), stateful_step_count=40, deadline=None
)
TestPagedScript = PagedScript.TestCase


def test_a_copy_that_a_relay_holds_of_a_deleted_spool_ends_after_a_crash() -> None:
    script = Script()
    script.publish(durable=True, exchange="amq.fanout", key="a", flags=0, size=0, ttl_ms=NO_TTL)
    script.whoever_can_take_a_message_has_none_waiting()
    script.delete_there("spool", True)
    script.whoever_can_take_a_message_has_none_waiting()
    for _ in range(2):
        script.crash(True)
        script.whoever_can_take_a_message_has_none_waiting()
    script.teardown()
