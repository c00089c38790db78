"""Who gets which copy: round-robin, credit, browsing, exclusions, draining, expiry."""

from support.bridge_world import Consumer, World
from support.rules import rule
from support.work import units_of

from gateway.bridge.queues.subscription import UNLIMITED
from gateway.bridge.seams import DeliverStatus, SubscribeOptions
from gateway.message import (
    ACCEPTED,
    RELEASED,
    Condition,
    Delivery,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.wire.work import COPY, LINK, NODE, SHARE, WORK

ELSEWHERE = Outcome(OutcomeKind.MODIFIED, undeliverable_here=True)


def test_subscriptions_with_credit_take_turns() -> None:
    world = World()
    world.queue()
    first, _ = world.subscribe()
    second, _ = world.subscribe(credit=1)
    third, _ = world.subscribe()
    world.send(b"1", b"2", b"3", b"4", b"5")
    world.turn()
    assert (first.bodies(), second.bodies(), third.bodies()) == (
        [b"1", b"4"],
        [b"2"],
        [b"3", b"5"],
    )


def test_octet_credit_blocks_at_a_larger_message_until_there_is_more() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe(octets=5)
    world.send(b"123", b"4567", b"8")
    world.turn()
    assert consumer.bodies() == [b"123"]
    subscription.add(0, 2)
    world.turn()
    assert consumer.bodies() == [b"123", b"4567"]
    assert subscription.allowance.octets == 0


@rule("1.0", "3.5.2", "copy-leaves-the-node-alone")
def test_a_browser_sees_everything_in_order_and_takes_nothing() -> None:
    world = World()
    world.queue()
    world.send(b"1", b"2")
    browser, _ = world.subscribe(acquire=False)
    world.turn()
    world.send(b"3")
    world.turn()
    assert browser.bodies() == [b"1", b"2", b"3"]
    for delivery in browser.deliveries:
        assert not delivery.acquired
        assert world.host.settlement.settle(delivery, ACCEPTED)
    assert world.depth() == 3
    world.check()


def test_a_browsed_message_can_be_acquired_unless_somebody_has_it() -> None:
    world = World()
    world.queue()
    world.send(b"1", b"2")
    browser, _ = world.subscribe(acquire=False)
    world.turn()
    consumer, _ = world.subscribe(credit=1)
    world.turn()
    assert consumer.bodies() == [b"1"]
    one, two = browser.deliveries
    assert not world.host.settlement.acquire(one)
    assert world.host.settlement.acquire(two)
    assert not world.host.settlement.acquire(two)
    assert world.host.settlement.settle(two, ACCEPTED)
    assert world.host.settlement.settle(one, ACCEPTED)
    assert world.depth() == 1
    world.check()


def test_a_settled_subscription_removes_as_it_sends() -> None:
    world = World()
    world.queue(durable=True)
    consumer, _ = world.subscribe(settled=True)
    world.send(b"1", b"2", durable=True)
    world.turn()
    assert consumer.bodies() == [b"1", b"2"]
    assert all(delivery.settled for delivery in consumer.deliveries)
    assert world.depth() == 0
    world.crash()
    assert world.depth() == 0
    world.check()


def test_what_is_kept_from_one_subscription_goes_to_the_others_in_place() -> None:
    world = World()
    world.queue()
    first, _ = world.subscribe(credit=2)
    world.send(b"1", b"2", b"3")
    world.turn()
    second, _ = world.subscribe(credit=1)
    world.turn()
    assert second.bodies() == [b"3"]
    for delivery in first.take():
        world.host.settlement.settle(delivery, ELSEWHERE)
    world.turn()
    assert first.deliveries == []
    third, _ = world.subscribe()
    world.turn()
    assert third.bodies() == [b"1", b"2"]
    for delivery in third.take():
        world.host.settlement.settle(delivery, ACCEPTED)
    world.host.settlement.settle(second.take()[0], ACCEPTED)
    world.send(b"4")
    world.turn()
    assert third.bodies() == [b"4"]  # empty once, the queue is plain again
    world.check()


def test_a_drain_sends_what_there_is_and_then_takes_the_credit_away() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe(credit=10)
    world.send(b"1", b"2")
    subscription.drain()
    world.turn()
    assert consumer.bodies() == [b"1", b"2"]
    assert (consumer.drained, subscription.credit) == (1, 0)
    world.send(b"3")
    world.turn()
    assert len(consumer.deliveries) == 2
    subscription.drain()
    world.turn()
    assert consumer.drained == 2


def test_a_drain_waits_for_a_blocked_outlet() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe(credit=10)
    consumer.answers = [DeliverStatus.BLOCKED]
    world.send(b"1")
    subscription.drain()
    world.turn()
    assert consumer.drained == 0
    subscription.resume()
    world.turn()
    assert (consumer.bodies(), consumer.drained) == ([b"1"], 1)


def pieces(world: World) -> list[int]:
    """How much each of the following turns is until nothing is left to do."""
    taken = []
    while True:
        more: list[bool] = []
        taken.append(units_of(lambda more=more: more.append(world.bridge.end_turn(world.now_ms))))
        if not more[0]:
            return taken


def costly(consumer: Consumer, units: int) -> None:
    """That it is drained, or is blocked with what it gives up then, is so much work."""

    def on_drained() -> None:
        WORK.units += units
        consumer.drained += 1

    consumer.on_drained = on_drained  # type: ignore[method-assign]


def test_the_ends_of_many_drains_are_spread_over_turns() -> None:
    world = World()
    world.queue()
    consumers = []
    for _ in range(20):
        consumer, subscription = world.subscribe(credit=10)
        costly(consumer, SHARE // 2)
        subscription.drain()
        consumers.append(consumer)
    taken = pieces(world)
    assert max(taken) < 2 * SHARE
    assert len(taken) > 5
    assert [each.drained for each in consumers] == [1] * 20


def test_takers_whose_outlets_are_full_are_asked_in_shares() -> None:
    world = World()
    world.queue()
    world.send(b"1")
    subscriptions = []
    for _ in range(20):
        consumer, subscription = world.subscribe()

        def deliver(delivery: Delivery) -> DeliverStatus:
            WORK.units += SHARE // 2
            return DeliverStatus.BLOCKED

        consumer.deliver = deliver  # type: ignore[method-assign]
        subscriptions.append(subscription)
    taken = pieces(world)
    assert max(taken) < 2 * SHARE
    assert len(taken) > 5
    assert all(subscription.blocked for subscription in subscriptions)


def test_a_stop_ends_a_drain_unanswered() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe(credit=10)
    subscription.drain()
    subscription.stop()
    world.turn()
    assert consumer.drained == 0


def test_a_cancelled_subscription_gets_no_more_but_settles_what_it_has() -> None:
    world = World()
    world.queue()
    consumer, subscription = world.subscribe(credit=UNLIMITED)
    world.send(b"1")
    world.turn()
    world.send(b"2")
    subscription.cancel()
    world.turn()
    assert consumer.bodies() == [b"1"]
    assert world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    assert world.depth() == 1
    assert world.bridge._dispatcher.links == {}
    world.check()


def test_an_exclusive_subscription_is_alone() -> None:
    world = World()
    world.queue()
    _, subscription = world.subscribe(exclusive=True)
    for exclusive in (False, True):
        answer = world.host.subscribing.subscribe(
            "q",
            Consumer(),
            world.owner(),
            SubscribeOptions(exclusive=exclusive),
        )
        assert isinstance(answer, Refusal) and answer.condition == Condition.RESOURCE_LOCKED
    subscription.cancel()
    world.subscribe()
    answer = world.host.subscribing.subscribe(
        "q",
        Consumer(),
        world.owner(),
        SubscribeOptions(exclusive=True),
    )
    assert isinstance(answer, Refusal) and answer.condition == Condition.RESOURCE_LOCKED


def test_an_expired_message_is_not_sent_and_goes_without_consumers_too() -> None:
    world = World()
    world.queue()
    world.send(b"1", ttl_ms=10)
    world.send(b"2", ttl_ms=1000)
    world.send(b"3")
    world.pass_time(20)
    assert world.depth() == 2
    world.now_ms += 2000  # the deadline is met late: whoever consumes must not see it
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == [b"3"]
    assert world.bridge.counts.expired == 2
    world.check()


def test_a_message_that_expires_while_it_is_held_goes_when_it_comes_back() -> None:
    world = World()
    world.queue()
    consumer, _ = world.subscribe(credit=1)
    world.send(b"1", ttl_ms=10)
    world.turn()
    world.pass_time(50)
    assert world.depth() == 1
    world.host.settlement.settle(consumer.deliveries[0], RELEASED)
    world.pass_time(1)
    assert world.depth() == 0
    world.check()


def test_all_subscriptions_of_a_deleted_queue_have_ended_before_the_first_is_told() -> None:
    world = World()
    world.queue()
    owner, other = world.owner(), world.owner()

    class Leaves(Consumer):
        """Takes its owner's other subscriptions along, as the end of a session does."""

        def on_cancelled(self, condition: Condition, description: str) -> None:
            super().on_cancelled(condition, description)
            world.host.owners.release(owner)

    outlets = [Leaves(), Consumer(), Consumer()]
    for outlet, whose in zip(outlets, (owner, owner, other), strict=True):
        world.host.subscribing.subscribe("q", outlet, whose, SubscribeOptions())
    assert world.host.declaring.delete_queue("q") is None
    assert [outlet.cancelled for outlet in outlets] == [[Condition.RESOURCE_DELETED]] * 3
    world.check()


def test_very_many_subscriptions_end_without_a_look_at_the_others() -> None:
    world = World()
    world.queue()
    pairs = [world.subscribe() for _ in range(200)]
    line = world.host.topology.lines[world.host.topology.queues["q"].number]
    for number, (_consumer, subscription) in enumerate(pairs[:-1]):
        subscription.cancel()
        assert len(line._takers) <= 2 * (199 - number) + 1
    world.send(b"1", b"2")
    world.turn()
    assert pairs[-1][0].bodies() == [b"1", b"2"]
    assert all(not consumer.deliveries for consumer, _ in pairs[:-1])
    pairs[-1][1].cancel()
    world.send(b"3")
    assert world.depth() == 3


def test_very_many_subscriptions_of_a_deleted_queue_end_over_several_turns() -> None:
    world = World()
    world.queue()
    number = 3 * SHARE // (2 * LINK)
    pairs = [world.subscribe(credit=1) for _ in range(number)]
    queue = world.host.topology.queues["q"]
    assert (
        units_of(lambda: world.host.declaring.delete_queue("q")) <= SHARE + NODE + 2 * LINK + COPY
    )
    told = [consumer for consumer, _ in pairs if consumer.cancelled]
    assert 0 < len(told) < number // 2
    for _, subscription in pairs:
        subscription.grant(1)  # comes too late
    turns = 1
    while world.bridge.end_turn(world.now_ms):
        turns += 1
    assert turns == 2
    assert all(consumer.cancelled == [Condition.RESOURCE_DELETED] for consumer, _ in pairs)
    assert (queue.users.subscriptions, queue.users.links) == (0, 0)
    world.check()


def test_nothing_is_sent_of_a_deleted_queue_while_its_subscriptions_end() -> None:
    world = World()
    world.queue()
    pairs = [world.subscribe() for _ in range(3 * SHARE // (2 * LINK))]
    for _ in range(3 * SHARE // COPY):
        world.host.publishing.publish(world.message(b"x", key="q"), None, 0)
    world.host.declaring.delete_queue("q")
    world.turn()
    assert not any(consumer.deliveries for consumer, _ in pairs)
    assert world.bridge.counts.purged == 3 * SHARE // COPY
    world.check()
