"""Conversations with the whole bridge: publish, subscribe, settle, turns, commits."""

from support.bridge_world import Producer, World
from support.rules import rule

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import DeliverStatus, PublishStatus
from gateway.errors import StoreError
from gateway.message import ACCEPTED, MODIFIED_FAILED, RELEASED, Flag


def test_a_transient_message_is_done_at_once_and_delivered_at_the_end_of_the_turn() -> None:
    world = World()
    world.queue()
    consumer, _ = world.subscribe()
    published = world.host.publishing.publish(world.message(b"one", key="q"), None, 0)
    assert published.status == PublishStatus.DONE
    assert consumer.deliveries == []
    world.turn()
    assert consumer.bodies() == [b"one"]
    assert world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    assert world.depth() == 0
    world.check()


def test_a_durable_message_in_a_durable_queue_is_safe_when_its_turn_is_committed() -> None:
    world = World()
    world.auto_commit = False
    world.queue(durable=True)
    producer = Producer()
    published = world.host.publishing.publish(world.message(key="q", durable=True), producer, 7)
    assert published.status == PublishStatus.IN_TURN
    turn = world.bridge.wait(producer)
    world.turn()
    assert producer.committed == []
    world.commit()
    assert producer.committed == [turn]
    world.check()


@rule("1.0", "3.2.1", "not-durable-here-is-refused")
def test_a_durable_message_in_a_transient_queue_is_done_and_says_so() -> None:
    world = World()
    world.queue()
    message = world.message(key="q", durable=True)
    assert world.host.publishing.publish(message, None, 0).status == PublishStatus.DONE
    assert message.flags & Flag.TRANSIENT_COPY


def test_a_waiter_is_told_once_a_turn_and_at_its_end_when_nothing_is_outstanding() -> None:
    world = World()
    world.auto_commit = False
    producer = Producer()
    turn = world.bridge.wait(producer)
    assert world.bridge.wait(producer) == turn
    world.turn()
    assert producer.committed == [turn]


def test_a_turn_that_wrote_nothing_is_safe_only_with_the_turns_before_it() -> None:
    world = World()
    world.auto_commit = False
    world.queue(durable=True)
    world.send(b"x", durable=True)
    world.turn()
    producer = Producer()
    turn = world.bridge.wait(producer)
    world.turn()
    assert producer.committed == []
    world.commit()
    assert producer.committed == [turn]


def test_nothing_is_delivered_from_a_durable_queue_before_the_store_knows_that_it_is_read() -> None:
    world = World()
    world.queue(durable=True)
    world.turn()
    world.auto_commit = False
    consumer, _ = world.subscribe()
    world.send(b"x", durable=True)
    world.turn()
    assert consumer.deliveries == []
    world.commit()
    world.turn()
    assert consumer.bodies() == [b"x"]


def test_above_the_high_water_mark_publishers_wait_until_it_is_below_the_low_one() -> None:
    world = World(limits=BridgeLimits(messages_high=3, messages_low=1, messages_max=10))
    world.queue()
    producer = Producer()
    answers = [
        world.host.publishing.publish(world.message(key="q"), producer, token).status
        for token in range(5)
    ]
    assert answers == [PublishStatus.DONE] * 3 + [PublishStatus.PENDING] * 2
    consumer, subscription = world.subscribe(credit=3)
    world.turn()
    for delivery in consumer.take():
        world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    assert producer.published == []
    subscription.add(1)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    world.turn()
    assert [token for token, _ in producer.published] == [3, 4]
    world.check()


def test_a_pending_publish_of_a_durable_message_waits_for_its_commit_too() -> None:
    world = World(limits=BridgeLimits(messages_high=0, messages_low=0))
    world.auto_commit = False
    world.queue(durable=True)
    producer = Producer()
    status = world.host.publishing.publish(world.message(key="q", durable=True), producer, 1).status
    assert status == PublishStatus.PENDING
    world.host.declaring.purge_queue("q")
    world.turn()
    assert producer.published == []
    world.commit()
    assert producer.published == [(1, ACCEPTED)]


