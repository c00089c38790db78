"""After any script of transactions, local or at an upstream, the ledger balances.

And a transaction is done as one or not at all: of what was published in it, all or nothing entered.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from support.bridge_world import Consumer, World
from support.examples import examples
from support.remotes import FakeBranch, FakeRules

from gateway.audit.schema import Kind
from gateway.audit.schema import Outcome as AuditOutcome
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import PublishStatus, SubscribeOptions
from gateway.bridge.transaction import Transaction
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    NO_TTL,
    REJECTED,
    Condition,
    Delivery,
    Outcome,
    OutcomeKind,
    Refusal,
)

LOST = Refusal(Condition.INTERNAL_ERROR, "lost")
KEYS = st.sampled_from(["durable", "small", "far", "further", "spool", "all", "none"])
PICK = st.integers(0, 100)


class Commits:
    """A `Publisher` of commits: what became of those that were waited for."""

    def __init__(self) -> None:
        self.told: dict[int, OutcomeKind] = {}

    def on_published(self, token: int, outcome: Outcome) -> None:
        assert token not in self.told
        self.told[token] = outcome.kind


class Script(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        rules = FakeRules()
        self.remote = rules.add("far", "further")
        rules.add("spool", spool=True)
        for name in ("far", "durable"):
            rules.add_shadow(name, octets_max=1 << 12)
        limits = BridgeLimits(messages_high=12, messages_low=6, transaction_octets_max=2_000)
        self.world = World(limits=limits, rules=rules)
        host = self.world.host
        self.world.queue("durable", durable=True)
        self.world.queue("small", max_count=3)
        for queue in ("durable", "small"):
            host.bindings.bind(queue, "amq.direct", "all", {}, b"")
        self.open: list[tuple[Transaction, list[Delivery]]] = []
        self.commits = Commits()
        self.pending: set[int] = set()
        self.branches: list[FakeBranch] = []
        self.publishers = Commits()
        self.waiting: set[int] = set()  # messages whose publishers wait
        self.consumers: list[Consumer] = []
        self.taken: set[int] = set()  # by identity: to be accepted in a transaction
        self.published: dict[int, set[int]] = {}  # messages by transaction

    @rule()
    def begin(self) -> None:
        if len(self.open) < 3:
            self.open.append((self.world.host.transacting.begin(1), []))

    @rule(pick=PICK, key=KEYS, durable=st.booleans(), ttl_ms=st.sampled_from([NO_TTL, NO_TTL, 5]))
    def publish(self, pick: int, key: str, durable: bool, ttl_ms: int) -> None:
        exchange = "amq.direct" if key == "all" else ""
        message = self.world.message(
            b"x", exchange=exchange, key=key, durable=durable, ttl_ms=ttl_ms
        )
        transaction = self.open[pick % len(self.open)][0] if self.open else None
        publisher = None if transaction is None else self.publishers
        host = self.world.host
        if transaction is None:
            answer = host.publishing.publish(message, publisher, message.id)
        else:
            answer = host.transacting.publish(transaction, message, publisher, message.id)
        if transaction is not None:
            assert (answer.status == PublishStatus.PENDING) <= (transaction.remote is not None)
            if answer.status == PublishStatus.PENDING:
                self.waiting.add(message.id)
            if answer.status in (PublishStatus.DONE, PublishStatus.PENDING):
                self.published.setdefault(transaction.number, set()).add(message.id)

    @rule(queue=st.sampled_from(["durable", "small", "far", "spool"]))
    def subscribe(self, queue: str) -> None:
        consumer = Consumer()
        answer = self.world.host.subscribing.subscribe(
            queue,
            consumer,
            self.world.owner(),
            SubscribeOptions(),
        )
        if isinstance(answer, Subscription):
            answer.grant(UNLIMITED, UNLIMITED)
            self.consumers.append(consumer)

    @rule(pick=PICK, lost=st.integers(0, 5).map(lambda number: number == 5))
    def bring(self, pick: int, lost: bool) -> None:
        if self.remote.inlets:
            inlet, _ = self.remote.inlets[pick % len(self.remote.inlets)]
            inlet.on_attached()
            if lost:
                inlet.lost()
            else:
                inlet.receive(self.world.message(b"b", key=inlet.queue_name), pick)

    def _free(self) -> list[Delivery]:
        return [
            delivery
            for consumer in self.consumers
            for delivery in consumer.deliveries
            if not delivery.settled and id(delivery) not in self.taken
        ]

    @rule(pick=PICK, which=PICK)
    def accept(self, pick: int, which: int) -> None:
        free = self._free()
        if not free:
            return
        delivery = free[which % len(free)]
        if not self.open:
            self.world.host.settlement.settle(delivery, ACCEPTED)
            return
        transaction, deliveries = self.open[pick % len(self.open)]
        if self.world.host.transacting.enlist(transaction, [delivery]) is None:
            deliveries.append(delivery)
            self.taken.add(id(delivery))

    @rule(pick=PICK)
    def commit(self, pick: int) -> None:
        if not self.open:
            return
        transaction, deliveries = self.open.pop(pick % len(self.open))
        number = transaction.number
        answer = self.world.host.transacting.commit(transaction, deliveries, self.commits, number)
        if answer.status == PublishStatus.PENDING:
            self.pending.add(number)
        elif answer.status == PublishStatus.REFUSED:
            self.taken.difference_update(map(id, deliveries))

    @rule(pick=PICK)
    def roll_back(self, pick: int) -> None:
        if self.open:
            transaction, deliveries = self.open.pop(pick % len(self.open))
            self.world.host.transacting.rollback(transaction)
            self.taken.difference_update(map(id, deliveries))

    @rule(keeps=st.integers(0, 4).map(lambda number: number < 4), there=st.booleans())
    def upstream_begins(self, keeps: bool, there: bool) -> None:
        if not self.remote.branches:
            return
        branch = self.remote.branches.pop(0)
        if branch.given_up:
            return
        branch.keeps = keeps
        if there:
            self.branches.append(branch)
            branch.work.on_begun()
        else:
            branch.work.on_lost(LOST)

    @rule(outcome=st.sampled_from([ACCEPTED, ACCEPTED, ACCEPTED, REJECTED, MODIFIED_FAILED]))
    def upstream_decides(self, outcome: Outcome) -> None:
        for relay in self.remote.relays.values():
            for delivery in relay.take():
                if delivery.transaction is None or delivery.settled:
                    self.world.host.settlement.settle(delivery, ACCEPTED)
                else:
                    delivery.transaction.on_presumed(delivery, outcome)

    @rule(what=st.sampled_from(["done", "done", "done", "refused", "lost"]), pick=PICK)
    def upstream_ends(self, what: str, pick: int) -> None:
        if not self.branches:
            return
        branch = self.branches[pick % len(self.branches)]
        if what == "lost":
            self.branches.remove(branch)
            branch.work.on_lost(LOST)
        elif branch.discharged:
            self.branches.remove(branch)
            branch.work.on_discharged(None if what == "done" else LOST)

    @rule(queue=st.sampled_from(["small", "far"]), seldom=st.integers(0, 9))
    def delete(self, queue: str, seldom: int) -> None:
        if seldom == 9:
            self.world.host.declaring.delete_queue(queue)
            if queue == "small":
                self.world.queue("small", max_count=3)

    @rule()
    def turn(self) -> None:
        self.world.turn()

    @rule(ms=st.integers(1, 20))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule(seldom=st.integers(0, 9))
    def crash(self, seldom: int) -> None:
        if seldom == 9:
            self.world.turn()
            self.world.crash()
            self.open.clear()
            self.pending.clear()
            self.waiting.clear()
            self.branches.clear()
            self.consumers.clear()
            self.taken.clear()
            if self.world.host.topology.find_queue("small") is None:
                self.world.queue("small", max_count=3)

    def teardown(self) -> None:
        """Whoever has begun something ends it; then all of it is in the ledger."""
        while self.open:
            self.roll_back(0)
        while self.remote.branches:
            self.upstream_begins(True, True)
        for _ in range(3):
            self.world.turn()
            self.upstream_decides(ACCEPTED)
        for branch in self.branches:
            branch.work.on_lost(LOST)
        for _ in range(3):
            self.world.turn()
            for consumer in self.consumers:
                for delivery in consumer.take():
                    if not delivery.settled:
                        self.world.host.settlement.settle(delivery, ACCEPTED)
            self.upstream_decides(ACCEPTED)
        self.world.turn()
        assert self.pending <= set(self.commits.told)
        assert self.waiting <= set(self.publishers.told)
        self.world.check()
        self._check_wholeness()

    def _check_wholeness(self) -> None:
        ended: dict[tuple[int, int], set[int]] = {}
        for record in self.world.blocks.raw():
            if record["kind"] in (Kind.ENTERED, Kind.ROLLED_BACK) and record["transaction"]:
                key = (int(record["kind"]), int(record["transaction"]))
                ended.setdefault(key, set()).add(int(record["message"]))
        outcomes = {
            int(record["transaction"]): int(record["outcome"])
            for record in self.world.blocks.raw()
            if record["kind"] == Kind.TRANSACTION
        }
        settled: dict[int, set[int]] = {}
        for record in self.world.blocks.raw():
            if record["kind"] == Kind.SETTLED and record["transaction"]:
                settled.setdefault(int(record["transaction"]), set()).add(int(record["outcome"]))
        for number, outcome in outcomes.items():
            how = AuditOutcome.ACCEPTED if outcome == AuditOutcome.COMMITTED else outcome
            assert settled.get(number, set()) <= {how, AuditOutcome.MODIFIED}
            entered = ended.get((int(Kind.ENTERED), number), set())
            dropped = ended.get((int(Kind.ROLLED_BACK), number), set())
            if outcome == AuditOutcome.COMMITTED:
                assert not dropped
            assert not entered & dropped


TestAnyTransaction = Script.TestCase
TestAnyTransaction.settings = settings(
    max_examples=examples(60), stateful_step_count=40, deadline=None
)
