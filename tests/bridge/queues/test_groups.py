"""Groups: each is one subscription's at a time, whatever happens to its copies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import Consumer, World
from support.work import units_of

from gateway.bridge.queues.discipline import Discipline
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import PublishStatus
from gateway.message import (
    ACCEPTED,
    REJECTED,
    RELEASED,
    Delivery,
    Flag,
    Kind,
    Message,
    Outcome,
    OutcomeKind,
)
from gateway.wire.tagged import Tagged

GROUPED = Discipline(group_key="g")
ELSEWHERE = Outcome(OutcomeKind.MODIFIED, undeliverable_here=True)


def message(world: World, body: bytes, **more: object) -> Message:
    """Its group is the first letter of its body; of a small one there is none."""
    group = body[:1].decode()
    headers = {"g": Tagged(Kind.STRING, group)} if group.isupper() else {}
    return world.message(body, key="q", headers=headers, **more)


def send(world: World, *bodies: bytes) -> None:
    for body in bodies:
        world.host.publishing.publish(message(world, body), None, 0)
    world.turn()


def grouped() -> World:
    world = World()
    world.queue(durable=True, discipline=GROUPED)
    return world


def settle(world: World, delivery: Delivery, outcome: Outcome = ACCEPTED) -> None:
    world.host.settlement.settle(delivery, outcome)
    world.turn()


def test_a_group_belongs_to_who_has_something_of_it():
    world = grouped()
    send(world, b"A1", b"B1", b"A2", b"B2")
    one, granted = world.subscribe(credit=1)
    world.turn()
    two, _ = world.subscribe()
    world.turn()
    assert (one.bodies(), two.bodies()) == ([b"A1"], [b"B1", b"B2"])
    granted.grant(9)
    world.turn()
    assert one.bodies() == [b"A1", b"A2"]
    world.check()


def test_it_is_free_when_nothing_of_it_is_out_any_more():
    world = grouped()
    send(world, b"A1", b"A2", b"A3")
    one, _ = world.subscribe(credit=2)
    world.turn()
    two, _ = world.subscribe()
    world.turn()
    first, second = one.take()
    settle(world, first)
    assert two.bodies() == []
    settle(world, second)
    assert two.bodies() == [b"A3"]
    world.check()


def test_what_is_given_back_goes_before_what_is_behind_it_and_to_whoever_may_have_it():
    for outcome in (RELEASED, ELSEWHERE):
        world = grouped()
        send(world, b"A1", b"A2")
        one, _ = world.subscribe(credit=1)
        world.turn()
        two, _ = world.subscribe()
        world.turn()
        settle(world, one.take()[0], outcome)
        assert two.bodies() == [b"A1", b"A2"]
        world.check()


def test_a_rejected_one_frees_it_and_what_comes_back_of_who_cancelled():
    for ending in ("reject", "cancel"):
        world = grouped()
        send(world, b"A1", b"A2")
        one, subscription = world.subscribe(credit=1)
        world.turn()
        two, _ = world.subscribe()
        world.turn()
        if ending == "reject":
            settle(world, one.take()[0], REJECTED)
            assert two.bodies() == [b"A2"]
        else:
            [delivery] = one.take()
            subscription.cancel()
            world.turn()
            assert two.bodies() == []
            settle(world, delivery, RELEASED)
            assert two.bodies() == [b"A1", b"A2"]
        world.check()


def test_messages_without_the_key_are_one_group():
    world = grouped()
    send(world, b"a", b"b")
    one, _ = world.subscribe(credit=1)
    two, _ = world.subscribe()
    world.turn()
    assert (one.bodies(), two.bodies()) == ([b"a"], [])


def test_browsers_see_all_and_acquire_of_a_group_that_is_free_only():
    world = grouped()
    send(world, b"A1", b"A2", b"B1")
    browser, _ = world.subscribe(acquire=False)
    world.turn()
    world.subscribe(credit=1)
    world.turn()
    first, second, other = browser.take()
    settlement = world.host.settlement
    assert [settlement.acquire(each) for each in (first, second, other)] == [False, False, True]
    world.check()


def test_who_looks_by_a_filter_looks_again_when_a_group_is_free():
    class Second:
        octets = 0

        def accepts(self, message: Message) -> bool:
            return message.payload.endswith(b"2")

    world = grouped()
    send(world, b"A1", b"A2", b"B2")
    browser, _ = world.subscribe(acquire=False)
    one, _ = world.subscribe(credit=1)
    world.turn()
    chooser, _ = world.subscribe(filter=Second())
    world.turn()
    assert chooser.bodies() == [b"B2"]
    settle(world, one.take()[0])
    assert chooser.bodies() == [b"B2", b"A2"]
    assert browser.bodies() == [b"A2", b"B2"]
    world.check()


def test_an_immediate_message_needs_who_has_its_group():
    world = grouped()
    send(world, b"A1")
    one, granted = world.subscribe(credit=1)
    world.turn()
    world.subscribe()
    world.turn()
    now = message(world, b"A2", flags=int(Flag.IMMEDIATE))
    assert world.host.publishing.publish(now, None, 0).status == PublishStatus.UNROUTABLE
    granted.grant(1)
    now = message(world, b"A3", flags=int(Flag.IMMEDIATE))
    assert world.host.publishing.publish(now, None, 0).status == PublishStatus.DONE
    world.turn()
    assert one.bodies() == [b"A1", b"A3"]


def test_what_is_out_and_waits_costs_the_same_with_many_groups_and_subscriptions():
    def spent(count: int) -> int:
        world = grouped()
        consumers = [world.subscribe(credit=1) for _ in range(count)]
        for number in range(count):
            headers = {"g": Tagged(Kind.INTEGER, number)}
            for _ in range(2):
                one = world.message(key="q", headers=headers)
                world.host.publishing.publish(one, None, 0)
        world.turn()
        assert all(len(consumer.deliveries) == 1 for consumer, _ in consumers)

        def another() -> None:
            for _ in range(10):
                headers = {"g": Tagged(Kind.INTEGER, 0)}
                one = world.message(key="q", headers=headers)
                world.host.publishing.publish(one, None, 0)
                world.bridge.end_turn(world.now_ms)

        return units_of(another)

    few, many = spent(10), spent(1000)
    assert many < 2 * few


def test_what_is_gone_leaves_nothing_behind_though_one_copy_stays():
    class Others:
        octets = 0

        def accepts(self, message: Message) -> bool:
            return message.payload != b"A0"

    world = grouped()
    send(world, b"A0")
    for number in range(1, 600):
        chooser, subscription = world.subscribe(filter=Others(), credit=1)
        send(world, b"A%d" % number)
        [delivery] = chooser.take()
        for _ in range(2):
            settle(world, delivery, RELEASED)
            subscription.grant(1)
            world.turn()
            [delivery] = chooser.take()
        subscription.cancel()
        settle(world, delivery)
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.groups is not None
    [group] = queue.groups.groups.values()
    assert len(group.waiting) + len(group.returned) < 200
    world.check()


def test_keys_may_be_long_and_are_not_kept_as_long():
    world = grouped()
    for key in ("x" * 60_000, "x" * 60_000, "x" * 59_999 + "y", "\ud800" * 100):
        headers = {"g": Tagged(Kind.STRING, key)}
        world.host.publishing.publish(world.message(key="q", headers=headers), None, 0)
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.groups is not None
    assert sorted(group.count for group in queue.groups.groups.values()) == [1, 1, 2]
    assert all(len(key) < 100 for key in queue.groups.groups)


def test_who_cancels_and_subscribes_again_by_the_name_has_its_groups_still():
    world = grouped()
    send(world, b"A1", b"A2", b"B1")
    owner, other = world.owner(), world.owner()
    first, subscription = world.subscribe(owner=owner, name="d", credit=1)
    world.turn()
    subscription.cancel()
    strangers = [
        world.subscribe(owner=other, name="d", credit=1),
        world.subscribe(owner=owner, name="e", credit=1),
    ]
    world.turn()
    assert [each.bodies() for each, _ in strangers] == [[b"B1"], []]
    again, _ = world.subscribe(owner=owner, name="d")
    world.turn()
    assert again.bodies() == [b"A2"]
    send(world, b"A3")
    settle(world, first.take()[0], RELEASED)
    assert again.bodies() == [b"A2", b"A3", b"A1"]
    assert strangers[1][0].bodies() == []
    for delivery in again.take():
        settle(world, delivery)
    send(world, b"A4")
    assert strangers[1][0].bodies() == [b"A4"]  # it was free, and whose turn it was had it
    world.check()


def test_of_who_has_cancelled_nothing_is_kept_once_it_has_no_groups():
    world = grouped()
    owner = world.owner()
    for _ in range(3):
        send(world, b"A1", b"B1")
        consumer, subscription = world.subscribe(owner=owner, name="d")
        world.turn()
        subscription.cancel()
        for delivery in consumer.take():
            settle(world, delivery)
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.groups is not None
    groups = queue.groups
    assert (groups._left, groups._names, groups._keys, groups.groups) == ({}, {}, {}, {})
    world.check()


class Model:
    """Who has which group, by what was sent and settled alone."""

    def __init__(self) -> None:
        self.out: dict[int, list[Delivery]] = {}
        self.heirs: dict[int, int] = {}  # by whom each was cancelled and subscribed again

    def now(self, who: int) -> int:
        while who in self.heirs:
            who = self.heirs[who]
        return who

    def takes(self, who: int, delivery: Delivery) -> None:
        group = delivery.message.payload[:1]
        for other, deliveries in self.out.items():
            if self.now(other) != self.now(who):
                assert all(each.message.payload[:1] != group for each in deliveries)
        self.out.setdefault(who, []).append(delivery)

    def owner_of(self, group: bytes) -> int | None:
        for who, deliveries in self.out.items():
            if any(each.message.payload[:1] == group for each in deliveries):
                return self.now(who)
        return None


STEPS = st.lists(
    st.tuples(st.just("send"), st.sampled_from([b"A", b"B", b"C"]))
    | st.tuples(st.just("subscribe"), st.integers(0, 3))
    | st.tuples(st.just("grant"), st.integers(0, 5))
    | st.tuples(st.sampled_from(["accept", "release", "reject", "elsewhere"]), st.integers(0, 9))
    | st.tuples(st.sampled_from(["cancel", "again"]), st.integers(0, 5)),
    max_size=40,
)
OUTCOMES = {
    "accept": ACCEPTED,
    "release": RELEASED,
    "reject": REJECTED,
    "elsewhere": ELSEWHERE,
}


@given(STEPS)
def test_a_group_is_never_shared_and_nothing_waits_that_somebody_may_have(
    steps: list[tuple[str, object]],
) -> None:
    world, model = grouped(), Model()
    users: list[tuple[Consumer, Subscription]] = []

    def turn() -> None:
        world.turn()
        for consumer, subscription in users:
            for delivery in consumer.take():
                model.takes(subscription.number, delivery)

    for number, (step, said) in enumerate(steps):
        if step == "send":
            assert isinstance(said, bytes)
            one = message(world, said + b"%d" % number)
            world.host.publishing.publish(one, None, 0)
        elif step == "subscribe":
            users.append(world.subscribe(credit=int(str(said)), name="d"))
        elif users and step in ("grant", "cancel", "again"):
            _, subscription = users[int(str(said)) % len(users)]
            if step == "cancel":
                subscription.cancel()
            elif step == "again":
                subscription.cancel()
                if subscription.number not in model.heirs:
                    users.append(world.subscribe(owner=subscription.owner, credit=1, name="d"))
                    model.heirs[subscription.number] = users[-1][1].number
            elif not subscription.cancelled:
                subscription.grant(1)
        elif step in OUTCOMES:
            out = [(who, each) for who, held in model.out.items() for each in held]
            if out:
                who, delivery = out[int(str(said)) % len(out)]
                model.out[who].remove(delivery)
                world.host.settlement.settle(delivery, OUTCOMES[step])
        turn()
        _nothing_waits(world, model, users)
    world.check()


def _nothing_waits(world: World, model: Model, users: list[tuple[Consumer, Subscription]]) -> None:
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    able = {each.number for _, each in users if not each.cancelled and each.credit}
    entry = queue.places.next_at(0)
    while entry is not None:
        if not entry.holder:
            owner = model.owner_of(entry.message.payload[:1])
            may = able - (entry.excluded or set())
            assert owner not in may and (owner is not None or not may)
        entry = queue.places.next_at(entry.position + 1)
