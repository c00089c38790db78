"""Flow control: who publishes to a queue above its stop waits until it is below its resume."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import Consumer, Producer, World, bind
from support.remotes import FakeRules

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.discipline import Discipline, FlowLimits, Policy
from gateway.bridge.seams import PublishStatus
from gateway.bridge.spread.entering import FEW
from gateway.errors import StoreError
from gateway.message import ACCEPTED, REJECTED, RELEASED, Delivery, Outcome

DONE, IN_TURN, PENDING = PublishStatus.DONE, PublishStatus.IN_TURN, PublishStatus.PENDING


def flow(stop: int, resume: int = 0, **more: object) -> Discipline:
    """Of messages."""
    limits = FlowLimits(stop_count=stop, resume_count=resume or stop)
    return Discipline(flow=limits, **more)  # type: ignore[arg-type]  # whatever the test has


def flowing(stop: int, resume: int = 0, **settings: object) -> tuple[World, Producer]:
    world = World()
    world.queue("q", discipline=flow(stop, resume), **settings)  # type: ignore[arg-type]
    world.turn()
    return world, Producer()


def publish(
    world: World,
    producer: Producer,
    *tokens: int,
    key: str = "q",
    exchange: str = "",
    body: bytes = b"body",
    durable: bool = False,
    ttl_ms: int = -1,
) -> list[PublishStatus]:
    """One message a token."""
    found = []
    for token in tokens:
        message = world.message(body, key=key, exchange=exchange, durable=durable, ttl_ms=ttl_ms)
        found.append(world.host.publishing.publish(message, producer, token).status)
    world.turn()
    return found


def told(producer: Producer) -> list[int]:
    """Which tokens have been accepted."""
    assert all(outcome == ACCEPTED for _, outcome in producer.published)
    return [token for token, _ in producer.published]


def settle(world: World, delivery: Delivery, outcome: Outcome = ACCEPTED) -> None:
    world.host.settlement.settle(delivery, outcome)
    world.turn()


def got(world: World, queue: str = "q") -> list[Delivery]:
    consumer: Consumer
    consumer, _ = world.subscribe(queue)
    world.turn()
    return consumer.take()


def test_above_its_stop_publishers_wait_until_it_is_below_its_resume() -> None:
    world, producer = flowing(3, 2)
    assert publish(world, producer, 1, 2, 3, 4, 5) == [DONE, DONE, DONE, PENDING, PENDING]
    deliveries = got(world)
    for delivery in deliveries[:3]:
        settle(world, delivery)
        assert told(producer) == []
    assert publish(world, producer, 6) == [PENDING]  # not below its resume yet
    settle(world, deliveries[3])  # the copy of 4 itself
    assert told(producer) == [4]
    settle(world, deliveries[4])
    assert told(producer) == [4, 5, 6]
    assert publish(world, producer, 7) == [DONE]
    world.check()


def test_by_octets_it_is_the_same() -> None:
    world, producer = World(), Producer()
    world.queue(discipline=Discipline(flow=FlowLimits(stop_size=9, resume_size=9)))
    assert publish(world, producer, 1, 2) == [DONE, DONE]
    assert publish(world, producer, 3, body=b"xx") == [PENDING]
    assert publish(world, producer, 4, body=b"") == [PENDING]
    settle(world, got(world)[0])
    assert told(producer) == [3, 4]


def test_of_both_the_one_stops_and_both_resume() -> None:
    world, producer = World(), Producer()
    limits = FlowLimits(stop_count=3, resume_count=3, stop_size=9, resume_size=5)
    world.queue(discipline=Discipline(flow=limits))
    publish(world, producer, 1, body=b"12345")
    assert publish(world, producer, 2, 3, 4, body=b"") == [DONE, DONE, PENDING]
    first, second, third, _ = got(world)
    settle(world, second)
    settle(world, third)
    assert told(producer) == []
    settle(world, first)
    assert told(producer) == [4]


def purged(world: World) -> None:
    world.host.declaring.purge_queue("q")


def deleted(world: World) -> None:
    world.host.declaring.delete_queue("q")


def expired(world: World) -> None:
    world.pass_time(1000)


def taken(world: World) -> None:
    _, subscription = world.subscribe(settled=True)
    world.turn()
    subscription.cancel()


def rejected(world: World) -> None:
    for delivery in got(world):
        world.host.settlement.settle(delivery, REJECTED)


@pytest.mark.parametrize("goes", [purged, deleted, expired, taken, rejected])
@pytest.mark.parametrize("alternate", ["", "amq.fanout"])
def test_however_copies_leave_who_waits_for_them_is_told(goes, alternate: str) -> None:
    world, producer = World(), Producer()
    world.queue("kept")
    bind(world, "kept", "amq.fanout")
    world.queue("q", discipline=flow(1), alternate_exchange=alternate)
    assert publish(world, producer, 1, 2, 3, ttl_ms=500) == [DONE, PENDING, PENDING]
    goes(world)
    world.turn()
    assert told(producer) == [2, 3]
    assert world.bridge.copies.tickets.withheld == 0
    world.check()


def test_what_others_have_taken_is_in_the_queue_still() -> None:
    world, producer = flowing(1)
    publish(world, producer, 1, 2)
    for delivery in got(world):
        world.host.settlement.settle(delivery, RELEASED)
    world.turn()
    assert told(producer) == []
    assert world.bridge.copies.tickets.withheld == 1


def test_one_that_destructs_itself_lets_everybody_go() -> None:
    world, producer = World(), Producer()
    itself = flow(1, policy=Policy.SELF_DESTRUCT)
    world.queue(max_count=2, discipline=itself)
    got(world)
    assert publish(world, producer, 1, 2, 3) == [DONE, PENDING, PENDING]
    assert world.host.topology.find_queue("q") is None
    assert told(producer) == [2, 3]
    world.check()


def test_a_durable_one_is_told_when_it_is_safe_and_there_is_room() -> None:
    world, producer = flowing(1, durable=True)
    world.auto_commit = False
    assert publish(world, producer, 1, 2, durable=True) == [IN_TURN, PENDING]
    purged(world)
    world.turn()
    assert told(producer) == []
    world.commit()
    world.turn()
    assert told(producer) == [2]


def test_what_is_safe_waits_for_room() -> None:
    world, producer = flowing(1, durable=True)
    assert publish(world, producer, 1, 2, durable=True) == [IN_TURN, PENDING]
    assert told(producer) == []
    purged(world)
    world.turn()
    assert told(producer) == [2]


def test_a_publish_to_several_waits_for_each_that_is_stopped() -> None:
    world, producer = World(), Producer()
    for name, stop in (("a", 1), ("b", 1), ("c", 9)):
        world.queue(name, discipline=flow(stop))
        bind(world, name, "amq.fanout")
    world.queue("plain")
    bind(world, "plain", "amq.fanout")
    assert publish(world, producer, 1, 2, exchange="amq.fanout") == [DONE, PENDING]
    for name in ("a", "b"):
        assert told(producer) == []
        world.host.declaring.purge_queue(name)
        world.turn()
    assert told(producer) == [2]


def test_of_very_many_queues_one_that_is_stopped_is_enough() -> None:
    world, producer = World(), Producer()
    owner = world.owner()
    for number in range(FEW + 5):
        world.queue(f"q{number}", owner, discipline=flow(1 if number == FEW + 2 else 9))
        bind(world, f"q{number}", "amq.fanout")
    world.turn()
    assert publish(world, producer, 1, 2, exchange="amq.fanout") == [PENDING, PENDING]
    assert told(producer) == [1]
    world.host.declaring.purge_queue(f"q{FEW + 2}")
    world.turn()
    assert told(producer) == [1, 2]
    world.check()


def test_of_an_upstream_and_a_stopped_queue_the_upstream_says_how_it_ends() -> None:
    rules = FakeRules()
    rules.add("far")
    world, producer = World(rules=rules), Producer()
    world.queue("near", discipline=flow(1))
    world.send(b"before", key="near")
    for name in ("near", "far"):
        bind(world, name, "amq.fanout")
    message = world.message(b"x", exchange="amq.fanout")
    assert world.host.publishing.publish(message, producer, 1).status == PENDING
    world.turn()
    (delivery,) = rules.remotes["broker"].relays["far"].deliveries
    settle(world, delivery)
    assert told(producer) == []
    world.host.declaring.purge_queue("near")
    world.turn()
    assert told(producer) == [1]
    assert world.bridge.idle()


def test_no_commit_waits_but_what_it_brings_counts() -> None:
    world, producer = flowing(1)
    transacting = world.host.transacting
    transaction = transacting.begin(1)
    for token in (1, 2, 3):
        message = world.message(key="q")
        assert transacting.publish(transaction, message, producer, token).status == DONE
    assert transacting.commit(transaction, [], producer, 4).status == IN_TURN
    world.turn()
    assert publish(world, producer, 5) == [PENDING]
    assert told(producer) == []
    purged(world)
    world.turn()
    assert told(producer) == [5]


def test_who_does_not_ask_is_not_waited_for() -> None:
    world, producer = flowing(1)
    world.send(b"1", b"2", b"3")
    world.turn()
    assert world.bridge.copies.tickets.withheld == 0
    assert publish(world, producer, 1) == [PENDING]


@pytest.mark.parametrize("again", [World.restart, World.crash])
def test_a_queue_that_comes_back_full_is_stopped(again) -> None:
    world, producer = flowing(2, 1, durable=True)
    publish(world, producer, 1, 2, 3, durable=True)
    again(world)
    assert publish(world, Producer(), 4, durable=True) == [PENDING]
    world.check()


def test_a_stop_waits_for_nobody_who_waits_for_room() -> None:
    world, producer = flowing(1)
    publish(world, producer, 1, 2)
    assert world.bridge.idle()
    world.bridge.drain()
    world.turn()
    assert told(producer) == [2]
    assert publish(world, producer, 3) == [DONE]


def test_where_all_queues_hold_too_much_it_waits_for_that_too() -> None:
    limits = BridgeLimits(octets_high=3000, octets_low=1600)
    world, producer = World(limits=limits), Producer()
    world.queue("other")
    world.queue("q", discipline=flow(1))
    world.send(b"1", b"2", b"3", key="other")
    assert publish(world, producer, 1, 2) == [PENDING, PENDING]
    purged(world)
    world.turn()
    assert told(producer) == []
    world.host.declaring.purge_queue("other")
    world.turn()
    assert sorted(told(producer)) == [1, 2]


def test_where_a_user_has_too_much_it_waits_for_that_too() -> None:
    world, producer = World(limits=BridgeLimits(user_octets=3000)), Producer()
    world.bridge.pressure.join(1, "ann", "/")
    world.queue("other")
    world.queue("q", discipline=flow(1))
    assert publish(world, producer, 1, 2) == [DONE, PENDING]
    publish(world, producer, 3, 4, key="other", body=b"-" * 1000)
    world.host.declaring.purge_queue("q")
    world.turn()
    assert told(producer) == []
    world.host.declaring.purge_queue("other")
    world.turn()
    assert 2 in told(producer)


def test_while_the_disk_refuses_nobody_is_told() -> None:
    world, producer = flowing(1)
    publish(world, producer, 1, 2)
    world.bridge.on_store_failed(StoreError("broken"))
    purged(world)
    world.turn()
    assert told(producer) == []
    world.bridge.on_store_eased()
    world.turn()
    assert told(producer) == [2]


STEPS = st.lists(
    st.tuples(st.just("publish"), st.integers(0, 4))
    | st.tuples(st.sampled_from(["take", "purge"]), st.just(0))
    | st.tuples(st.sampled_from(["accept", "release"]), st.integers(0, 5)),
    max_size=40,
)
LIMITS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 6), st.integers(0, 6))


class Model:
    """A stopped queue as its publishers think of it: bodies by token, and who waits."""

    def __init__(self, limits: FlowLimits) -> None:
        self.limits = limits
        self.inside: dict[int, int] = {}
        self.waiting: set[int] = set()
        self.stopped = False

    def publish(self, token: int, octets: int) -> None:
        self.inside[token] = octets
        limits = self.limits
        self.stopped |= 0 < limits.stop_count < len(self.inside)
        self.stopped |= 0 < limits.stop_size < sum(self.inside.values())
        if self.stopped:
            self.waiting.add(token)

    def leave(self, token: int) -> None:
        octets = self.inside.pop(token)
        self.waiting.discard(token)
        limits = self.limits
        octets = sum(self.inside.values())
        if (not limits.resume_count or len(self.inside) < limits.resume_count) and (
            not limits.resume_size or octets < limits.resume_size
        ):
            self.stopped = False
            self.waiting.clear()


@given(LIMITS, STEPS)
def test_whatever_comes_and_goes_those_wait_who_should(
    numbers: tuple[int, int, int, int], steps: list[tuple[str, int]]
) -> None:
    stop_count, resume_count, stop_size, resume_size = numbers
    limits = FlowLimits(
        stop_count=stop_count,
        resume_count=resume_count,
        stop_size=stop_size,
        resume_size=resume_size,
    )
    world, producer, model = World(), Producer(), Model(limits)
    world.queue(discipline=Discipline(flow=limits))
    consumer, subscription = world.subscribe(credit=0)
    pending: set[int] = set()
    held: list[Delivery] = []
    for token, (step, number) in enumerate(steps):
        if step == "publish":
            body = b"%d" % token + b"-" * number
            model.publish(token, len(body))
            if publish(world, producer, token, body=body) == [PENDING]:
                pending.add(token)
        elif step == "take":
            subscription.grant(1, 0)
        elif step == "purge":
            for delivery_of in set(model.inside) - {token_of(each) for each in held}:
                model.leave(delivery_of)
            purged(world)
        elif held:
            delivery = held.pop(number % len(held))
            if step == "accept":
                model.leave(token_of(delivery))
            settle(world, delivery, ACCEPTED if step == "accept" else RELEASED)
        world.turn()
        held += consumer.take()
        assert pending - set(told(producer)) == model.waiting
        assert world.bridge.copies.tickets.withheld == len(model.waiting)
    world.check()


def token_of(delivery: Delivery) -> int:
    return int(bytes(delivery.message.payload).rstrip(b"-"))
