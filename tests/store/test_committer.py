import errno
import os
import shutil
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest
from support.stores import Running, Segments, content, message, one_message, reopened

from gateway.errors import StoreError
from gateway.store import committer, sqlite, trouble
from gateway.store.writes import TurnWriter


def refuse_commits(running: Running, times: int) -> None:
    """The next commits fail as on a full disk."""
    commit = running.store._database.commit
    left = [times]

    def refusing(*arguments: object) -> None:
        if left[0]:
            left[0] -= 1
            raise StoreError("cannot write to the store: database or disk is full", full=True)
        commit(*arguments)  # type: ignore[arg-type]  # passed through

    running.store._database.commit = refusing  # type: ignore[method-assign]  # a full disk


def submit_to_a_disk_that_hangs(running: Running) -> threading.Event:
    """The next commit does not come back until the event is set."""
    may = threading.Event()
    hangs = threading.Event()

    def hang(*_arguments: object) -> None:
        hangs.set()
        assert may.wait(30)

    running.store._database.commit = hang  # type: ignore[method-assign]  # a disk that hangs
    running.submit(one_message(1))
    assert hangs.wait(30)
    return may


def test_a_full_disk_is_told_of_and_the_turn_committed_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    running = Running(tmp_path)
    refuse_commits(running, 3)
    running.submit(one_message(1), b"a;")
    running.submit(one_message(2), b"b;")
    running.reactor.run_until(lambda: len(running.reactor.failures) == 2)
    assert running.reactor.committed == []
    assert running.segments.blocks == []
    assert running.reactor.eased == 0
    running.wait()
    assert running.reactor.failures == ["cannot write to the store: database or disk is full"] * 2
    assert running.reactor.eased == 1
    assert running.store.counts.failures == 3
    running.close()
    assert running.segments.blocks == [b"a", b"b"]
    assert len(reopened(tmp_path).entries) == 2


def test_a_really_full_database_holds_turns_back_and_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    running = Running(tmp_path)
    running.commit(one_message(1))
    database = running.store._database._db
    database.execute("PRAGMA max_page_count = 20").fetchall()
    position = 1
    while not running.reactor.failures:
        position += 1
        writer = TurnWriter()
        writer.message(message(position, b"x" * 20_000))
        writer.enqueue(1, position, position)
        running.submit(writer)
        running.reactor.calls.get(timeout=30)()
    assert "full" in running.reactor.failures[0]
    assert running.reactor.committed[-1] == running.turn - 1
    database.execute("PRAGMA max_page_count = 100000").fetchall()
    running.wait()
    running.close()
    assert len(content(reopened(tmp_path))) == position


def test_audit_that_cannot_be_written_withholds_the_report_but_is_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    running = Running(tmp_path)
    running.segments.refusals = 2
    running.commit(one_message(1), b"a;")
    assert running.reactor.failures == ["no space for audit"] * 2
    assert running.store.counts.commits == 1
    running.close()
    assert running.segments.blocks == [b"a"]
    assert len(reopened(tmp_path).entries) == 1


