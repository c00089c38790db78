"""How long publishers and copies wait, by the clock that is read where turns begin and end."""

import pytest
from support.bridge_world import Consumer, Producer, World

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.latency import DISK, MEMORY, NEVER_US
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import SubscribeOptions
from gateway.message import ACCEPTED, REJECTED, RELEASED, Encoding, Outcome
from gateway.wire.durations import Durations

OLD, NEW = Encoding.AMQP_0_10, Encoding.AMQP_1_0


class Timed(World):
    """A world that commits when it is told to, and whose time passes in microseconds."""

    def __init__(self, limits: BridgeLimits | None = None) -> None:
        super().__init__(limits=limits)
        self.auto_commit = False
        self.now_us = self.now_ms * 1000
        self.bridge.now_us = self.now_us

    def wait(self, microseconds: int) -> None:
        self.now_us += microseconds
        self.bridge.now_us = self.now_us

    def publish(self, *, durable: bool = False, publisher: Producer | None = None) -> None:
        message = self.message(key="q", durable=durable)
        self.host.publishing.publish(message, publisher or Producer(), 1)

    def takes(self, target: int, *, settled: bool = False) -> Consumer:
        """Somebody who speaks that protocol takes all that there is."""
        consumer = Consumer()
        options = SubscribeOptions(target=target, settled=settled)
        found = self.host.subscribing.subscribe("q", consumer, self.owner(), options)
        assert isinstance(found, Subscription)
        found.grant(100)
        self.turn()
        return consumer


def told(durations: Durations) -> tuple[int, int]:
    """How many, and how long all of them took."""
    return int(durations.cumulative()[-1][1]), durations.total_us


def confirmed(world: Timed, how: int) -> tuple[int, int]:
    return told(world.bridge.latency.arrivals[OLD].runs[how].durations)


def test_a_transient_message_is_confirmed_at_the_end_of_its_turn() -> None:
    world = Timed()
    world.queue()
    world.turn()
    world.wait(50)  # the turn begins
    world.publish()
    world.publish()
    world.wait(300)
    world.turn()
    assert confirmed(world, MEMORY) == (2, 600)
    assert confirmed(world, DISK) == (0, 0)


def test_a_durable_one_when_the_disk_has_it() -> None:
    world = Timed()
    world.queue(durable=True)
    world.turn()
    world.commit()
    world.wait(50)
    world.publish(durable=True)
    world.wait(300)
    world.turn()
    world.wait(4000)
    assert confirmed(world, DISK) == (0, 0)
    world.commit()
    assert confirmed(world, DISK) == (1, 4300)


def test_one_whose_publisher_is_held_back_when_there_is_room_again() -> None:
    world = Timed(BridgeLimits(messages_high=2, messages_low=1))
    world.queue()
    producer = Producer()
    world.turn()
    for _ in range(3):
        world.wait(10)
        world.publish(publisher=producer)
        world.turn()
    assert producer.published == []
    before = confirmed(world, MEMORY)
    world.wait(7000)
    consumer, _ = world.subscribe()
    world.turn()
    for delivery in consumer.deliveries:
        world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    world.wait(0)
    held = len(producer.published)
    assert held > 0
    count, microseconds = confirmed(world, MEMORY)
    assert count == before[0] + held
    assert microseconds - before[1] >= 7000 * held


def settled(world: Timed, source: int, to: int) -> tuple[int, int]:
    return told(world.bridge.latency.settled[source][to].durations)


@pytest.mark.parametrize("to", [OLD, NEW])
def test_a_copy_has_waited_from_its_turn_to_the_one_that_it_is_settled_in(to: Encoding) -> None:
    world = Timed()
    world.queue()
    world.publish()
    world.turn()
    world.wait(1000)
    world.publish()
    world.turn()
    consumer = world.takes(to)
    world.wait(5000)
    for delivery, outcome in zip(consumer.deliveries, (ACCEPTED, REJECTED), strict=True):
        world.host.settlement.settle(delivery, outcome)
    world.turn()
    world.wait(1)  # so long is nobody told of what has been counted
    assert settled(world, OLD, to) == (2, 6000 + 5000)
    others = [
        (source, by) for source in (OLD, NEW) for by in (OLD, NEW) if (source, by) != (OLD, to)
    ]
    assert {settled(world, *each) for each in others} == {(0, 0)}


@pytest.mark.parametrize("outcome", [RELEASED])
def test_what_goes_back_to_its_place_goes_on_waiting(outcome: Outcome) -> None:
    world = Timed()
    world.queue()
    world.publish()
    consumer = world.takes(NEW)
    world.wait(5000)
    (delivery,) = consumer.deliveries
    world.host.settlement.settle(delivery, outcome)
    world.turn()
    world.wait(1)
    assert settled(world, OLD, NEW) == (0, 0)
    world.host.settlement.settle(consumer.deliveries[-1], ACCEPTED)
    world.wait(1)
    assert settled(world, OLD, NEW)[0] == 1
    assert settled(world, OLD, NEW)[1] >= 5000


def test_what_is_settled_as_it_is_sent_has_waited_till_then() -> None:
    world = Timed()
    world.queue()
    world.publish()
    world.turn()
    world.wait(2000)
    world.takes(NEW, settled=True)
    world.wait(1)
    assert settled(world, OLD, NEW) == (1, 2000)


def test_what_the_store_brought_back_has_waited_since_it_arrived() -> None:
    world = Timed()
    world.queue(durable=True)
    world.publish(durable=True)
    world.turn()
    world.commit()
    world.auto_commit = True
    world.now_ms += 60_000
    world.restart()
    world.now_us = world.now_ms * 1000
    world.bridge.now_us = world.now_us
    world.takes(NEW, settled=True)
    world.wait(1)
    assert settled(world, OLD, NEW) == (1, 60_000_000)


def test_nothing_is_counted_between_turns() -> None:
    world = Timed()
    world.queue()
    world.publish()
    world.takes(NEW, settled=True)
    world.wait(1)
    assert world.bridge.latency.running == []
    assert world.bridge.latency.settled[OLD][NEW].since_us == NEVER_US