def test_above_the_maximum_a_publish_is_refused_and_nothing_goes_in() -> None:
    world = World(limits=BridgeLimits(messages_high=1, messages_low=1, messages_max=2))
    world.queue()
    world.send(b"1", b"2")
    assert (
        world.host.publishing.publish(world.message(key="q"), None, 0).status
        == PublishStatus.REFUSED
    )
    assert world.depth() == 2
    world.check()


def test_a_turn_sends_no_more_than_its_budget_and_says_that_there_is_more() -> None:
    world = World(limits=BridgeLimits(turn_deliveries=10))
    world.queue()
    consumer, _ = world.subscribe()
    world.send(*[b"x"] * 25)
    assert world.bridge.end_turn(world.now_ms)
    assert len(consumer.deliveries) == 10
    world.turn()
    assert len(consumer.deliveries) == 25


def test_two_queues_share_the_budget_of_a_turn_over_time() -> None:
    world = World(limits=BridgeLimits(turn_deliveries=10))
    world.queue("a")
    world.queue("b")
    first, _ = world.subscribe("a")
    second, _ = world.subscribe("b")
    world.send(*[b"x"] * 50, key="a")
    world.send(*[b"x"] * 5, key="b")
    world.bridge.end_turn(world.now_ms)
    world.bridge.end_turn(world.now_ms)
    assert len(first.deliveries) + len(second.deliveries) >= 15
    assert len(second.deliveries) == 5


def test_draining_stops_deliveries_but_serves_settlements_and_publishes() -> None:
    world = World()
    world.queue()
    consumer, _ = world.subscribe()
    world.send(b"1")
    world.turn()
    world.bridge.drain()
    world.send(b"2")
    world.turn()
    assert consumer.bodies() == [b"1"]
    assert world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    assert world.depth() == 1
    world.check()


def test_a_failing_store_is_remembered_until_it_is_eased() -> None:
    world = World()
    world.bridge.on_store_failed(StoreError("no space"))
    assert world.bridge.store_error is not None
    world.bridge.on_committed(1)
    assert world.bridge.store_error is not None
    world.bridge.on_store_eased()
    assert world.bridge.store_error is None


def test_ids_do_not_come_again_after_a_restart_though_nothing_was_stored() -> None:
    world = World()
    before = [world.bridge.numbers.next_message() for _ in range(1000)]
    world.crash()
    assert world.bridge.numbers.next_message() > max(before)


def test_a_blocked_outlet_gets_the_same_message_when_it_resumes() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe()
    consumer.answers = [DeliverStatus.TAKEN, DeliverStatus.BLOCKED]
    world.send(b"1", b"2", b"3")
    world.turn()
    assert consumer.bodies() == [b"1"]
    world.turn()
    assert consumer.bodies() == [b"1"]
    subscription.resume()
    world.turn()
    assert consumer.bodies() == [b"1", b"2", b"3"]
    world.check()


def test_a_message_that_one_peer_cannot_take_goes_to_another() -> None:
    world = World()
    world.queue()
    first, _ = world.subscribe()
    first.answers = [DeliverStatus.UNDELIVERABLE]
    world.send(b"1", b"2")
    world.turn()
    assert first.bodies() == [b"2"]
    second, _ = world.subscribe()
    world.turn()
    assert second.bodies() == [b"1"]
    world.check()


@rule("0-10", "message.release", "ordering")
def test_released_messages_come_back_in_their_old_order_before_newer_ones() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe(credit=3)
    world.send(b"1", b"2", b"3", b"4")
    world.turn()
    for delivery in consumer.take():
        assert world.host.settlement.settle(delivery, RELEASED)
    subscription.grant(4)
    world.turn()
    assert consumer.bodies() == [b"1", b"2", b"3", b"4"]
    assert [delivery.delivery_count for delivery in consumer.deliveries] == [0, 0, 0, 0]
    world.check()


def test_a_failed_delivery_counts_and_a_second_settlement_is_too_late() -> None:
    world = World()
    world.queue()
    consumer, _ = world.subscribe(credit=1)
    world.send(b"1")
    world.turn()
    delivery = consumer.take()[0]
    assert world.host.settlement.settle(delivery, MODIFIED_FAILED)
    assert not world.host.settlement.settle(delivery, ACCEPTED)
    assert world.bridge.counts.settled_too_late == 1
    again, _ = world.subscribe()
    world.turn()
    assert again.deliveries[0].delivery_count == 1
    world.check()