def test_closing_on_a_full_disk_gives_up_and_says_so(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.commit(one_message(1))
    refuse_commits(running, 10**9)
    running.submit(one_message(2))
    with pytest.raises(StoreError, match="full"):
        running.close()
    recovered = reopened(tmp_path)
    assert (len(recovered.entries), recovered.clean) == (1, False)


def test_a_turn_that_could_not_be_read_back_stops_the_store_unwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = SimpleQueue[threading.ExceptHookArgs]()
    monkeypatch.setattr(threading, "excepthook", died.put)
    running = Running(tmp_path)
    running.commit(one_message(1))
    writer = TurnWriter()
    writer.enqueue(1, 2, 2)
    running.submit(writer)
    assert "not in its turn" in str(died.get(timeout=30).exc_value)
    with pytest.raises(StoreError, match="the store stopped"):
        running.close()
    assert len(reopened(tmp_path).entries) == 1


def test_audit_that_was_not_copied_before_a_crash_comes_first_after_it(tmp_path: Path) -> None:
    running = Running(tmp_path / "store")
    running.commit(one_message(1), b"a;")
    running.commit(audit=b"b;")  # loose: not durable by itself
    running.commit(one_message(2), b"c;")
    shutil.copytree(tmp_path / "store", tmp_path / "crashed")
    running.close()
    survivors = Segments()
    again = Running(tmp_path / "crashed", survivors)
    assert survivors.blocks == [b"a", b"b", b"c"]
    assert survivors.synced == 3
    again.commit(audit=b"d;")
    again.close()
    assert survivors.blocks == [b"a", b"b", b"c", b"d"]
    assert survivors.closed


def test_the_final_audit_is_the_last_block(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.submit(one_message(1), b"a;")
    running.store.close(b"z;")
    assert running.segments.blocks == [b"a", b"z"]
    assert running.segments.closed


def test_the_files_stay_small_however_many_messages_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "WAL_OCTETS", 512 * 1024)
    monkeypatch.setattr(committer, "DEAD_OCTETS", 256 * 1024)
    running = Running(tmp_path, slack_octets=512 * 1024)
    straggler = TurnWriter()
    straggler.message(message(1, b"straggler"))
    straggler.enqueue(1, 1, 1)
    straggler.message(message(2, b"x" * 1000))
    straggler.enqueue(1, 2, 2)
    running.commit(straggler)
    for position in range(3, 20_003, 10):
        writer = TurnWriter()
        for fresh in range(position, position + 10):
            writer.message(message(fresh, b"x" * 1000))
            writer.enqueue(1, fresh, fresh)
            writer.dequeue(1, fresh - 1)
        running.submit(writer, b"%d;" % position)
        if position % 500 == 3:
            running.wait()
            size = sum(file.stat().st_size for file in tmp_path.iterdir())
            assert size < 4 * 1024 * 1024, f"{size} octets after {position} messages"
    running.wait()
    assert running.store.counts.octets > 20_000_000
    running.close()
    recovered = reopened(tmp_path)
    assert [entry.position for entry in recovered.entries] == [1, 20_002]
    assert recovered.entries[0].message.payload == b"straggler"


def test_an_idle_store_gives_back_what_it_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    running = Running(tmp_path)
    delete = running.store._database.delete
    deleted = threading.Event()

    def telling(numbers: list[int]) -> None:
        delete(numbers)
        deleted.set()

    running.store._database.delete = telling  # type: ignore[method-assign]  # to know when
    running.commit(one_message(1), b"a;")
    gone = TurnWriter()
    gone.dequeue(1, 1)
    running.commit(gone, b"b;")
    assert deleted.wait(30)
    assert running.segments.synced == 2
    running.close()


def test_a_disk_that_refuses_to_delete_is_told_of_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    running = Running(tmp_path)
    delete = running.store._database.delete
    asked: list[list[int]] = []
    deleted = threading.Event()

    def refusing_once(numbers: list[int]) -> None:
        asked.append(list(numbers))
        if len(asked) == 1:
            raise StoreError("cannot write to the store: disk I/O error")
        delete(numbers)
        deleted.set()

    running.store._database.delete = refusing_once  # type: ignore[method-assign]  # a bad disk
    running.commit(one_message(1), b"a;")
    gone = TurnWriter()
    gone.dequeue(1, 1)
    running.commit(gone, b"b;")
    assert deleted.wait(30)
    assert asked[0] == asked[1]
    running.reactor.run_until(lambda: bool(running.reactor.failures))
    assert running.reactor.failures == ["cannot write to the store: disk I/O error"]
    running.close()
    assert reopened(tmp_path).entries == []


def test_a_row_that_can_no_longer_be_read_is_left_alone_and_told_of(tmp_path: Path) -> None:
    running = Running(tmp_path, slack_octets=1)
    read = running.store._database.row

    def refusing(number: int) -> bytes:
        raise StoreError("database disk image is malformed")

    running.store._database.row = refusing  # type: ignore[method-assign]  # a bad disk
    two = TurnWriter()
    for position in (1, 2):
        two.message(message(position, b"x" * 1000))
        two.enqueue(1, position, position)
    running.commit(two)
    gone = TurnWriter()
    gone.dequeue(1, 1)
    running.commit(gone)
    running.reactor.run_until(lambda: bool(running.reactor.failures))
    assert "row 1: database disk image is malformed" in running.reactor.failures[0]
    running.store._database.row = read  # type: ignore[method-assign]  # for what follows
    running.commit(one_message(3))
    running.close()
    assert [entry.position for entry in reopened(tmp_path).entries] == [2, 3]


def test_a_segment_that_cannot_be_synced_holds_everything_back_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    monkeypatch.setattr(committer, "LOOSE_OCTETS", 1)
    running = Running(tmp_path)
    running.segments.sync_refusals = 3
    running.commit(audit=b"a;")
    running.commit(one_message(1), b"b;")
    assert running.reactor.failures == ["no sync for audit"] * 2
    assert (running.store.counts.audit_failures, running.store.counts.failures) == (3, 0)
    assert running.reactor.eased == 1
    running.close()
    assert running.segments.blocks == [b"a", b"b"]


def test_segments_are_synced_before_they_keep_much_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "UNSYNCED_OCTETS", 100)
    running = Running(tmp_path)
    running.commit(one_message(1), b"a;")
    assert running.segments.synced == 0
    running.segments.unsynced_octets = 100
    running.commit(one_message(2), b"b;")
    running.commit(one_message(3))
    assert running.segments.synced == 2
    running.close()


