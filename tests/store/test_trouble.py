from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.store.interface import StoreCounts
from gateway.store.reserve import Reserve
from gateway.store.trouble import DRAIN_OCTETS, LOOK_SHARE, WRITINGS, Trouble


class Told:
    def __init__(self, directory: Path, reserve_octets: int = 0) -> None:
        self.log: list[str] = []
        self.counts = StoreCounts()
        self.reserve = Reserve(directory, reserve_octets)
        self.reserve.open()
        self.marks = 0
        self.held = 0
        self.trouble = Trouble(
            self.reserve,
            self.counts,
            self.call,
            self.failed,
            self.eased,
            self.mark,
            lambda: self.held,
        )

    def call(self, function: Callable[[], None]) -> None:
        function()

    def failed(self, error: StoreError) -> None:
        self.log.append(f"{error}{' (reserve)' if error.on_reserve else ''}")

    def mark(self) -> None:
        self.marks += 1

    def eased(self) -> None:
        self.log.append("eased")


def test_a_cause_is_told_again_at_growing_intervals_and_another_at_once(tmp_path: Path) -> None:
    told = Told(tmp_path)
    for attempt in range(1, 40):
        told.trouble.refused(StoreError("other" if attempt == 30 else "broken"))
    assert told.log == ["broken"] * 5 + ["other"] + ["broken"]
    told.trouble.written()
    assert told.log[-1] == "eased"
    assert told.marks == 39


