"""Pages on disk: read as they were written or not at all, and gone when nobody needs them."""

from __future__ import annotations

import os
import pathlib
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gateway.store.spill import FOLDER, Spill, Spot

WAIT_S = 30


class Asking:
    """Who keeps pages: asks, and waits for the answer."""

    def __init__(self, directory: pathlib.Path, most: int, keep_free: int) -> None:
        self.folder = directory / FOLDER
        self.calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.answers: dict[int, Spot | bytes | None] = {}
        self.told: list[str] = []
        self.spill = Spill(
            directory,
            self.calls.put,
            most=most,
            keep_free=lambda: keep_free,
            failed=self.told.append,
            file_octets=1000,
        )
        self.spill.open(self)
        self._token = 0

    def on_written(self, token: int, spot: Spot | None) -> None:
        self.answers[token] = spot

    def on_read(self, token: int, octets: bytes | None) -> None:
        self.answers[token] = octets

    def _answer(self) -> Spot | bytes | None:
        while self._token not in self.answers:
            self.calls.get(timeout=WAIT_S)()
        return self.answers.pop(self._token)

    def write(self, octets: bytes) -> Spot | None:
        self._token += 1
        self.spill.write(self._token, octets)
        spot = self._answer()
        assert not isinstance(spot, bytes)
        return spot

    def keep(self, octets: bytes) -> Spot:
        spot = self.write(octets)
        assert spot is not None
        return spot

    def read(self, spot: Spot) -> bytes | None:
        self._token += 1
        self.spill.read(self._token, spot)
        octets = self._answer()
        assert not isinstance(octets, tuple)
        return octets

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@contextmanager
def asking(directory: pathlib.Path, most: int = 1 << 40, keep_free: int = 0) -> Iterator[Asking]:
    made = Asking(directory, most, keep_free)
    try:
        yield made
    finally:
        made.spill.close()


def test_a_page_is_read_as_it_was_written(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        spots = [disk.keep(bytes([number]) * 100 * number) for number in range(30)]
        for number, spot in enumerate(spots):
            assert disk.read(spot) == bytes([number]) * 100 * number


def test_a_file_goes_when_nothing_in_it_is_needed(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        spots = [disk.keep(bytes(600)) for _ in range(6)]
        assert disk.files() == ["1", "2", "3"]
        disk.spill.let_go(spots[0])
        assert disk.read(spots[1]) == bytes(600)
        assert disk.files() == ["1", "2", "3"]
        disk.spill.let_go(spots[1])
        assert disk.read(spots[2]) == bytes(600)
        assert disk.files() == ["2", "3"]
        assert disk.spill.octets == 4 * (600 + 12)
        for spot in spots[2:]:
            disk.spill.let_go(spot)
        again = disk.keep(bytes(600))
        assert disk.files() == ["4"]
        assert disk.read(again) == bytes(600)


def test_it_takes_no_more_than_it_may(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path, most=1400) as disk:
        first, second = disk.keep(bytes(400)), disk.keep(bytes(400))
        assert disk.write(bytes(400)) is None
        assert "queues.paged_size is 1400 octets" in disk.told[0]
        disk.spill.let_go(first)
        assert disk.write(bytes(400)) is None  # its file has another page
        disk.spill.let_go(second)
        assert disk.read(disk.keep(bytes(400))) == bytes(400)


def test_it_leaves_room_on_the_disk(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path, keep_free=1 << 62) as disk:
        assert disk.write(b"page") is None
        assert disk.files() == []
        assert f"is to keep {1 << 62} octets free" in disk.told[0]


@pytest.mark.parametrize("at", [0, 5, 11, 12, 95])
def test_what_is_not_as_it_was_written_is_not_read(tmp_path: pathlib.Path, at: int) -> None:
    with asking(tmp_path) as disk:
        spot = disk.keep(bytes(84))
        path = disk.folder / "1"
        octets = bytearray(path.read_bytes())
        octets[at] ^= 1
        path.write_bytes(octets)
        assert disk.read(spot) is None
        assert disk.spill.read_failures == 3
        assert "not as it was written" in disk.told[0]


def test_what_is_cut_off_is_not_read(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        spot = disk.keep(bytes(100))
        os.truncate(disk.folder / "1", 50)
        assert disk.read(spot) is None


def test_a_page_is_read_only_where_it_was_written(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        first = disk.keep(b"first!")
        disk.keep(b"second")
        written = (disk.folder / "1").read_bytes()
        half = len(written) // 2
        (disk.folder / "1").write_bytes(written[half:] + written[:half])
        assert disk.read(first) is None


def test_what_is_needed_of_a_file_moves_when_that_is_little(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        needed = []
        for number in range(200):  # each file is full with three: one stays, two are let go
            others = [disk.keep(bytes(450)) for _ in range(2)]
            needed.append(disk.keep(bytes([number]) * 88))
            for spot in others:
                disk.spill.let_go(spot)
        found = [disk.read(spot) for spot in needed]
        assert found == [bytes([number]) * 88 for number in range(200)]
        assert disk.spill.octets < 4 * 200 * 100 + 2000  # the last file counts as a whole
        assert disk.spill.octets == sum(
            (disk.folder / each).stat().st_size for each in disk.files()
        )


def test_what_is_needed_moves_where_there_is_room_for_nothing_else(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path, most=10_000) as disk:
        spots = [disk.keep(bytes(188)) for _ in range(47)]
        assert disk.write(bytes(600)) is None
        for number, spot in enumerate(spots):
            if number % 5:
                disk.spill.let_go(spot)
        kept = [disk.keep(bytes(600)) for _ in range(8)]
        assert {disk.read(spot) for spot in kept} == {bytes(600)}
        assert {disk.read(spot) for spot in spots[::5]} == {bytes(188)}
        assert disk.spill.octets <= 10_000


def test_what_cannot_be_read_any_more_does_not_move(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        spots = [disk.keep(bytes(188)) for _ in range(5)]
        os.truncate(disk.folder / "1", 500)
        for spot in spots[:4]:
            disk.spill.let_go(spot)
        assert disk.read(spots[4]) is None
        assert disk.files() == ["1"]
        disk.spill.let_go(spots[4])
        assert disk.read(disk.keep(b"page")) == b"page"
        assert disk.files() == ["2"]


def test_a_disk_that_refuses_takes_pages_again_later(tmp_path: pathlib.Path) -> None:
    with asking(tmp_path) as disk:
        disk.folder.rmdir()
        assert disk.write(b"page") is None
        assert disk.spill.write_failures == 1
        assert "does not take" in disk.told[0]
        disk.folder.mkdir()
        assert disk.read(disk.keep(b"page")) == b"page"


def test_nothing_outlives_the_process(tmp_path: pathlib.Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1").write_bytes(b"of an earlier life")
    with asking(tmp_path) as disk:
        assert disk.files() == []
        disk.keep(b"page")
        assert (disk.folder / "1").stat().st_mode & 0o077 == 0
    assert disk.files() == []