def test_a_full_disk_costs_the_reserve_and_is_over_when_that_is_set_aside_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    running = Running(tmp_path, reserve_octets=100_000)
    reserve = running.store.reserve
    room = [False]
    set_aside = reserve.set_aside
    monkeypatch.setattr(reserve, "set_aside", lambda: room[0] and set_aside())
    assert reserve.held == 100_000
    refuse_commits(running, 1)
    running.commit(one_message(1), b"a;")
    assert reserve.held == 25_000
    assert [error.on_reserve for error in running.reactor.errors] == [True]
    running.commit(one_message(2), b"b;")
    assert running.reactor.eased == 0
    room[0] = True
    running.reactor.run_until(lambda: running.reactor.eased == 1)
    assert reserve.held == 100_000
    running.close()
    assert len(reopened(tmp_path).entries) == 2


def test_when_the_reserve_is_used_up_nothing_is_committed_and_then_it_lives_on_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    running = Running(tmp_path, reserve_octets=100_000)
    monkeypatch.setattr(running.store.reserve, "set_aside", lambda: False)
    refuse_commits(running, 3)
    running.commit(one_message(1))
    assert running.store.reserve.held == 0
    assert [error.on_reserve for error in running.reactor.errors] == [True, False, True]
    assert running.reactor.eased == 0
    running.close()


def test_on_a_small_disk_no_commit_is_large_however_much_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path, reserve_octets=100_000)
    most = running.store._trouble.group_octets(committer.GROUP_OCTETS)
    sizes: list[int] = []
    looks: list[int] = []
    held = threading.Event()
    commit, roomy = running.store._database.commit, running.store.reserve.roomy

    def late(number: int, body: bytes, *rest: object) -> None:
        assert held.wait(30)
        sizes.append(len(body))
        commit(number, body, *rest)  # type: ignore[arg-type]  # passed through

    def looked(octets: int, **how: bool) -> bool:
        looks.append(octets)
        return roomy(octets, **how)

    monkeypatch.setattr(running.store._database, "commit", late)
    monkeypatch.setattr(running.store.reserve, "roomy", looked)
    turn = len(one_message(1).take())
    turns = 10 * most // turn
    for position in range(1, turns):
        running.submit(one_message(position))
    held.set()
    running.wait()
    assert len(sizes) >= 9
    assert max(sizes) < most + 2 * turn
    assert len(looks) >= len(sizes) - 1  # the first may be of one turn
    running.close()
    assert len(reopened(tmp_path).entries) == turns - 1


def test_a_store_begins_without_a_reserve_that_is_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", no_space)
        running = Running(tmp_path, reserve_octets=100_000)
    running.reactor.run_until(lambda: bool(running.reactor.errors))
    assert running.reactor.errors[0].on_reserve
    running.reactor.run_until(lambda: running.reactor.eased == 1)
    running.close()


def no_space(*_arguments: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_room_is_given_back_when_little_is_left_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path)
    many, gone = TurnWriter(), TurnWriter()
    for position in range(1, 200):
        many.message(message(position, b"x" * 10_000))
        many.enqueue(1, position, position)
        gone.dequeue(1, position)
    running.commit(many)
    running.close()  # so that all is in the file itself
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    running = Running(tmp_path, reserve_octets=1000)
    refuse_commits(running, 1)
    monkeypatch.setattr(
        running.store.reserve, "set_aside", lambda: store_octets(tmp_path) < 200_000
    )
    running.commit(gone)
    running.reactor.run_until(lambda: running.reactor.eased == 1)
    running.close()


