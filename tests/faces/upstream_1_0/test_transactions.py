"""Transactions at an upstream: declared, filled, discharged; and what its loss does to them."""

import pytest
from support.rules import rule
from support.upstream_world import COORDINATOR, UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0._spec import Accepted, Declare, Declared, Error, Rejected, TransactionalState
from gateway.amqp_1_0.transactions import coordination_of
from gateway.audit.schema import Kind, Outcome
from gateway.bridge.seams import PublishStatus
from gateway.bridge.transaction import Transaction
from gateway.message import ACCEPTED, MODIFIED_FAILED, Condition, OutcomeKind, Refusal
from gateway.translate.profiles.profile import Profile
from gateway.wire.limits import Limits

COMMITTED, ROLLED_BACK, IN_DOUBT = Outcome.COMMITTED, Outcome.ROLLED_BACK, Outcome.IN_DOUBT
TXN = b"t1"


class Publisher:
    """Whoever commits, or publishes."""

    def __init__(self) -> None:
        self.heard = []

    def on_published(self, token, outcome):
        self.heard.append((token, outcome.kind, outcome.condition))


class At(UpstreamWorld):
    """An upstream with the remote queue ``r``, connected, and a local queue ``q``."""

    def __init__(self, *, resume=False, **more):
        super().__init__(profile=Profile(transactions=True, resume=resume), **more)
        self.place("r", "s")
        self.world.queue("q")
        self.publisher = Publisher()  # of commits
        self.sender = Publisher()  # of messages

    def begin(self, *deliveries) -> Transaction:
        """A transaction that is to accept `deliveries`."""
        transaction = self.host.transacting.begin(1)
        if deliveries:
            assert self.host.transacting.enlist(transaction, list(deliveries)) is None
        return transaction

    def put(self, transaction, *bodies, key="r", status=PublishStatus.PENDING):
        for body in bodies:
            message = self.world.message(body, key=key)
            answer = self.host.transacting.publish(transaction, message, self.sender, 1)
            assert answer.status == status, answer.refusal
        self.step()

    def opened(self, *bodies) -> Transaction:
        """A transaction that has begun with these messages."""
        transaction = self.begin()
        self.put(transaction, *bodies)
        self.declare()
        return transaction

    def commit(self, transaction, *deliveries):
        answer = self.host.transacting.commit(transaction, list(deliveries), self.publisher, 7)
        self.step()
        return answer.status

    def why_not(self, transaction) -> Condition:
        """Why the commit is refused."""
        answer = self.host.transacting.commit(transaction, [], self.publisher, 7)
        self.step()
        assert answer.status == PublishStatus.REFUSED
        return answer.refusal.condition

    def roll_back(self, transaction):
        self.host.transacting.rollback(transaction)
        self.step()

    def commit_of(self, *bodies):
        """Commit a transaction with these messages."""
        transaction = self.begin()
        self.put(transaction, *bodies)
        return self.commit(transaction)

    def fetch(self, *letters):
        """What a consumer of the remote queue gets, unsettled."""
        consumer, _ = self.subscribe("r")
        for letter in letters:
            self.broker.deliver("r", b"\0Su\xa0\x01" + letter)
        self.step()
        return consumer.take()

    def asked(self):
        """What the coordinator is asked, answered by nobody yet."""
        found, others = [], []
        for event in self.broker.events:
            delivery = isinstance(event, events.DeliveryReceived)
            control = delivery and "<coordinator-" in event.link.name
            (found if control else others).append(event)
        self.broker.events = others
        return found

    def answer(self, state, wanted=None):
        """The coordinator answers the one question that it was asked."""
        [asked] = self.asked()
        assert not asked.settled
        coordination = coordination_of(asked.payload)
        if wanted is not None:
            assert coordination == wanted
        self.broker.settle(asked, state)
        self.step()
        return coordination

    def declare(self, txn_id=TXN):
        self.answer(Declared(txn_id=txn_id), Declare())

    def discharge(self, *, fail=False, state=None):
        self.answer(state or Accepted(), _spec.Discharge(txn_id=TXN, fail=fail))

    def presume(self, *outcomes):
        """The upstream says how deliveries that it got will have ended."""
        deliveries = self.broker.received()
        for delivery, outcome in zip(deliveries, outcomes, strict=True):
            assert delivery.state == TransactionalState(txn_id=TXN)
            self.broker.settle(delivery, TransactionalState(txn_id=TXN, outcome=outcome))
        self.step()

    def ended(self):
        raw = self.world.blocks.raw()
        return [each["outcome"] for each in raw if each["kind"] == Kind.TRANSACTION]


