"""Queues larger than memory: what a message costs, how much stays in memory, and who waits for it.

    PYTHONPATH=tests python tests/bench/paged.py [messages ...]

A bridge with a disk for its pages and a store that forgets, driven as the reactor would: 200
messages a turn come into a queue that nobody reads, of 100 octets each, and later all of them go
out, 500 a turn. Meanwhile somebody else sends one message a turn by another queue: what is told of
others is how long he waits for it, half of the times, 999 of 1,000, and at most; cpu is that of the
busiest turn. The first line is a queue in memory, for comparison; a last one fills and empties a
short queue, as most are.
"""

from __future__ import annotations

import gc
import pathlib
import queue
import resource
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable

from support.bridge_world import Consumer, Session, World

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.message import ACCEPTED, Delivery
from gateway.store.spill import Spill

IN, OUT = 200, 500
BODY = bytes(100)
MIB = 1024 * 1024


class Forgets:
    """Audit blocks that nobody reads."""

    unsynced_octets = 0

    def append(self, blocks: bytes) -> None:
        return

    def next_sequence(self) -> int:
        return 1


class Takes(Consumer):
    """Takes and forgets, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[Delivery] = []

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        self.fresh.append(delivery)
        return DeliverStatus.TAKEN


class Trial:
    """One bridge, its disk, and who uses the queue beside it."""

    def __init__(self, directory: pathlib.Path, memory_octets: int) -> None:
        limits = BridgeLimits(
            memory_octets=memory_octets, octets_high=1 << 40, octets_low=1 << 40, octets_max=1 << 40
        )
        limits.messages_high = limits.messages_low = limits.messages_max = 1 << 40
        self.world = World(limits=limits)
        self.world.blocks.append = lambda blocks: None  # type: ignore[method-assign]
        self.calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        paging = self.world.bridge.paging
        self.spill = Spill(directory, self.calls.put, most=1 << 40, keep_free=0, failed=print)
        self.spill.open(paging)
        paging.disk = self.spill
        self.sent: deque[float] = deque()
        self.turns: list[float] = []
        self.busiest = 0.0
        self.world.queue("big")
        self.world.queue("other")
        self.beside, _ = self.subscribe("other")

    def subscribe(self, name: str, credit: int = -1) -> tuple[Takes, Subscription]:
        consumer, subscription = self.world.subscribe(name, Session(1), credit=0)
        taking = Takes()
        subscription.outlet = taking
        subscription.grant(credit, -1)
        del consumer
        return taking, subscription

    def turn(self) -> None:
        began, worked = time.perf_counter(), time.thread_time()
        world = self.world
        while not self.calls.empty():
            self.calls.get()()
        self.sent.append(began)
        world.send(b"x", key="other")
        world.bridge.end_turn(world.now_ms)
        while world.calls:
            world.calls.pop(0)()
        for delivery in self.beside.fresh:
            world.host.settlement.settle(delivery, ACCEPTED)
            self.turns.append(time.perf_counter() - self.sent.popleft())
        self.beside.fresh.clear()
        self.busiest = max(self.busiest, time.thread_time() - worked)

    def fill(self, count: int) -> float:
        began = time.perf_counter()
        for _ in range(count // IN):
            self.world.send(*[BODY] * IN, key="big")
            self.turn()
        return (time.perf_counter() - began) / count * 1e6

    def empty(self, count: int) -> float:
        began = time.perf_counter()
        taking, _ = self.subscribe("big")
        seen = 0
        while seen < count:
            self.turn()
            seen += len(taking.fresh)
            for delivery in taking.fresh:
                self.world.host.settlement.settle(delivery, ACCEPTED)
            if not taking.fresh:
                time.sleep(0.0001)  # the disk's thread has its turn
            taking.fresh.clear()
        return (time.perf_counter() - began) / count * 1e6

    def waited(self) -> str:
        turns = sorted(self.turns)
        self.turns = []
        busiest, self.busiest = self.busiest, 0.0
        shown = [turns[len(turns) // 2], turns[int(len(turns) * 0.999)], turns[-1], busiest]
        half, most, longest, cpu = [f"{each * 1e3:.1f}" for each in shown]
        return f"{half}/{most}/{longest} ms (cpu {cpu})"


def resident() -> float:
    fields = pathlib.Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() / MIB


def measure(name: str, count: int, memory_octets: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        gc.collect()
        before = resident()
        trial = Trial(pathlib.Path(directory), memory_octets)
        put = trial.fill(count)
        waited_in = trial.waited()
        for _ in range(20):
            trial.turn()
        gc.collect()
        rest = resident() - before
        paging = trial.world.bridge.paging
        away = int(trial.world.bridge.pressure.away_messages)
        trial.waited()
        taken = trial.empty(count)
        print(
            f"{name:10} {count:9} {away:9} away {rest:7.0f} MiB  in {put:5.1f} us, others"
            f" {waited_in}  out {taken:5.1f} us, others {trial.waited()}  waits {paging.waits}",
            flush=True,
        )
        trial.spill.close()


def short(count: int) -> None:
    """A queue as most are."""
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(pathlib.Path(directory), 256 * MIB)
        taking, _ = trial.subscribe("big")
        best = 1e9
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(count // IN):
                trial.world.send(*[BODY] * IN, key="big")
                trial.turn()
                for delivery in taking.fresh:
                    trial.world.host.settlement.settle(delivery, ACCEPTED)
                taking.fresh.clear()
            best = min(best, (time.perf_counter() - began) / count * 1e6)
        print(f"{'short':10} {count:9} {best:5.1f} us a message, in and out")
        trial.spill.close()


def main() -> None:
    gc.freeze()
    gc.disable()
    measure("in memory", 100_000, 0)
    for count in [int(each) for each in sys.argv[1:]] or [100_000, 1_000_000]:
        measure("paged", count, 32 * MIB)
    short(40_000)


if __name__ == "__main__":
    main()