def store_octets(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("store.sqlite*"))


def test_on_a_full_disk_what_is_left_of_rows_is_written_again_and_gives_back_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path)
    gone = TurnWriter()
    for position in range(1, 80, 2):
        taken_and_left = TurnWriter()
        for each, octets in ((position, 50_000), (position + 1, 10)):
            taken_and_left.message(message(each, b"x" * octets))
            taken_and_left.enqueue(1, each, each)
        running.commit(taken_and_left)
        gone.dequeue(1, position)
    running.close()  # so that all is in the file itself
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    running = Running(tmp_path, reserve_octets=1000)
    refuse_commits(running, 1)
    monkeypatch.setattr(
        running.store.reserve, "set_aside", lambda: store_octets(tmp_path) < 400_000
    )
    running.commit(gone)
    running.reactor.run_until(lambda: running.reactor.eased == 1)
    running.close()
    assert len(content(reopened(tmp_path))) == 40


@pytest.mark.parametrize("name", ["store.sqlite", "store.sqlite-wal"])
def test_nothing_is_reported_that_is_in_a_file_which_has_been_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    monkeypatch.setattr(committer, "LOOK_NS", 0)
    running = Running(tmp_path / "data")
    running.commit(one_message(1))
    (tmp_path / "data" / name).rename(tmp_path / name)
    running.submit(one_message(2))
    running.reactor.run_until(lambda: bool(running.reactor.errors))
    (error,) = running.reactor.errors
    assert (error.cause, error.part) == ("gone", "store")
    assert str(error) == f"the store: {tmp_path / 'data' / name} has been removed or moved"
    assert running.reactor.committed == [1]
    (tmp_path / name).rename(tmp_path / "data" / name)
    running.wait()
    assert running.reactor.eased == 1
    running.close()
    assert len(reopened(tmp_path / "data").entries) == 2


@pytest.mark.parametrize("name", ["store.sqlite", "store.sqlite-wal"])
def test_nothing_is_reported_behind_what_was_cut_off_and_the_stop_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    monkeypatch.setattr(committer, "LOOK_NS", 0)
    monkeypatch.setattr(committer, "LOOK_INSIDE_NS", 0)
    running = Running(tmp_path)
    running.commit(one_message(1))
    os.truncate(tmp_path / name, 0)
    running.submit(one_message(2))
    running.reactor.run_until(lambda: bool(running.reactor.errors))
    (error,) = running.reactor.errors
    assert (error.cause, error.part) == ("gone", "store")
    assert str(error) == f"the store: {tmp_path / name} has been cut off or written over"
    assert running.reactor.committed == [1]
    with pytest.raises(StoreError, match="cut off"):
        running.close()


def test_it_is_noticed_too_when_nothing_is_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "IDLE_S", 0.001)
    monkeypatch.setattr(committer, "LOOK_NS", 0)
    running = Running(tmp_path / "data")
    shutil.rmtree(tmp_path / "data")
    running.reactor.run_until(lambda: bool(running.reactor.errors))
    assert running.reactor.errors[0].cause == "gone"
    with pytest.raises(StoreError, match="removed or moved"):
        running.close()


def test_a_stop_does_not_wait_for_ever_for_a_disk_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "STOP_S", 0.01)
    running = Running(tmp_path)
    may = submit_to_a_disk_that_hangs(running)
    with pytest.raises(StoreError, match="the disk has not answered for") as raised:
        running.close()
    assert raised.value.cause == "slow"
    assert running.store.counts.unwritten().startswith("; not written: 1 turns, ")
    may.set()
    running.store._thread.join()
    running.close()


def test_a_stop_counts_how_long_the_disk_has_not_answered_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "STOP_S", 3600.0)
    running = Running(tmp_path)
    may = submit_to_a_disk_that_hangs(running)
    running.store.look(0)
    running.store.look(3_600_000)
    with pytest.raises(StoreError, match="the disk has not answered for 3600 s"):
        running.close()
    may.set()
    running.store._thread.join()
    running.close()