def connected(**more) -> At:
    at = At()
    at.connect(**more)
    return at


def done(condition=Condition.NONE):
    kind = OutcomeKind.ACCEPTED if condition == Condition.NONE else OutcomeKind.REJECTED
    return [(7, kind, condition)]


@rule("1.0", "4.2", "declare-is-not-settled")
@rule("1.0", "4.4.1", "posting-carries-the-state")
def test_what_is_published_goes_out_as_it_comes_and_counts_when_it_is_committed():
    at = connected()
    transaction = at.begin()
    at.step()
    assert at.broker.links(COORDINATOR, sends=False) == []
    at.put(transaction, b"1")
    at.declare()
    at.presume(Accepted())
    assert at.sender.heard == [(1, OutcomeKind.ACCEPTED, Condition.NONE)]
    at.put(transaction, b"2")
    at.presume(Accepted())
    assert at.commit(transaction) == PublishStatus.PENDING
    assert at.publisher.heard == []
    at.discharge()
    assert at.publisher.heard == done()
    assert at.ended() == [COMMITTED]
    assert at.host.topology.find_queue("r").depth == 0
    at.check()


def test_nobody_waits_for_a_transaction_of_others_to_begin():
    at = connected()
    transaction = at.begin()
    at.put(transaction, b"in it")
    [declare] = at.asked()
    at.publish(b"beside", key="r", publisher=at.sender)
    [beside] = at.broker.received()
    assert beside.state is None
    at.broker.settle(beside)
    at.broker.settle(declare, Declared(txn_id=TXN))
    at.step()
    at.presume(Accepted())
    at.commit(transaction)
    at.discharge()
    assert at.publisher.heard == done()
    at.check()


def test_what_is_presumed_leaves_nothing_but_its_place():
    at = connected()
    transaction = at.opened(bytes(1000), bytes(1000))
    at.presume(Accepted(), Accepted())
    assert (at.host.topology.find_queue("r").octets, at.host.topology.find_queue("r").depth) == (
        0,
        2,
    )
    at.bridge.checkpoint(at.now_ms)
    at.commit(transaction)
    at.discharge()
    at.check()


@pytest.mark.parametrize("presumed", [False, True])
def test_a_rollback_is_a_failed_discharge(presumed):
    at = connected()
    transaction = at.opened(b"1")
    if presumed:
        at.presume(Accepted())
    at.roll_back(transaction)
    if not presumed:
        at.presume(Accepted())
    at.discharge(fail=True)
    assert at.ended() == [ROLLED_BACK]
    assert at.host.topology.find_queue("r").depth == 0
    assert at.bridge.idle()
    at.check()


def test_a_rollback_before_the_declare_is_sent_asks_nothing_of_the_upstream():
    at = At()
    transaction = at.begin()
    at.put(transaction, b"1")
    at.roll_back(transaction)
    assert at.ended() == [ROLLED_BACK]
    at.connect()
    assert at.asked() == []
    at.pass_time(60_000)
    at.check()


def test_a_rollback_while_it_is_declared_is_one_there_when_it_is():
    at = connected()
    transaction = at.begin()
    at.put(transaction, b"1")
    at.roll_back(transaction)
    at.declare()
    at.discharge(fail=True)
    assert at.broker.received() == []
    at.check()


def test_the_next_transaction_begins_behind_the_last_one():
    at = connected()
    first = at.opened(b"1")
    at.presume(Accepted())
    at.roll_back(first)
    second = at.begin()
    at.put(second, b"2")
    discharge, declare = at.asked()
    at.broker.settle(discharge)
    at.broker.settle(declare, Declared(txn_id=TXN))
    at.step()
    at.presume(Accepted())
    at.commit(second)
    at.discharge()
    assert at.ended() == [ROLLED_BACK, COMMITTED]
    at.check()


