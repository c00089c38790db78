"""What becomes of rejected copies, and of the copies of a queue that is deleted."""

import pytest
from support.bridge_world import World
from support.rules import rule

from gateway.audit.schema import Kind
from gateway.message import (
    ACCEPTED,
    REJECTED,
    RELEASED,
    Condition,
    Outcome,
    OutcomeKind,
)


def test_a_rejected_message_is_dropped_and_counted_without_an_alternate_exchange() -> None:
    world = World()
    world.queue()
    consumer, _ = world.subscribe()
    world.send(b"1")
    world.turn()
    assert world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    assert (world.depth(), world.bridge.counts.dropped) == (0, 1)
    world.check()


def test_a_rejected_message_goes_to_the_alternate_exchange_of_its_queue() -> None:
    world = World()
    world.queue("dead", durable=True)
    world.host.bindings.bind("dead", "amq.fanout", "", {}, b"")
    world.queue("q", durable=True, alternate_exchange="amq.fanout")
    consumer, _ = world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    assert world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    assert (world.depth("q"), world.depth("dead")) == (0, 1)
    world.turn()
    world.crash()
    assert (world.depth("q"), world.depth("dead")) == (0, 1)
    world.check()


def test_a_full_dead_letter_queue_refuses_and_that_is_in_the_ledger() -> None:
    world = World()
    world.queue("dead", max_count=1)
    world.host.bindings.bind("dead", "amq.fanout", "", {}, b"")
    world.queue("q", alternate_exchange="amq.fanout")
    consumer, _ = world.subscribe()
    world.send(b"1", b"2")
    world.turn()
    for delivery in consumer.deliveries:
        world.host.settlement.settle(delivery, REJECTED)
    assert (world.depth("q"), world.depth("dead")) == (0, 1)
    assert world.bridge.counts.refused == 1
    world.check()


class Chain:
    """A queue `q` whose alternate has an alternate, which has one, which is its first again."""

    def __init__(self) -> None:
        self.world = World()
        host = self.world.host
        for name, alternate in (("third", ""), ("second", "third"), ("first", "second")):
            host.declaring.declare_exchange(name, "direct", alternate_exchange=alternate)
        host.topology.exchanges["third"].alternate_exchange = "first"  # no client can do that
        self.world.queue("q", alternate_exchange="first")
        self.world.queue("dead")
        self.world.queue("full", max_count=1)
        self.world.send(b"0", key="full")
        self.consumer, self.subscription = self.world.subscribe(credit=1)
        self.world.send(b"1", b"2")
        self.world.turn()

    def bind(self, queue: str, exchange: str) -> None:
        assert self.world.host.bindings.bind(queue, exchange, "q", {}, b"") is None

    def loses_both(self) -> None:
        """One is rejected, and the other goes with its queue."""
        world = self.world
        assert world.host.settlement.settle(self.consumer.deliveries[0], REJECTED)
        assert world.host.declaring.delete_queue("q") is None


@pytest.mark.parametrize("exchange", ["first", "second", "third"])
def test_what_a_queue_gives_away_goes_through_alternates_until_a_queue_takes_it(
    exchange: str,
) -> None:
    chain = Chain()
    chain.bind("dead", exchange)
    chain.loses_both()
    assert chain.world.depth("dead") == 2
    assert chain.world.bridge.counts.unroutable == 0
    chain.world.check()


def test_a_dead_end_of_alternates_is_counted_and_in_the_audit_log() -> None:
    chain = Chain()
    chain.loses_both()
    assert chain.world.bridge.counts.unroutable == 2
    raw = chain.world.check().kinds
    assert (raw[Kind.DEAD_LETTERED], raw[Kind.ROUTED], raw[Kind.UNROUTABLE]) == (2, 6, 6)


