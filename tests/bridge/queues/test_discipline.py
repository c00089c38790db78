"""Every discipline, and whatever clients do, against a model that is a plain list."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import Consumer, World

from gateway.bridge.queues.discipline import NO_ALERTS, AlertLimits, Discipline, Policy
from gateway.bridge.seams import PublishStatus
from gateway.message import ACCEPTED, RELEASED, Delivery, Kind
from gateway.wire.tagged import Tagged


@dataclass(eq=False)
class Item:
    body: bytes
    level: int
    key: str
    held: bool = False


class Model:
    """A queue as its users think of it."""

    def __init__(self, discipline: Discipline, count: int, size: int) -> None:
        self.discipline = discipline
        self.count = count
        self.size = size
        self.items: list[Item] = []

    def is_over(self, more: int = 0, octets: int = 0) -> bool:
        held = sum(len(item.body) for item in self.items)
        return bool(
            (self.count and len(self.items) + more > self.count)
            or (self.size and held + octets > self.size)
        )

    def publish(self, body: bytes, priority: int, key: str) -> bool:
        policy = self.discipline.policy
        over = self.is_over(1, len(body))
        if policy == Policy.REJECT and over:
            return False
        if policy != Policy.REJECT and self.size and len(body) > self.size:
            return False
        if policy == Policy.RING_STRICT and over and self.items[0].held:
            return False
        if self.discipline.last_value_key:
            self.items = [item for item in self.items if item.held or item.key != key]
        newest = Item(body, self.level_of(priority), key)
        self.items.append(newest)
        while policy != Policy.REJECT and self.is_over():
            first = min(self.free(), key=lambda item: item.level)
            if first is newest:
                first = min(self.items, key=lambda item: item.level)
            self.items.remove(first)
        return True

    def give_back(self, item: Item) -> None:
        if item not in self.items:
            return  # it was taken back
        item.held = False
        newer = self.items[self.items.index(item) + 1 :]
        if self.discipline.last_value_key and any(each.key == item.key for each in newer):
            self.items.remove(item)

    def level_of(self, priority: int) -> int:
        """By the text of 1.0 3.2.1: the top and the bottom level have what is beyond."""
        n = self.discipline.levels
        if not n:
            return 0
        lowest, highest = 5 - -(-n // 2), 4 + n // 2
        return min(max(priority, lowest), highest)

    def free(self) -> list[Item]:
        return [item for item in self.items if not item.held]

    def take(self) -> Item | None:
        if not self.free():
            return None
        taken = max(self.free(), key=lambda item: item.level)
        taken.held = True
        return taken


DISCIPLINES = st.builds(
    Discipline,
    policy=st.sampled_from([Policy.REJECT, Policy.RING, Policy.RING_STRICT]),
    levels=st.sampled_from([0, 2, 3, 10]),
    last_value_key=st.just(""),
    number_header=st.sampled_from(["", "n"]),
    alerts=st.sampled_from([NO_ALERTS, AlertLimits(count=2, count_down=1)]),
) | st.builds(
    Discipline,
    policy=st.sampled_from([Policy.REJECT, Policy.RING]),
    last_value_key=st.just("k"),
)
PUBLISHES = st.tuples(
    st.just("publish"), st.integers(1, 4), st.integers(0, 9), st.sampled_from("ab")
)
STEPS = st.lists(
    PUBLISHES
    | st.tuples(st.just("take"))
    | st.tuples(st.sampled_from(["accept", "release"]), st.integers(0, 5))
    | st.tuples(st.just("restart")),
    max_size=40,
)


def publish(world: World, body: bytes, priority: int, key: str) -> bool:
    headers = {"k": Tagged(Kind.STRING, key)}
    message = world.message(body, key="q", headers=headers, priority=priority, durable=True)
    answer = world.host.publishing.publish(message, None, 0)
    world.turn()
    return answer.status != PublishStatus.REFUSED


def take(world: World) -> Delivery | None:
    consumer: Consumer
    consumer, subscription = world.subscribe(credit=1)
    world.turn()
    subscription.cancel()
    taken = consumer.take()
    return taken[0] if taken else None


@given(DISCIPLINES, st.integers(0, 4), st.sampled_from([0, 6]), STEPS)
def test_it_is_as_its_users_think_of_it(
    discipline: Discipline, count: int, size: int, steps: list[tuple]
) -> None:
    world, model = World(), Model(discipline, count, size)
    world.queue(durable=True, max_count=count, max_size=size, discipline=discipline)
    world.turn()
    held: list[tuple[Delivery, Item]] = []
    for number, (step, *said) in enumerate(steps):
        if step == "publish":
            octets, priority, key = said
            body = (b"%d" % number).ljust(octets, b"-")
            assert publish(world, body, priority, key) is model.publish(body, priority, key)
        elif step == "take":
            delivery, item = take(world), model.take()
            if delivery is None or item is None:
                assert delivery is item
            else:
                assert delivery.message.payload == item.body
                held.append((delivery, item))
        elif step == "restart":
            for item in [item for _, item in held]:
                model.give_back(item)
            held.clear()
            world.crash()
        elif held:
            delivery, item = held.pop(said[0] % len(held))
            outcome = ACCEPTED if step == "accept" else RELEASED
            world.host.settlement.settle(delivery, outcome)
            world.turn()
            if step == "release":
                model.give_back(item)
            elif item in model.items:
                model.items.remove(item)
        assert world.depth() == len(model.items)
    world.check()
