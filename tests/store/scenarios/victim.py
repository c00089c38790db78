"""A process to be killed: drives a `SqliteStore` with random turns until somebody ends it.

    python tests/store/victim.py DIRECTORY SEED

It prints, one line each and flushed, what it is about to submit (`submit TURN ENTERED LEFT`, places
as `queue.position`) and what it was told is safe (`committed TURN`). The messages' payloads can be
computed from their ids, so that whoever reads the store afterwards can check them.
"""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

from gateway.errors import StoreError
from gateway.message import Message
from gateway.store import committer
from gateway.store.interface import Fetched
from gateway.store.sqlite import SqliteStore
from gateway.store.writes import TurnWriter


def payload_of(number: int) -> bytes:
    """The payload of message `number`: up to 3,000 octets that no other message has."""
    return f"{number};".encode() * (1 + number % 400)


def message_of(number: int) -> Message:
    payload = payload_of(number)
    return Message(
        number, 1, payload, 0, 0, True, 4, -1, 0, number, "", f"q{number}", 0, 0, 0, 0, 0, None
    )


class FileSegments:
    """Audit segments: one file, a line of text a block, skipping what it has."""

    unsynced_octets = 0

    def __init__(self, path: Path) -> None:
        self._file = open(path, "a+b")  # noqa: SIM115  # closed with the process
        self._file.seek(0)
        held = self._file.read()
        self._file.truncate(held.rfind(b";") + 1)
        self._last = int(held.split(b";")[-2]) if held.count(b";") else 0

    def append(self, blocks: bytes) -> None:
        for block in blocks.split(b";")[:-1]:
            if int(block) > self._last:
                self._last = int(block)
                self._file.write(block + b";")
        self._file.flush()

    def sync(self) -> None:
        self._file.flush()

    def look(self) -> None:
        return

    def close(self) -> None:
        self._file.close()


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(directory: Path, seed: int) -> None:
    """Run until killed; at most 64 turns are under way at once."""
    # Small limits, so that deleting, rewriting and checkpoints happen all the time.
    committer.WAL_OCTETS = 200_000  # type: ignore[misc]  # a constant elsewhere
    committer.DEAD_ROWS = 20  # type: ignore[misc]
    room = threading.Semaphore(64)

    def committed(turn: int) -> None:
        nonlocal reported
        say("committed", turn)
        room.release(turn - reported)
        reported = turn

    def failed(error: StoreError) -> None:
        say("failed", error)

    chance = random.Random(seed)
    store = SqliteStore(
        directory,
        FileSegments(directory / "audit.txt"),
        lambda call: call(),
        committed,
        failed,
        int,
        slack_octets=100_000,
    )
    recovered = store.open()
    pieces: SimpleQueue[Fetched] = SimpleQueue()
    living: list[tuple[int, int]] = []
    while len(living) < recovered.count:
        store.recall(pieces.put)
        living += [(entry.queue_id, entry.position) for entry in pieces.get().entries]
    say("opened", len(living))
    number = position = recovered.highest_message_id
    turn = reported = seed * 1_000_000
    while True:
        writer = TurnWriter()
        entered, left = [], []
        for _ in range(chance.randrange(20)):
            if chance.random() < 0.51 or not living:
                number += 1
                position += 1
                place = (chance.randrange(1, 4), position)
                writer.message(message_of(number))
                writer.enqueue(*place, number)
                entered.append(place)
            else:
                place = living.pop(chance.randrange(len(living)))
                writer.dequeue(*place)
                left.append(place)
        living += entered
        turn += 1
        room.acquire()
        say("submit", turn, *[_listed(places) for places in (entered, left)])
        store.submit(turn, writer.take(), b"%d;" % turn)


def _listed(places: list[tuple[int, int]]) -> str:
    return ",".join(f"{queue_id}.{position}" for queue_id, position in places) or "-"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