def test_a_full_queue_takes_nothing_and_so_the_next_alternate_is_tried() -> None:
    chain = Chain()
    chain.bind("full", "first")
    chain.bind("dead", "second")
    chain.loses_both()
    assert (chain.world.depth("full"), chain.world.depth("dead")) == (1, 2)
    assert chain.world.bridge.counts.refused == 2
    chain.world.check()


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED, RELEASED])
@pytest.mark.parametrize("alternate", ["", "amq.fanout"])
def test_deliveries_of_a_deleted_queue_settle_harmlessly(outcome: Outcome, alternate: str) -> None:
    world = World()
    world.queue("dead")
    world.host.bindings.bind("dead", "amq.fanout", "", {}, b"")
    world.queue("q", durable=True, alternate_exchange=alternate)
    consumer, _ = world.subscribe(credit=1)
    browser, _ = world.subscribe(acquire=False)
    world.send(b"1", b"2", durable=True)
    world.turn()
    assert world.host.declaring.delete_queue("q") is None
    assert consumer.cancelled == [Condition.RESOURCE_DELETED]
    assert world.host.settlement.settle(consumer.deliveries[0], outcome)
    for delivery in browser.deliveries:
        assert world.host.settlement.settle(delivery, RELEASED)
    moved = 0 if not alternate else 1 if outcome is ACCEPTED else 2
    assert world.depth("dead") == moved
    assert world.bridge._dispatcher.links == {}
    assert world.bridge.pressure.messages == moved
    world.check()
    world.crash()
    assert world.host.topology.find_queue("q") is None


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED, RELEASED])
@pytest.mark.parametrize("alternate", ["", "amq.fanout"])
def test_who_has_copies_of_a_queue_that_another_deletes_is_late_to_settle_them(
    outcome: Outcome, alternate: str
) -> None:
    world = World()
    world.queue("dead", durable=True)
    world.host.bindings.bind("dead", "amq.fanout", "", {}, b"")
    world.queue("q", durable=True, alternate_exchange=alternate)
    consumer, _ = world.subscribe(credit=2)
    world.send(b"1", b"2", b"3", durable=True)
    world.turn()
    assert world.host.declaring.delete_queue("q", world.owner()) is None
    world.check()
    for delivery in consumer.take():
        assert not world.host.settlement.settle(delivery, outcome)
    assert world.bridge.counts.settled_too_late == 2
    assert world.bridge._dispatcher.links == {}
    world.check()
    assert world.host.topology.find_queue("q") is None
    assert world.bridge.counts.purged == (0 if alternate else 3)
    world.crash()
    again, _ = world.subscribe("dead")
    world.turn()
    counts = {one.message.payload[-1:]: one.delivery_count for one in again.deliveries}
    assert list(counts) == ([b"1", b"2", b"3"] if alternate else [])
    assert all([counts[body] > counts[b"3"] for body in counts if body != b"3"])
    world.check()


def test_who_deletes_a_queue_keeps_what_it_has_of_it() -> None:
    world = World()
    owner = world.owner()
    world.queue()
    consumer, _ = world.subscribe("q", owner)
    world.send(b"1")
    world.turn()
    assert world.host.declaring.delete_queue("q", owner) is None
    assert world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    assert (world.bridge.counts.purged, world.bridge.counts.settled_too_late) == (0, 0)
    world.check()


def test_a_queue_that_comes_again_does_not_get_what_its_namesake_had() -> None:
    world = World()
    world.queue("q", durable=True)
    consumer, _ = world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    world.host.declaring.delete_queue("q")
    world.queue("q", durable=True)
    world.send(b"2", durable=True)
    world.check()  # both are in the checkpoints
    assert world.host.settlement.settle(consumer.deliveries[0], RELEASED)
    world.turn()
    assert world.depth() == 1
    world.crash()
    assert world.depth() == 1
    world.check()


@rule("0-10", "queue.purge", "pending-messages")
def test_a_purge_leaves_what_is_acquired() -> None:
    world = World()
    world.queue(durable=True)
    consumer, _ = world.subscribe(credit=1)
    world.send(b"1", b"2", b"3", durable=True)
    world.turn()
    assert world.host.declaring.purge_queue("q") == 2
    assert world.host.settlement.settle(consumer.deliveries[0], RELEASED)
    assert world.depth() == 1
    world.turn()
    world.crash()
    assert world.depth() == 1
    world.check()


def test_annotations_of_a_returned_copy_are_there_after_a_restart_and_gone_with_it() -> None:
    world = World()
    world.queue("dead", durable=True)
    world.host.bindings.bind("dead", "amq.fanout", "", {}, b"")
    world.queue("q", durable=True, alternate_exchange="amq.fanout")
    world.send(b"1", durable=True)
    consumer, _ = world.subscribe()
    world.turn()
    annotated = Outcome(OutcomeKind.MODIFIED, delivery_failed=True, annotations=b"annotations")
    world.host.settlement.settle(consumer.deliveries[0], annotated)
    world.turn()
    held = world.bridge.pressure.octets
    world.restart()
    assert world.bridge.pressure.octets == held
    consumer, _ = world.subscribe()
    world.turn()
    (delivery,) = consumer.deliveries
    assert (delivery.delivery_count, delivery.annotations) == (1, b"annotations")
    world.host.settlement.settle(delivery, REJECTED)
    world.turn()
    world.restart()
    consumer, _ = world.subscribe("dead")
    world.turn()
    assert consumer.deliveries[0].annotations == b"annotations"
    world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    world.turn()
    assert world.bridge.pressure.octets == 0
    world.check()