def test_one_that_is_not_accepted_rolls_all_back():
    at = connected()
    at.commit_of(b"1", b"2")
    at.declare()
    at.presume(Accepted(), Rejected(error=Error(condition="amqp:not-allowed")))
    at.discharge(fail=True)
    assert at.publisher.heard == done(Condition.NOT_ALLOWED)
    assert at.sender.heard == [(1, OutcomeKind.ACCEPTED, Condition.NONE)] * 2
    assert at.ended() == [ROLLED_BACK]
    assert at.host.topology.find_queue("r").depth == 0
    assert at.host.topology.find_queue("gateway.rejected") is None
    at.check()


def test_what_was_not_sent_when_one_fails_is_not_sent_any_more():
    at = connected(credit=1)
    at.commit_of(b"1", b"2")
    [declare] = at.asked()
    at.broker.settle(declare, Declared(txn_id=TXN))
    at.step()
    at.presume(_spec.Released())
    coordinator = at.broker.link(COORDINATOR, sends=False)
    coordinator.send_flow(credit=10)
    at.step()
    at.discharge(fail=True)
    assert at.publisher.heard == done(Condition.PRECONDITION_FAILED)
    assert at.host.topology.find_queue("r").depth == 0
    at.check()


def test_what_failed_before_the_commit_is_given_up_at_once():
    at = connected()
    transaction = at.opened(b"1")
    at.presume(_spec.Released())
    at.discharge(fail=True)
    at.put(transaction, b"2")
    assert at.broker.received() == []
    assert at.ended() == [ROLLED_BACK]
    assert at.why_not(transaction) == Condition.PRECONDITION_FAILED
    at.check()


@pytest.mark.parametrize(
    "condition",
    ["amqp:transaction:rollback", "amqp:transaction:timeout", "amqp:transaction:unknown-id"],
)
def test_a_discharge_that_is_refused_is_a_failed_commit(condition):
    at = connected()
    at.commit_of(b"1")
    at.declare()
    at.presume(Accepted())
    at.discharge(state=Rejected(error=Error(condition=condition)))
    assert at.publisher.heard == done(Condition.INTERNAL_ERROR)
    assert at.ended() == [ROLLED_BACK]
    at.check()


def test_accepts_are_told_in_the_transaction_and_settled_when_it_is_done():
    at = connected()
    first, second = at.fetch(b"x", b"y")
    transaction = at.begin(first)
    at.put(transaction, b"1", key="s")
    at.commit(transaction, first)
    at.declare()
    at.presume(Accepted())
    told = at.broker.take_all(events.DispositionReceived)
    [retired] = told
    assert retired.state == TransactionalState(txn_id=TXN, outcome=Accepted())
    assert not retired.settled
    at.discharge()
    [settled] = at.broker.take_all(events.DispositionReceived)
    assert (settled.settled, settled.state) == (True, Accepted())
    assert at.publisher.heard == done()
    at.settle(second, ACCEPTED)
    at.check()


def test_retiring_comes_before_the_discharge():
    at = connected()
    [delivery] = at.fetch(b"x")
    transaction = at.begin(delivery)
    at.commit(transaction, delivery)
    at.broker.take_all(events.DispositionReceived)
    at.declare()
    kinds = [type(each) for each in at.broker.events]
    told = kinds.index(events.DispositionReceived)
    assert events.DeliveryReceived in kinds[told:]
    assert events.DeliveryReceived not in kinds[:told]
    at.discharge()
    at.check()


def test_accepts_of_a_transaction_that_is_rolled_back_go_back():
    at = connected()
    [delivery] = at.fetch(b"x")
    transaction = at.begin(delivery)
    at.commit(transaction, delivery)
    at.declare()
    at.broker.take_all(events.DispositionReceived)
    at.discharge(state=Rejected(error=Error(condition="amqp:transaction:timeout")))
    [told] = at.broker.take_all(events.DispositionReceived)
    assert told.state == _spec.Modified(delivery_failed=True)
    at.check()


