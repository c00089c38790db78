"""What a scrape costs, at two sizes of what there is to tell.

    PYTHONPATH=tests python tests/bench/scrape.py

A whole gateway without sockets, with so many connections and so many queues, each with a message.
*gathered*: on the event loop's thread, and in how many pieces, between which others are served;
*text*: in another thread. For `/metrics`, and for `/metrics/objects` of all queues, and of those
that a pattern matches. The best of five, and how the larger size compares with the smaller.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client.exposition import generate_latest
from support.whole_gateway import WholeGateway

from gateway.bridge.bridge import Bridge
from gateway.bridge.seams import QueueSettings
from gateway.message import NEVER, NO_PRIORITY, NO_TTL, Message
from gateway.metrics import METRICS, OBJECT_METRICS, Collector
from gateway.net.admin.by_queue import ByQueue
from gateway.net.admin.measures import Sources, readers
from gateway.service.admin import measured
from gateway.service.declared import Itself
from gateway.wire import buffers

SIZES = ((1_000, 100), (10_000, 1_000))
TIMES = 5


def fill(whole: WholeGateway, queues: int, connections: int) -> None:
    """So many of each."""
    bridge: Bridge = whole.service.bridge
    host = bridge.default_host
    for number in range(queues):
        name = f"orders.{number}"
        host.declaring.declare_queue(name, QueueSettings(), Itself())
        facts = (NO_PRIORITY, NO_TTL, NEVER, bridge.now_ms, "", name, 0, 0, 1, 0, 0, None)
        message = Message(bridge.numbers.next_message(), 0, b"x", 0, 0, False, *facts)
        host.publishing.publish(message, None, 0)
    for _ in range(connections):
        whole.connect_0_10()


def best(work: Callable[[], int]) -> tuple[float, int]:
    """Milliseconds of CPU of the best of several, and what it answered."""
    found = []
    for _ in range(TIMES):
        began = time.process_time()
        answer = work()
        found.append((1000 * (time.process_time() - began), answer))
    return min(found)


def measure(name: str, collector: Collector, *wanted: str) -> float:
    """One endpoint; milliseconds on the event loop's thread."""
    registry = collector.registry()

    def gather() -> int:
        pieces: Iterator[object] = collector.pieces(wanted)
        return sum(1 for _ in pieces)

    gathered_ms, pieces = best(gather)
    text_ms, octets = best(lambda: len(generate_latest(registry)))
    print(
        f"  {name:28} gathered {gathered_ms:8.2f} ms in {pieces:4} pieces, text {text_ms:8.2f} ms,"
        f" {octets / 1000:8,.0f} kB"
    )
    return gathered_ms


def counted(sources: Sources) -> Iterator[object]:
    """As `Sources.count`, but for the disk, which a thread asks."""
    yield from sources.census.take()
    yield from sources.products.count()


def run(queues: int, connections: int) -> list[float]:
    """All of one size."""
    print(f"{queues:,} queues, {connections:,} connections")
    with tempfile.TemporaryDirectory() as directory:
        whole = WholeGateway(Path(directory) / "data").start()
        fill(whole, queues, connections)
        sources = measured(whole.service)
        process = Collector(METRICS, readers(sources), lambda _wanted: counted(sources))
        by_queue = ByQueue(whole.service.bridge, whole.service.clock.now_ms)
        objects = Collector(OBJECT_METRICS, by_queue.readers(), by_queue.count)
        found = [
            measure("/metrics", process),
            measure("/metrics/objects", objects),
            measure("the same, ?match=orders.7*", objects, "orders.7*"),
        ]
        whole.stop()
    return found


if __name__ == "__main__":
    print("pure form" if buffers.__file__.endswith(".py") else "compiled form")
    small, large = [run(*size) for size in SIZES]
    ratios = ", ".join(f"{many / few:.1f}" for few, many in zip(small, large, strict=True))
    print(f"ten times as many of both take so many times as long to gather: {ratios}")
