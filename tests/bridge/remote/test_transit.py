"""Publishing to remote queues: who is told what, when the upstream has decided."""

from __future__ import annotations

import pytest
from support.bridge_world import Producer, World
from support.remotes import FakeRelay, FakeRules

from gateway.audit.schema import Kind, Reason
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.remote.remote import OnRejected
from gateway.bridge.seams import DeliverStatus, PublishStatus
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Condition,
    Flag,
    Outcome,
    OutcomeKind,
    Refusal,
)

REFUSED_THERE = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="no")


def world_with(*names: str, spool: bool = False, on_rejected: int = 0) -> tuple[World, FakeRules]:
    rules = FakeRules()
    rules.add(*(names or ("far",)), spool=spool, on_rejected=on_rejected)
    return World(rules=rules), rules


def relay_of(rules: FakeRules, name: str = "far") -> FakeRelay:
    return rules.remotes["broker"].relays[name]


def publish(
    world: World,
    producer: Producer,
    token: int = 1,
    *,
    key: str = "far",
    exchange: str = "",
    durable: bool = False,
    flags: int = 0,
) -> PublishStatus:
    message = world.message(b"body", exchange=exchange, key=key, durable=durable, flags=flags)
    return world.host.publishing.publish(message, producer, token).status


def test_the_publisher_is_told_when_the_upstream_has_accepted() -> None:
    world, rules = world_with()
    producer = Producer()
    assert publish(world, producer) == PublishStatus.PENDING
    world.turn()
    (delivery,) = relay_of(rules).deliveries
    assert producer.published == []
    assert not world.bridge.idle()
    assert world.host.settlement.settle(delivery, ACCEPTED)
    assert producer.published == []  # From the end of the turn only.
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    assert world.bridge.idle()
    world.check()


def test_a_message_for_a_local_and_a_remote_queue_waits_for_disk_and_upstream() -> None:
    world, rules = world_with()
    world.queue("near", durable=True)
    for queue in ("near", "far"):
        world.host.bindings.bind(queue, "amq.fanout", "", {}, b"")
    producer = Producer()
    world.auto_commit = False
    assert publish(world, producer, exchange="amq.fanout", durable=True) == PublishStatus.PENDING
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], ACCEPTED)
    world.turn()
    assert producer.published == []
    world.commit()
    assert producer.published == [(1, ACCEPTED)]
    world.check()


def test_above_high_water_a_copy_that_stays_here_holds_its_publisher_back() -> None:
    rules = FakeRules()
    rules.add("far")
    world = World(rules=rules, limits=BridgeLimits(messages_high=1, messages_low=0))
    world.queue("near")
    for queue in ("near", "far"):
        world.host.bindings.bind(queue, "amq.fanout", "", {}, b"")
    producer = Producer()
    publish(world, producer, exchange="amq.fanout")
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], ACCEPTED)
    world.turn()
    assert (producer.published, world.bridge.pressure.high) == ([], True)
    consumer, _ = world.subscribe("near", settled=True)
    world.turn()
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    assert len(consumer.deliveries) == 1
    world.check()


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED])
def test_what_the_upstream_did_not_take_is_offered_to_it_again_in_order(outcome: Outcome) -> None:
    world, rules = world_with()
    producer = Producer()
    for token in (1, 2):
        publish(world, producer, token)
    world.turn()
    relay = relay_of(rules)
    first, second = relay.take()
    world.host.settlement.settle(first, outcome)
    world.turn()
    (again,) = relay.take()
    assert again.position == first.position
    assert again.delivery_count == (1 if outcome is MODIFIED_FAILED else 0)
    for delivery in (second, again):
        world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    assert producer.published == [(2, ACCEPTED), (1, ACCEPTED)]
    world.check()


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED, REFUSED_THERE])
def test_a_publisher_that_takes_outcomes_gets_them_as_they_are(outcome: Outcome) -> None:
    world, rules = world_with()
    producer = Producer()
    publish(world, producer, flags=Flag.OUTCOMES)
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], outcome)
    world.turn()
    assert producer.published == [(1, outcome)]
    assert world.depth("far") == 0
    world.check()


