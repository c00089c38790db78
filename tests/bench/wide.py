"""What a message costs where very much is bound, subscribed or grouped, at two sizes of that.

    PYTHONPATH=tests python tests/bench/wide.py [MESSAGES]

The bridge alone, with its audit records. Of so many bindings of an exchange one leads a message to
a queue; of so many subscriptions of a queue, each of which has credit for one message, one gets it;
of so many groups or keys each message has another. CPU in microseconds a message, in, out and
settled, and how the larger size compares with the smaller.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

from support.bridge_world import World

from gateway.bridge.queues.discipline import PLAIN, Discipline
from gateway.message import ACCEPTED, Kind, Message
from gateway.wire.tagged import Tagged

MESSAGES = 20_000
BATCH = 100
BOUND = (1_000, 10_000)
SUBSCRIBED = (100, 1_000)
GROUPS = (1_000, 100_000)


def bound(exchange: str, size: int, count: int) -> tuple[World, list[Message], int]:
    """So many bindings of queue `q`, by keys or headers of which each message has one."""
    world = World()
    world.queue()
    for number in range(size):
        match = {"x-match": Tagged(Kind.STRING, "any"), "n": Tagged(Kind.INTEGER, number)}
        arguments = match if exchange == "amq.match" else {}
        assert world.host.bindings.bind("q", exchange, f"a.b{number}.c", arguments, b"") is None
    messages = [
        world.message(
            exchange=exchange,
            key=f"a.b{number % size}.c",
            headers={"n": Tagged(Kind.INTEGER, number % size)},
        )
        for number in range(count)
    ]
    return world, messages, 1


def subscribed(size: int, count: int) -> tuple[World, list[Message], int]:
    """So many subscriptions of one queue."""
    world = World()
    world.queue()
    return world, [world.message(key="q") for _ in range(count)], size


def grouped(discipline: Discipline, size: int, count: int) -> tuple[World, list[Message], int]:
    """So many groups or keys in one queue."""
    world = World()
    world.queue(discipline=discipline)
    messages = [
        world.message(key="q", headers={"key": Tagged(Kind.INTEGER, number % size)})
        for number in range(max(size, count))
    ]
    return world, messages, 10


def cost_us(world: World, messages: list[Message], consumers: int) -> float:
    """CPU a message."""
    having = [world.subscribe(credit=0) for _ in range(consumers)]
    asking = min(consumers, BATCH)  # of these, in turn
    publish, settle = world.host.publishing.publish, world.host.settlement.settle
    began = time.process_time()
    for at in range(0, len(messages), BATCH):
        for message in messages[at : at + BATCH]:
            publish(message, None, 0)
        world.turn()
        turns = having[at % consumers :][:asking]
        for _, subscription in turns:
            subscription.grant(BATCH // asking)
        world.turn()
        for consumer, _ in turns:
            for delivery in consumer.take():
                settle(delivery, ACCEPTED)
        world.turn()
    return (time.process_time() - began) / len(messages) * 1e6


def main(count: int) -> None:
    """A line for each."""
    groups, last_values = Discipline(group_key="key"), Discipline(last_value_key="key")
    ways: dict[str, tuple[tuple[int, int], Callable[[int], tuple[World, list[Message], int]]]] = {
        "bindings of amq.direct": (BOUND, partial(bound, "amq.direct", count=count)),
        "bindings of amq.topic": (BOUND, partial(bound, "amq.topic", count=count)),
        "bindings of amq.match": (BOUND, partial(bound, "amq.match", count=count)),
        "subscriptions": (SUBSCRIBED, partial(subscribed, count=count)),
        "groups": (GROUPS, partial(grouped, groups, count=count)),
        "last values": (GROUPS, partial(grouped, last_values, count=count)),
        "no groups": (GROUPS, partial(grouped, PLAIN, count=count)),
    }
    for name, (sizes, made) in ways.items():
        costs = [min(cost_us(*made(size)) for _ in range(3)) for size in sizes]
        told = [f"{size:>8,}: {cost:7.2f} us" for size, cost in zip(sizes, costs, strict=True)]
        print(f"{name:24}", *told, f"({costs[1] / costs[0]:4.2f})", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES)
