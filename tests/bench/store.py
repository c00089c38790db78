"""Durable records per second through the store, by batch: enqueue and dequeue, 300-octet messages.

    PYTHONPATH=tests python tests/bench/store.py [RECORDS]

The second size is four times the first: the same rate means that the cost is linear.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from bench.bare_store import bare_store

from gateway.message import Message
from gateway.store.writes import TurnWriter


def messages(first: int, count: int) -> list[Message]:
    payload = b"x" * 300
    return [
        Message(n, 0, payload, 0, 0, True, 4, -1, 0, n, "amq.direct", "key", 0, 0, 0, n, n, None)
        for n in range(first, first + count)
    ]


def run(directory: Path, batch: int, records: int) -> tuple[float, float]:
    """Seconds for so many enqueues, then for the dequeues; each batch waits for its commit."""
    store, done = bare_store(directory)
    store.open()
    writer = TurnWriter()
    turn = 0
    batches = [messages(first, batch) for first in range(1, records + 1, batch)]
    times = []
    for enqueueing in (True, False):
        started = time.perf_counter()
        for sent in batches:
            for message in sent:
                if enqueueing:
                    writer.message(message)
                    writer.enqueue(1, message.id, message.id)
                else:
                    writer.dequeue(1, message.id)
            turn += 1
            store.submit(turn, writer.take(), b"a" * (160 * batch))
            done.get()
        times.append(time.perf_counter() - started)
    store.close(b"")
    return times[0], times[1]


def recover(directory: Path, records: int) -> float:
    """Seconds to open a store with so many entries."""
    store, done = bare_store(directory)
    store.open()
    writer = TurnWriter()
    for turn, first in enumerate(range(1, records + 1, 1000), 1):
        for message in messages(first, 1000):
            writer.message(message)
            writer.enqueue(1, message.id, message.id)
        store.submit(turn, writer.take(), b"")
        done.get()
    store.close(b"")
    started = time.perf_counter()
    again, _ = bare_store(directory)
    found = again.open().count
    taken = time.perf_counter() - started
    again.close(b"")
    assert found == records
    return taken


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    print("batch   records   enqueue/s   dequeue/s")
    for batch in (1, 10, 100, 1000):
        for size in (records, 4 * records):
            count = max(batch, size * min(batch, 100) // 100)
            with tempfile.TemporaryDirectory() as scratch:
                enqueueing, dequeueing = run(Path(scratch), batch, count)
            print(
                f"{batch:5} {count:9} {count / enqueueing:11,.0f} {count / dequeueing:11,.0f}",
                flush=True,
            )
    for size in (records, 4 * records):
        with tempfile.TemporaryDirectory() as scratch:
            print(f"recover {size:9} {size / recover(Path(scratch), size):11,.0f}/s", flush=True)


if __name__ == "__main__":
    main()