def test_an_unknown_outcome_is_not_passed_on_but_sent_again_marked() -> None:
    world, rules = world_with()
    producer = Producer()
    publish(world, producer, flags=Flag.OUTCOMES)
    world.turn()
    relay = relay_of(rules)
    world.host.settlement.settle(relay.take()[0], MODIFIED_FAILED, Reason.UPSTREAM_LOST)
    world.turn()
    assert [delivery.delivery_count for delivery in relay.deliveries] == [1]
    assert producer.published == []
    assert world.check().kinds[Kind.REQUEUED] == 1


@pytest.mark.parametrize(
    ("flags", "rule", "told", "dead"),
    [
        (0, OnRejected.DEAD_LETTER, ACCEPTED, 1),
        (0, OnRejected.EXCEPTION, REFUSED_THERE, 0),
        (0, OnRejected.DROP, ACCEPTED, 0),
        (Flag.TELL_UNROUTABLE, OnRejected.DEAD_LETTER, REFUSED_THERE, 0),
        (Flag.OUTCOMES, OnRejected.DROP, REFUSED_THERE, 0),
    ],
)
@pytest.mark.parametrize("sent", [True, False])
def test_what_the_upstream_rejects_goes_where_the_rule_says(
    flags: int, rule: OnRejected, told: Outcome, dead: int, sent: bool
) -> None:
    world, rules = world_with(on_rejected=rule)
    relay, producer = relay_of(rules), Producer()
    relay.why = Refusal(Condition.NOT_ALLOWED, "no")
    if not sent:
        relay.answers = [DeliverStatus.REFUSED]
    publish(world, producer, durable=True, flags=flags)
    world.turn()
    if sent:
        world.host.settlement.settle(relay.deliveries[0], REFUSED_THERE)
        world.turn()
    assert producer.published == [(1, told)]
    assert world.depth("far") == 0
    rejected = world.host.topology.find_queue("gateway.rejected")
    assert (0 if rejected is None else rejected.depth) == dead
    assert world.bridge.counts.dropped == (1 if told is ACCEPTED and not dead else 0)
    world.turn()
    world.check()
    world.crash()
    assert (world.depth("gateway.rejected") if dead else 0) == dead
    world.check()


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (Condition.NOT_FOUND, Reason.UPSTREAM_REFUSED),
        (Condition.UNAUTHORIZED_ACCESS, Reason.UPSTREAM_REFUSED),
        (Condition.MESSAGE_SIZE_EXCEEDED, Reason.TOO_LARGE),
        (Condition.NOT_IMPLEMENTED, Reason.UNDELIVERABLE),
    ],
)
@pytest.mark.parametrize(
    ("rule", "kind"),
    [(OnRejected.EXCEPTION, Kind.RETURNED), (OnRejected.DEAD_LETTER, Kind.DEAD_LETTERED)],
)
def test_the_audit_log_names_the_upstream_that_a_copy_could_not_be_sent_to(
    rule: OnRejected, kind: Kind, condition: Condition, reason: Reason
) -> None:
    world, rules = world_with(on_rejected=rule)
    relay = relay_of(rules)
    relay.why = Refusal(condition, "no")
    relay.answers = [DeliverStatus.REFUSED]
    publish(world, Producer())
    world.turn()
    (record,) = [each for each in world.blocks.raw() if each["kind"] == kind]
    assert (record["peer"], record["reason"]) == ("broker", reason)
    world.check()


def test_the_audit_log_names_the_upstream_that_rejected_a_dead_letter() -> None:
    world, rules = world_with()
    publish(world, Producer())
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], REFUSED_THERE)
    world.turn()
    (record,) = [each for each in world.blocks.raw() if each["kind"] == Kind.DEAD_LETTERED]
    assert record["peer"] == "broker"
    world.check()


def test_a_rejected_copy_is_safe_in_the_dead_letter_queue_before_its_publisher_is_told() -> None:
    world, rules = world_with()
    producer = Producer()
    publish(world, producer, durable=True)
    world.turn()
    world.auto_commit = False
    world.host.settlement.settle(relay_of(rules).deliveries[0], REJECTED)
    world.turn()
    assert producer.published == []
    world.commit()
    assert producer.published == [(1, ACCEPTED)]
    world.check()