def test_a_delivery_that_the_upstream_took_back_fails_the_commit():
    at = connected()
    [delivery] = at.fetch(b"x")
    transaction = at.begin(delivery)
    at.lose()
    at.connect()
    at.commit(transaction, delivery)
    at.declare()
    at.discharge(fail=True)
    assert at.publisher.heard == done(Condition.INTERNAL_ERROR)
    assert at.ended() == [ROLLED_BACK]
    at.check()


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("presumed", [False, True])
def test_what_is_published_around_a_loss_is_rolled_back_as_one(resume, presumed):
    at = At(resume=resume)
    at.connect()
    transaction = at.opened(b"1", b"2")
    if presumed:
        at.presume(Accepted(), Accepted())
    at.lose()
    assert [kind for _, kind, _ in at.sender.heard] == [OutcomeKind.ACCEPTED] * 2
    assert at.ended() == [ROLLED_BACK]
    at.connect()
    at.put(transaction, b"3")
    assert (at.broker.received(), at.asked()) == ([], [])
    assert len(at.sender.heard) == 3
    assert at.why_not(transaction) == Condition.INTERNAL_ERROR
    at.commit_of(b"4")
    at.declare()
    at.presume(Accepted())
    at.discharge()
    assert at.ended() == [ROLLED_BACK, COMMITTED]
    assert at.host.topology.find_queue("r").depth == 0
    at.check()


def test_a_transaction_that_the_upstream_gave_up_while_it_idled_is_rolled_back():
    at = connected()
    transaction = at.opened(b"1")
    at.presume(Accepted())
    at.broker.link(COORDINATOR, sends=False).send_detach(
        error=Error(condition="amqp:transaction:timeout"), closed=True
    )
    at.step()
    assert at.host.topology.find_queue("r").depth == 0
    assert at.why_not(transaction) == Condition.INTERNAL_ERROR
    at.check()


def test_a_queue_that_moves_takes_no_transaction_along():
    at = connected(credit=1)
    transaction = at.opened(b"1", b"2")
    at.presume(Accepted())
    transaction.remote = At().upstream
    for address in ("r", COORDINATOR):
        at.broker.link(address, sends=False).send_flow(credit=10)
    at.step()
    at.discharge(fail=True)
    assert at.why_not(transaction) == Condition.INTERNAL_ERROR
    at.check()


@pytest.mark.parametrize("resume", [False, True])
def test_an_upstream_that_is_lost_before_the_discharge_has_rolled_back(resume):
    at = At(resume=resume)
    at.connect()
    at.commit_of(b"1", b"2")
    at.declare()
    at.lose()
    assert at.publisher.heard == done(Condition.INTERNAL_ERROR)
    assert at.ended() == [ROLLED_BACK]
    at.connect()
    assert at.broker.received() == []
    at.check()


def test_an_upstream_that_is_lost_during_the_discharge_leaves_doubt():
    at = connected()
    at.commit_of(b"1")
    at.declare()
    at.presume(Accepted())
    at.lose()
    assert at.publisher.heard == done(Condition.IN_DOUBT)
    assert at.ended() == [IN_DOUBT]
    raw = at.world.blocks.raw()
    settled = [each["outcome"] for each in raw if each["kind"] == Kind.SETTLED]
    assert settled == [IN_DOUBT]
    assert at.bridge.idle()
    at.check()


def test_a_control_link_that_is_detached_has_rolled_back_and_the_next_one_is_attached():
    at = connected()
    at.commit_of(b"1")
    at.declare()
    at.broker.link(COORDINATOR, sends=False).send_detach(
        error=Error(condition="amqp:transaction:timeout"), closed=True
    )
    at.step()
    assert at.publisher.heard == done(Condition.INTERNAL_ERROR)
    at.presume(Accepted())  # too late
    assert at.host.topology.find_queue("r").depth == 0
    at.publisher.heard.clear()
    at.commit_of(b"2")
    at.declare()
    at.presume(Accepted())
    at.discharge()
    assert at.publisher.heard == done()
    assert at.ended() == [ROLLED_BACK, COMMITTED]
    at.check()


