"""What a message costs in a queue of each discipline: in, out and settled, at two sizes.

    PYTHONPATH=tests python tests/bench/disciplines.py [MESSAGES ...]

The bridge alone, with its audit records, and 100 consumers that have credit for one message each;
priorities and 1,000 keys are spread evenly. Of a ring all but a hundredth is pushed out. CPU in
microseconds a message, and how it compares with a plain queue of that size.
"""

from __future__ import annotations

import sys
import time

from support.bridge_world import World

from gateway.bridge.queues.discipline import PLAIN, Discipline, FlowLimits, Policy
from gateway.message import ACCEPTED, Kind
from gateway.wire.tagged import Tagged

SIZES = (1000, 100_000)
CONSUMERS, KEYS, BATCH = 100, 1000, 100
RING = Discipline(policy=Policy.RING)
DISCIPLINES = {
    "plain": PLAIN,
    "flow control": Discipline(flow=FlowLimits(stop_count=1 << 30, resume_count=1 << 29)),
    "ring": RING,
    "priorities": Discipline(levels=10),
    "fairshare": Discipline(levels=10, fair=(3,) * 10),
    "ring of priorities": Discipline(policy=Policy.RING, levels=10),
    "last values": Discipline(last_value_key="key"),
    "groups": Discipline(group_key="key"),
    "filter": Discipline(filter="key >= 0"),
    "numbers": Discipline(number_header="number"),
}


def cost_us(discipline: Discipline, count: int) -> float:
    """CPU a message."""
    world = World()
    limit = count // 100 if discipline.policy == Policy.RING else 0
    world.queue(discipline=discipline, max_count=limit)
    headers = [{"key": Tagged(Kind.INTEGER, key)} for key in range(KEYS)]
    messages = [
        world.message(key="q", priority=number % 10, headers=headers[number % KEYS])
        for number in range(count)
    ]
    consumers = [world.subscribe(credit=0) for _ in range(CONSUMERS)]
    publish, settle = world.host.publishing.publish, world.host.settlement.settle
    began = time.process_time()
    for at in range(0, count, BATCH):
        for message in messages[at : at + BATCH]:
            publish(message, None, 0)
        world.turn()
    while world.depth():
        for _, subscription in consumers:
            subscription.grant(1)
        world.turn()
        for consumer, _ in consumers:
            for delivery in consumer.take():
                settle(delivery, ACCEPTED)
        world.turn()
    return (time.process_time() - began) / count * 1e6


def main(sizes: list[int]) -> None:
    """A line for each discipline."""
    plain = {size: min(cost_us(PLAIN, size) for _ in range(3)) for size in sizes}
    for name, discipline in DISCIPLINES.items():
        told = []
        for size in sizes:
            cost = min(cost_us(discipline, size) for _ in range(3))
            told.append(f"{size:>9,}: {cost:6.2f} us ({cost / plain[size]:4.2f})")
        print(f"{name:20}", *told, flush=True)


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or list(SIZES))