def test_a_rejected_copy_goes_to_the_alternate_exchange_that_was_declared() -> None:
    world, rules = world_with("far", "other")
    world.queue("dead")
    for queue in ("dead", "other"):
        world.host.bindings.bind(queue, "amq.fanout", "", {}, b"")
    world.queue("far", alternate_exchange="amq.fanout")
    producer = Producer()
    publish(world, producer, flags=Flag.OUTCOMES)
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], REJECTED)
    world.turn()
    assert (world.depth("dead"), producer.published) == (1, [])
    world.host.settlement.settle(relay_of(rules, "other").deliveries[0], ACCEPTED)
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    world.check()


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (REJECTED, ACCEPTED, OutcomeKind.ACCEPTED),
        (RELEASED, REJECTED, OutcomeKind.REJECTED),
        (MODIFIED_FAILED, RELEASED, OutcomeKind.MODIFIED),
    ],
)
def test_of_several_copies_the_best_outcome_is_told(
    first: Outcome, second: Outcome, told: OutcomeKind
) -> None:
    world, rules = world_with("far", "farther")
    for queue in ("far", "farther"):
        world.host.bindings.bind(queue, "amq.fanout", "", {}, b"")
    producer = Producer()
    publish(world, producer, exchange="amq.fanout", flags=Flag.OUTCOMES)
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], first)
    world.turn()
    assert producer.published == []
    world.host.settlement.settle(relay_of(rules, "farther").deliveries[0], second)
    world.turn()
    assert [outcome.kind for _, outcome in producer.published] == [told]
    world.check()


def test_a_message_that_expires_on_its_way_is_over_for_its_publisher() -> None:
    world, rules = world_with()
    relay_of(rules).subscription.stop()
    producer = Producer()
    world.host.publishing.publish(world.message(b"1", key="far", ttl_ms=10), producer, 1)
    world.pass_time(20)
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    assert world.check().kinds[Kind.EXPIRED] == 1


def test_what_is_on_its_way_goes_with_the_process_and_its_publisher_was_told_nothing() -> None:
    world, rules = world_with()
    producer = Producer()
    publish(world, producer, durable=True)
    world.turn()
    world.crash()
    world.turn()
    assert (relay_of(rules).deliveries, producer.published) == ([], [])
    world.check()


def test_a_dead_letter_of_ours_that_goes_to_an_upstream_is_kept_safe_until_it_is_there() -> None:
    world, rules = world_with()
    world.host.bindings.bind("far", "amq.fanout", "", {}, b"")
    world.queue("near", durable=True, alternate_exchange="amq.fanout")
    consumer, _ = world.subscribe("near")
    world.send(b"1", key="near", durable=True)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    world.turn()
    assert len(relay_of(rules).deliveries) == 1
    world.crash()
    world.turn()
    (delivery,) = relay_of(rules).deliveries
    assert delivery.delivery_count == 1
    world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    world.crash()
    world.turn()
    assert relay_of(rules).deliveries == []
    world.check()


@pytest.mark.parametrize("exchange", ["trades", "upstream.broker"])
def test_dead_letters_for_a_remote_exchange_outlive_the_process_and_its_rule(exchange: str) -> None:
    rules = FakeRules()
    remote = rules.add_exchange("trades")
    world = World(rules=rules)
    world.queue("near", durable=True, alternate_exchange=exchange)
    consumer, _ = world.subscribe("near")
    world.send(b"1", key="near", durable=True)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    for _ in range(2):
        world.turn()
        assert len(remote.relays[exchange].deliveries) == 1
        world.crash()
    world.turn()
    (delivery,) = remote.relays[exchange].deliveries
    assert delivery.delivery_count == 1
    world.check()
    world.rules = None
    world.crash()
    assert world.depth(f"{exchange} to broker") == 1
    world.crash()
    assert world.depth(f"{exchange} to broker") == 1
    world.check()


