"""What the store's tests share: messages, fakes, and a model of what a store must hold."""

from __future__ import annotations

import os
import queue
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gateway.errors import StoreError
from gateway.message import Message
from gateway.store.entries import Entry
from gateway.store.interface import Fetched, Recovered, Store, TopologyRow
from gateway.store.sqlite import SqliteStore
from gateway.store.writes import TurnWriter

Facts = tuple[object, ...]


def message(number: int, payload: bytes = b"payload", **facts: object) -> Message:
    """A message with every fact set, and different from every other one's."""
    values: dict[str, object] = {
        "encoding": number % 2,
        "payload": payload,
        "body_at": len(payload) // 2,
        "message_format": number % 7,
        "durable": True,
        "priority": number % 11 - 1,
        "ttl_ms": number * 3 - 1,
        "expires_ms": number * 5,
        "arrived_ms": 1_700_000_000_000 + number,
        "exchange": f"exchange-{number % 3}",
        "routing_key": "schlüssel" * (number % 4),
        "delivery_count": number % 3,
        "flags": number % 32,
        "publisher": 0,
        "id_digest": -number,
        "body_digest": 2**63 - 1 - number,
        "reader": None,
    }
    values.update(facts)
    return Message(number, **values)  # type: ignore[arg-type]  # one dict for all field types


class Segments:
    """Audit segments in memory; what is not synced is lost by `power_cut`."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.synced = 0
        self.closed = False
        self.refusals = 0
        self.full = False  # of the disk, when it refuses
        self.sync_refusals = 0
        self.unsynced_octets = 0

    def append(self, blocks: bytes) -> None:
        """Blocks of these tests are texts that end with a semicolon."""
        if self.refusals:
            self.refusals -= 1
            raise StoreError("no space for audit", part="audit", full=self.full)
        held = set(self.blocks)
        self.blocks += [block for block in blocks.split(b";")[:-1] if block not in held]

    def sync(self) -> None:
        if self.sync_refusals:
            self.sync_refusals -= 1
            raise StoreError("no sync for audit", part="audit")
        self.unsynced_octets = 0
        self.synced = len(self.blocks)

    def look(self) -> None:
        pass

    def close(self) -> None:
        self.sync()
        self.closed = True

    def power_cut(self) -> None:
        del self.blocks[self.synced :]


class Reactor:
    """Collects what the store's thread wants called, and calls it when told."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.committed: list[int] = []
        self.failures: list[str] = []
        self.errors: list[StoreError] = []
        self.eased = 0

    def on_failed(self, error: StoreError) -> None:
        self.failures.append(str(error))
        self.errors.append(error)

    def on_eased(self) -> None:
        self.eased += 1

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Run calls as they come until `condition`; fails when nothing comes for long."""
        while not condition():
            self.calls.get(timeout=30)()


class Running:
    """An open `SqliteStore` with its fakes, numbering the turns."""

    def __init__(self, directory: Path, segments: Segments | None = None, **options: int) -> None:
        self.segments = segments or Segments()
        self.reactor = Reactor()
        self.store = SqliteStore(
            directory,
            self.segments,
            self.reactor.calls.put,
            self.reactor.committed.append,
            self.reactor.on_failed,
            self.reactor.on_eased,
            **options,
        )
        self.recovered: Recovered = self.store.open()
        self.entries = recalled(self.store)
        assert len(self.entries) == self.recovered.count
        self.turn = 0
        self.pieces: list[Fetched] = []
        self.store.on_fetched = self.pieces.append

    def submit(self, writer: TurnWriter | None = None, audit: bytes = b"") -> int:
        self.turn += 1
        self.store.submit(self.turn, writer.take() if writer else b"", audit)
        return self.turn

    def wait(self) -> None:
        """Until all that was submitted is reported."""
        if self.turn:
            self.reactor.run_until(
                lambda: bool(self.reactor.committed) and self.reactor.committed[-1] == self.turn
            )

    def commit(self, writer: TurnWriter | None = None, audit: bytes = b"") -> None:
        self.submit(writer, audit)
        self.wait()

    def fetched(self, queue_id: int, first: int, behind: int) -> list[Fetched]:
        """The pieces of an answer, the last one with them."""
        request = len(self.pieces) + 1
        self.store.fetch(request, queue_id, first, behind)
        self.reactor.run_until(lambda: any(each.last for each in self.of(request)))
        return self.of(request)

    def of(self, request: int) -> list[Fetched]:
        """What has come for that request."""
        return [each for each in self.pieces if each.request == request]

    def close(self) -> None:
        self.store.close(b"")


def recalled(store: Store, queues: list[int] | None = None) -> list[Entry]:
    """What an open store held when it was opened: checked to come once, each queue in order."""
    pieces: queue.SimpleQueue[Fetched] = queue.SimpleQueue()
    entries: list[Entry] = []
    last = False
    while not last:
        store.recall(pieces.put, queues)
        piece = pieces.get(timeout=30)
        assert piece.error is None
        entries += piece.entries
        last = piece.last
    by_queue = sorted(entries, key=lambda entry: entry.queue_id)
    places = [(entry.queue_id, entry.position) for entry in by_queue]
    assert places == sorted(set(places))
    return by_queue


class Reopened(NamedTuple):
    """What a store had in it."""

    entries: list[Entry]
    topology: list[TopologyRow]
    clean: bool
    damage: list[str]
    aside: list[str]
    incarnation: int
    highest_message_id: int


def content(store: Running | Reopened) -> dict[tuple[int, int], tuple[int, Message]]:
    """The entries by queue and position."""
    return {
        (entry.queue_id, entry.position): (entry.delivery_count, entry.message)
        for entry in store.entries
    }


def reopened(directory: Path, *, accept_damaged: bool = False) -> Reopened:
    """What a store in this directory holds; the directory is left closed in order."""
    running = Running(directory, accept_damaged=accept_damaged)
    running.close()
    found = running.recovered
    return Reopened(
        running.entries,
        found.topology,
        found.clean,
        found.damage,
        found.aside,
        found.incarnation,
        found.highest_message_id,
    )


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory, in memory where there is one: for tests that open stores by the hundred."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


def one_message(position: int, number: int | None = None, queue_id: int = 1) -> TurnWriter:
    """A turn that enqueues one message."""
    writer = TurnWriter()
    number = position if number is None else number
    writer.message(message(number, b"x" * 50))
    writer.enqueue(queue_id, position, number)
    return writer
