"""A copy that is made while the store is written: it has what the store has, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import pytest
from support.stores import Running, content, one_message, reopened

from gateway.errors import StoreError
from gateway.store import committer, copying
from gateway.store.copying import Copying
from gateway.store.sqlite import FILE_NAME
from gateway.store.writes import TurnWriter


class Writer:
    """A thread that writes a copy, and after each share waits until it is told to go on."""

    def __init__(self, making: Copying, directory: Path) -> None:
        directory.mkdir()
        self.came: SimpleQueue[str] = SimpleQueue()
        self.goes_on: SimpleQueue[None] = SimpleQueue()
        self._making = making
        self._path = directory / FILE_NAME
        self.thread = Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._making.write(self._path, self._stepped)
            self.came.put("whole")
        except StoreError as error:
            self.came.put(str(error))

    def _stepped(self) -> None:
        self.came.put("")
        self.goes_on.get()


def dequeue(position: int) -> TurnWriter:
    writer = TurnWriter()
    writer.dequeue(1, position)
    return writer


@pytest.mark.parametrize("seed", range(5))
def test_what_is_added_and_removed_meanwhile_is_so_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(copying, "SHARE_OCTETS", 1)
    monkeypatch.setattr(committer, "DEAD_ROWS", 1)
    monkeypatch.setattr(committer, "WAL_OCTETS", 20_000)
    pick = random.Random(seed)
    running = Running(tmp_path / "store")
    there = [*range(1, 31)]
    for position in there:
        running.commit(one_message(position))
    making = running.store.copy()
    writer = Writer(making, tmp_path / "copy")
    position, steps, came = 30, 0, writer.came.get(timeout=30)
    while came == "":
        steps += 1
        for _ in range(3 if steps < 15 else 0):
            if pick.random() < 0.6 and there:
                running.commit(dequeue(there.pop(pick.randrange(len(there)))))
            else:
                position += 1
                there.append(position)
                running.commit(one_message(position))
        writer.goes_on.put(None)
        came = writer.came.get(timeout=30)
    assert came == "whole"
    assert steps > 15
    running.close()
    kept = [entry.position for entry in reopened(tmp_path / "copy").entries]
    assert kept == sorted(there)
    store, copy = reopened(tmp_path / "store"), reopened(tmp_path / "copy")
    assert content(copy).keys() == content(store).keys()
    assert (copy.topology, copy.damage) == (store.topology, store.damage)


def test_who_ends_it_is_heard_and_the_next_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SHARE_OCTETS", 1)
    running = Running(tmp_path / "store")
    for position in (1, 2, 3):
        running.commit(one_message(position))
    making = running.store.copy()
    writer = Writer(making, tmp_path / "copy")
    assert writer.came.get(timeout=30) == ""
    making.end(StoreError("it was given up"))
    again = Writer(running.store.copy(), tmp_path / "again")
    while (came := again.came.get(timeout=30)) == "":
        again.goes_on.put(None)
    assert came == "whole"
    writer.goes_on.put(None)
    while (came := writer.came.get(timeout=30)) == "":
        writer.goes_on.put(None)
    assert came == "it was given up"
    running.close()
    assert len(reopened(tmp_path / "again").entries) == 3


def test_a_store_that_is_closed_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "SHARE_OCTETS", 1)
    running = Running(tmp_path / "store")
    for position in (1, 2, 3):
        running.commit(one_message(position))
    writer = Writer(running.store.copy(), tmp_path / "copy")
    assert writer.came.get(timeout=30) == ""
    running.close()
    writer.goes_on.put(None)
    while (came := writer.came.get(timeout=30)) == "":
        writer.goes_on.put(None)
    assert came == "the gateway stops"