def test_a_spool_confirms_what_is_stored_and_sends_it_on_after_a_crash() -> None:
    world, rules = world_with(spool=True)
    producer = Producer()
    assert publish(world, producer, durable=True) == PublishStatus.IN_TURN
    world.turn()
    assert len(relay_of(rules).deliveries) == 1
    world.crash()
    world.turn()
    (delivery,) = relay_of(rules).deliveries
    assert delivery.delivery_count == 1
    world.host.settlement.settle(delivery, REJECTED)
    world.turn()
    assert (world.depth("far"), world.depth("gateway.rejected")) == (0, 1)
    world.crash()
    assert (world.depth("far"), world.depth("gateway.rejected")) == (0, 1)
    world.check()


def test_a_queue_that_becomes_remote_sends_on_what_it_had_and_one_that_no_longer_is_keeps_it() -> (
    None
):
    rules = FakeRules()
    rules.add("other")
    world = World(rules=rules)
    world.queue("far", durable=True)
    world.send(b"1", b"2", key="far", durable=True)
    world.turn()
    rules.add("far")
    world.restart()
    world.turn()
    relay = relay_of(rules)
    world.host.settlement.settle(relay.deliveries[0], ACCEPTED)
    world.host.settlement.settle(relay.deliveries[1], RELEASED, Reason.STOPPING)
    del rules.queue_rules["far"]
    world.restart()
    assert world.depth("far") == 1
    world.check()


def test_relays_go_on_when_the_gateway_stops_dispatching() -> None:
    world, rules = world_with()
    producer = Producer()
    world.bridge.drain()
    publish(world, producer)
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], ACCEPTED)
    world.turn()
    assert world.bridge.idle()
    world.check()


class Waiter:
    """A `LookUpWaiter` that is told nothing."""

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        raise AssertionError("nobody answers")


def test_deleting_a_remote_queue_asks_its_upstream_and_ends_what_waits() -> None:
    world, rules = world_with()
    remote = rules.remotes["broker"]
    waiter = Waiter()
    host = world.host
    remote.answer = Refusal(Condition.NOT_IMPLEMENTED, "not from here")
    assert host.declaring.delete_at_upstream("far", waiter, 1) == remote.answer
    assert host.declaring.purge_at_upstream("far", waiter, 1) == remote.answer
    remote.answer = None
    assert host.declaring.delete_at_upstream("far", waiter, 2) is True
    assert host.declaring.purge_at_upstream("far", waiter, 3) is True
    assert remote.waiters == [(waiter, 2), (waiter, 3)]
    world.queue()
    assert host.declaring.delete_at_upstream("q", waiter, 4) is False
    assert host.declaring.purge_at_upstream("q", waiter, 4) is False
    refusal = host.declaring.delete_at_upstream("far", waiter, 5, if_empty=True)
    assert isinstance(refusal, Refusal)
    assert refusal.condition == Condition.NOT_IMPLEMENTED
    assert world.host.declaring.purge_queue("far") == 0
    producer = Producer()
    relay_of(rules).subscription.stop()
    publish(world, producer)
    assert world.host.declaring.delete_queue("far") is None
    world.turn()
    assert [outcome.condition for _, outcome in producer.published] == [Condition.RESOURCE_DELETED]
    assert relay_of(rules).cancelled == [Condition.RESOURCE_DELETED]
    assert world.host.topology.find_queue("far") is not None  # The rule makes it again.
    assert remote.asked[0] == ("delete", "far")
    world.check()


def test_what_is_rejected_goes_to_the_queue_at_an_upstream_that_the_rule_names() -> None:
    world, rules = world_with("far", "dead")
    for placement in rules.queue_rules.values():
        placement.dead_letters = "dead"
    producer = Producer()
    publish(world, producer, durable=True)
    world.turn()
    world.host.settlement.settle(relay_of(rules).deliveries[0], REFUSED_THERE)
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    assert world.host.topology.queues.get("gateway.rejected") is None
    assert world.depth("dead") == 1
    world.crash()
    assert world.depth("dead") == 1
    world.turn()
    world.host.settlement.settle(relay_of(rules, "dead").deliveries[0], REFUSED_THERE)
    world.turn()
    assert (world.depth("dead"), world.depth("gateway.rejected")) == (0, 1)
    world.check()