def test_pauses_grow_up_to_a_limit_and_begin_anew(tmp_path: Path) -> None:
    trouble = Told(tmp_path).trouble
    pauses = [trouble.refused(StoreError("broken")) for _ in range(8)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    trouble.written()
    assert trouble.refused(StoreError("broken")) == 0.1


def test_nothing_is_told_of_writes_that_succeed(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.trouble.written()
    assert told.log == []


def test_failures_are_counted_by_part(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.trouble.refused(StoreError("broken"))
    told.trouble.refused(StoreError("broken", part="audit"))
    told.trouble.refused(StoreError("broken", part="audit"))
    assert (told.counts.failures, told.counts.audit_failures) == (1, 2)


def test_a_full_disk_gets_the_reserve_and_is_tried_again_at_once(tmp_path: Path) -> None:
    told = Told(tmp_path, 4096)
    assert told.trouble.refused(StoreError("full", full=True)) == 0.0
    assert told.trouble.on_reserve
    told.trouble.written()
    assert told.trouble.refused(StoreError("full", full=True)) == 0.0
    assert told.trouble.refused(StoreError("full", full=True)) > 0
    assert not told.trouble.on_reserve
    told.trouble.written()
    assert told.trouble.on_reserve
    told.trouble.look_for_room()
    reserve = "the disk is full; the room set aside for that is in use (reserve)"
    assert told.log == [reserve, "full", reserve, "eased"]
    assert not told.trouble.on_reserve


def test_a_reserve_that_somebody_removes_is_set_aside_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(tmp_path, 1 << 20)
    (file,) = tmp_path.iterdir()
    file.unlink()
    told.trouble.watch_room()
    assert (file.stat().st_size, told.reserve.held, told.log) == (1 << 20, 1 << 20, [])
    file.unlink()
    monkeypatch.setattr(Reserve, "room", lambda self: 0)
    told.trouble.watch_room()
    assert told.reserve.held == 0
    assert [line.endswith("(reserve)") for line in told.log] == [True]


def test_a_full_disk_of_the_log_alone_keeps_the_reserve(tmp_path: Path) -> None:
    told = Told(tmp_path, 4096)
    told.trouble.refused(StoreError("no room for the log", part="audit", cause="full"))
    assert told.reserve.held == 4096
    assert told.log == ["no room for the log"]


def test_a_broken_disk_keeps_the_reserve(tmp_path: Path) -> None:
    told = Told(tmp_path, 4096)
    told.trouble.refused(StoreError("broken"))
    told.trouble.written()
    assert told.reserve.held == 4096
    assert told.log == ["broken", "eased"]


def test_an_unreadable_row_is_told_and_holds_nobody_back(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.trouble.unreadable(StoreError("row 7"))
    assert told.log == ["row 7", "eased"]
    told.trouble.refused(StoreError("broken"))
    told.trouble.unreadable(StoreError("row 8"))
    assert told.log[2:] == ["broken", "row 8"]


def test_the_wal_is_short_where_the_reserve_is_small(tmp_path: Path) -> None:
    most = 8 * 1024 * 1024
    assert Told(tmp_path).trouble.wal_octets(most) == most
    assert Told(tmp_path, 1024 * 1024).trouble.wal_octets(most) == 256 * 1024
    assert Told(tmp_path, 4096).trouble.wal_octets(most) == 128 * 1024
    assert Told(tmp_path, 1024 * 1024).trouble.wal_octets(200) == 200


def test_publishers_wait_when_what_is_free_is_needed_to_drain_the_queues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(tmp_path, 1024 * 1024)
    free = [1000 * DRAIN_OCTETS]
    monkeypatch.setattr(told.reserve, "room", lambda: free[0])
    told.held = 1000
    told.trouble.watch_room()
    assert (told.log, told.trouble.on_reserve) == ([], False)
    told.held = 1001
    told.trouble.watch_room()
    nearly = "the disk is nearly full: what is left is needed to drain the queues (reserve)"
    assert (told.log, told.trouble.on_reserve) == ([nearly], True)
    told.held = 900  # not each message that goes lets another one in
    told.trouble.look_for_room()
    told.trouble.watch_room()
    assert told.log == [nearly]
    told.trouble.refused(StoreError("broken"))
    told.trouble.written()
    assert told.log == [nearly, "broken", nearly]
    free[0] = 512 * 1024 + 900 * DRAIN_OCTETS
    told.trouble.look_for_room()
    assert told.log[3:] == ["eased"]
    assert not told.trouble.on_reserve


def test_without_a_reserve_nobody_waits_before_the_disk_is_full(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.held = 10**12
    told.trouble.watch_room()
    told.trouble.foresee(10**12)
    assert told.log == []


def test_what_has_been_accepted_counts_as_if_it_had_been_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(tmp_path, 1024 * 1024)
    monkeypatch.setattr(told.reserve, "room", lambda: 1000 * DRAIN_OCTETS)
    told.held = 900
    told.counts.octets_submitted = 100 * DRAIN_OCTETS // WRITINGS
    told.trouble.watch_room()
    assert not told.trouble.on_reserve
    told.counts.octets_submitted += 1
    told.trouble.watch_room()
    assert told.trouble.on_reserve
    told.counts.octets_done = told.counts.octets_submitted
    told.held = 0
    monkeypatch.setattr(told.reserve, "room", lambda: 1024 * 1024)
    told.trouble.look_for_room()
    assert not told.trouble.on_reserve


def test_the_room_is_looked_at_before_much_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(tmp_path, 1024 * 1024)
    looks: list[int] = []
    monkeypatch.setattr(told.reserve, "room", lambda: looks.append(1) or 10**9)
    told.held = 1
    share = told.reserve.wanted // LOOK_SHARE
    for octets, looked in ((share - 1, 0), (1, 1), (share - 1, 1), (1, 2), (10 * share, 3)):
        told.trouble.foresee(octets)
        assert len(looks) == looked


def test_a_commit_is_small_where_the_reserve_is(tmp_path: Path) -> None:
    most = 4 * 1024 * 1024
    assert Told(tmp_path).trouble.group_octets(most) == most
    assert Told(tmp_path, 1024 * 1024).trouble.group_octets(most) == 64 * 1024
    assert Told(tmp_path, 4096).trouble.group_octets(most) == 16 * 1024
    assert Told(tmp_path, 1024 * 1024).trouble.group_octets(200) == 200