def test_a_commit_waits_for_an_upstream_that_is_away_but_not_for_ever():
    at = At()
    at.commit_of(b"1")
    assert not at.bridge.idle()
    at.pass_time(30_000)
    assert at.publisher.heard == done(Condition.INTERNAL_ERROR)
    assert at.ended() == [ROLLED_BACK]
    assert at.bridge.idle()
    at.connect()
    assert at.broker.received() == []
    at.check()


def test_a_commit_goes_on_when_the_upstream_comes_back():
    at = At()
    at.commit_of(b"1")
    at.connect()
    at.declare()
    at.presume(Accepted())
    at.discharge()
    assert at.publisher.heard == done()
    at.check()


def test_a_transaction_that_is_declared_too_late_is_rolled_back_there():
    at = connected()
    at.commit_of(b"1")
    at.pass_time(30_000)
    assert at.publisher.heard == done(Condition.INTERNAL_ERROR)
    at.declare()
    at.discharge(fail=True)
    assert at.broker.received() == []
    at.check()


def test_an_upstream_without_a_coordinator_fails_the_commit():
    def prepare(broker):
        broker.refusals[COORDINATOR] = Error(condition="amqp:not-implemented")

    at = connected(prepare=prepare)
    transaction = at.begin()
    at.put(transaction, b"1")
    assert at.why_not(transaction) == Condition.NOT_IMPLEMENTED
    assert at.ended() == [ROLLED_BACK]
    at.check()


def test_a_declare_that_is_refused_fails_the_commit():
    at = connected()
    at.commit_of(b"1")
    at.answer(Rejected(error=Error(condition="amqp:resource-limit-exceeded")), Declare())
    assert at.publisher.heard == done(Condition.RESOURCE_LIMIT_EXCEEDED)
    at.check()


@pytest.mark.parametrize(("first", "second"), [("r", "q"), ("q", "r")])
def test_a_transaction_has_one_resource(first, second):
    at = connected()
    transaction = at.begin()
    status = PublishStatus.PENDING if first == "r" else PublishStatus.DONE
    at.put(transaction, b"1", key=first, status=status)
    message = at.world.message(b"2", key=second)
    answer = at.host.transacting.publish(transaction, message, None, 0)
    assert answer.refusal.condition == Condition.NOT_IMPLEMENTED
    at.host.transacting.rollback(transaction)
    at.check()


def test_deliveries_from_here_are_no_part_of_a_transaction_there():
    at = connected()
    at.world.send(b"1")
    consumer, _ = at.world.subscribe()
    at.step()
    [delivery] = consumer.take()
    transaction = at.begin()
    at.put(transaction, b"1")
    refusal = at.host.transacting.enlist(transaction, [delivery])
    assert isinstance(refusal, Refusal)
    assert refusal.condition == Condition.NOT_IMPLEMENTED
    at.host.transacting.rollback(transaction)
    at.settle(delivery, MODIFIED_FAILED)
    at.check()


def test_an_upstream_that_offers_no_transactions_is_said_so_at_the_first_message():
    at = At()
    at.upstream.context.profile.transactions = False
    message = at.world.message(b"1", key="r")
    answer = at.host.transacting.publish(at.begin(), message, None, 0)
    assert answer.refusal.condition == Condition.NOT_IMPLEMENTED
    at.check()


def test_a_spooled_queue_is_here():
    at = At()
    at.place("spooled", spool=True)
    transaction = at.begin()
    at.put(transaction, b"1", key="spooled", status=PublishStatus.DONE)
    at.put(transaction, b"2", key="q", status=PublishStatus.DONE)
    assert at.commit(transaction) == PublishStatus.IN_TURN
    assert at.ended() == [COMMITTED]


def test_a_message_that_cannot_be_sent_rolls_all_back():
    at = connected(limits=Limits(message_size_max=1000))
    at.commit_of(b"1", bytes(2000))
    at.declare()
    at.presume(Accepted())
    at.discharge(fail=True)
    assert at.publisher.heard == done(Condition.MESSAGE_SIZE_EXCEEDED)
    at.check()
