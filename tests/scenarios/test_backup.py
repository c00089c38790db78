"""A copy of store and audit log that belong together, made while the gateway is used."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from support.whole_gateway import WholeGateway
from twisted.python.failure import Failure

from gateway.audit.ends import differences
from gateway.audit.verify import WHOLE, verify
from gateway.clients.letter import Letter, Typed
from gateway.errors import GatewayError, StoreError, UnknownStoreError
from gateway.net.backup import PATIENCE_MS
from gateway.net.data_directory import UNFINISHED_FILE
from gateway.net.unfinished import TEXT
from gateway.store import copying
from gateway.store.outside import known


class Stand:
    """A gateway with a durable queue, and its backups."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.gateway = WholeGateway(self.data).start()
        self.client = self.gateway.connect_0_10()
        self.gateway.result(self.client.declare_queue("q", durable=True))
        self.backup = self.gateway.service.backup

    def send(self, *, durable: bool = True) -> Any:
        return self.client.send("q", Letter(body=Typed("string", "x" * 4000), durable=durable))

    def finish(self, made: Any) -> str:
        """What has become of a backup; raises what it failed with."""
        told: list[Any] = []
        made.addBoth(told.append)
        self.gateway.wait_until(lambda: bool(told))
        if isinstance(told[0], Failure):
            told[0].raiseException()
        return str(told[0])

    def copy(self, to: Path) -> str:
        return self.finish(self.backup.make(to))


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


def depth(gateway: WholeGateway) -> int:
    queue = gateway.service.bridge.default_host.topology.find_queue("q")
    return 0 if queue is None else queue.depth


def assert_lives(copy: Path) -> int:
    """A gateway starts from it, with books that balance; how many messages it has."""
    assert verify(copy / "audit") == WHOLE
    assert differences(copy / "audit", known(copy).ends) == []
    again = WholeGateway(copy).start()
    found = depth(again)
    assert again.service.store.counts.log_differences == 0
    again.stop()
    again.ledger().assert_balanced()
    assert verify(copy / "audit") == WHOLE
    return found


def test_what_was_confirmed_before_a_backup_under_load_is_in_it(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SHARE_OCTETS", 1)
    gateway = stand.gateway
    for number in range(60):
        gateway.result(stand.send(durable=number % 5 > 0))
    done: list[str] = []
    later: list[object] = []
    stand.backup.make(tmp_path / "copy").addCallback(done.append)
    while not done:
        stand.send().addCallback(later.append)
        gateway.run()
    assert later, "nothing was confirmed while the copy was made"
    gateway.wait_until(lambda: depth(gateway) == 60 + len(later))
    sent = len(later)
    gateway.stop()
    gateway.ledger().assert_balanced()
    assert 48 <= assert_lives(tmp_path / "copy") <= 48 + sent


def test_a_backup_of_a_gateway_at_rest_says_what_is_in_it(stand: Stand, tmp_path: Path) -> None:
    for _ in range(3):
        stand.gateway.result(stand.send())
    told = stand.copy(tmp_path / "backups" / "copy")
    assert told.startswith(f"{tmp_path}/backups/copy: the store, and 1 segments of the audit log")
    copy = tmp_path / "backups" / "copy"
    assert {path.name for path in copy.iterdir()} == {"store.sqlite", "audit", "gateway-id"}
    assert {oct(path.stat().st_mode & 0o077) for path in (copy, *copy.rglob("*"))} == {"0o0"}
    assert (copy / "gateway-id").read_text() == (stand.data / "gateway-id").read_text()
    assert not (tmp_path / "backups" / "copy.new").exists()
    stand.gateway.stop()
    assert assert_lives(copy) == 3


def test_a_backup_takes_all_segments_and_a_second_one_what_came_since(
    stand: Stand, tmp_path: Path
) -> None:
    stand.gateway.result(stand.send())
    stand.copy(tmp_path / "first")
    stand.gateway.stop()
    again = Stand(tmp_path)
    again.gateway.result(again.send())
    again.copy(tmp_path / "second")
    again.gateway.stop()
    assert len(list((tmp_path / "second" / "audit").iterdir())) == 2
    assert (assert_lives(tmp_path / "first"), assert_lives(tmp_path / "second")) == (1, 2)


def test_what_is_no_segment_is_not_copied_and_a_defect_is_an_answer(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stand.data / "audit" / "old.audit").write_bytes(b"x" * 200)
    stand.copy(tmp_path / "copy")
    assert not (tmp_path / "copy" / "audit" / "old.audit").exists()

    def broken(*_: object) -> None:
        raise ValueError("no such number")

    monkeypatch.setattr(copying, "_write", broken)
    with pytest.raises(GatewayError, match="a defect of the gateway: ValueError: no such number"):
        stand.copy(tmp_path / "other")
    monkeypatch.undo()
    stand.copy(tmp_path / "other")
    stand.gateway.stop()


def test_a_pipe_in_the_place_of_what_is_copied_is_told(stand: Stand, tmp_path: Path) -> None:
    path = stand.data / "gateway-id"
    path.rename(tmp_path / "kept")
    os.mkfifo(path)
    with pytest.raises(GatewayError, match=f"cannot read {path}: is no regular file"):
        stand.copy(tmp_path / "copy")
    path.unlink()
    (tmp_path / "kept").rename(path)
    assert not (tmp_path / "copy.new").exists()
    stand.copy(tmp_path / "copy")
    stand.gateway.stop()


def test_a_copy_put_in_the_place_of_a_lost_directory_goes_on(stand: Stand, tmp_path: Path) -> None:
    stand.gateway.result(stand.send())
    stand.copy(tmp_path / "copy")
    stand.gateway.stop()
    shutil.rmtree(stand.data)
    shutil.copytree(tmp_path / "copy", stand.data)
    assert assert_lives(stand.data) == 1


def test_where_something_is_nothing_is_written(stand: Stand, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(GatewayError, match="is there already"):
        stand.copy(tmp_path / "there")
    with pytest.raises(GatewayError, match="not an absolute path"):
        stand.backup.make(Path("copy"))
    (tmp_path / "file").touch()
    with pytest.raises(GatewayError, match="cannot make"):
        stand.copy(tmp_path / "file" / "copy")
    for inside in (stand.data / "copy", stand.data / "audit" / "copy", stand.data):
        with pytest.raises(GatewayError, match="in the data directory"):
            stand.copy(inside)
        assert not (stand.data / "copy.new").exists()
    first = stand.backup.make(tmp_path / "copy")
    with pytest.raises(GatewayError, match="another backup"):
        stand.backup.make(tmp_path / "other")
    stand.finish(first)
    stand.gateway.stop()


def test_a_copy_that_cannot_be_written_is_told_and_leaves_nothing(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise StoreError("cannot copy the store: disk I/O error")

    monkeypatch.setattr(copying, "_write", refused)
    with pytest.raises(StoreError, match="disk I/O error"):
        stand.copy(tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    monkeypatch.undo()
    stand.copy(tmp_path / "copy")
    stand.gateway.stop()


class Hanging:
    """The disk of a copy does not answer until `answers` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = Event()
        self._write: Any = copying._write
        monkeypatch.setattr(copying, "_write", self._wait)

    def _wait(self, *share: Any) -> None:
        assert self.answers.wait(30)
        self._write(*share)


def test_nobody_waits_for_the_disk_of_a_copy(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Hanging(monkeypatch)
    done: list[str] = []
    stand.backup.make(tmp_path / "copy").addCallback(done.append)
    for _ in range(20):
        stand.gateway.result(stand.send())
    assert stand.gateway.service.bridge.store_error is None
    assert not done
    hanging.answers.set()
    stand.gateway.wait_until(lambda: bool(done))
    stand.gateway.stop()
    assert 0 <= assert_lives(tmp_path / "copy") <= 20


def test_a_copy_whose_disk_does_not_answer_is_given_up_with_its_reason(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Hanging(monkeypatch)
    told: list[Any] = []
    stand.backup.make(tmp_path / "copy").addBoth(told.append)
    stand.backup.look(1)
    stand.backup.look(PATIENCE_MS)
    assert told == []
    stand.backup.look(PATIENCE_MS + 1)
    assert "has come no further for 30 s" in str(told[0].value)
    with pytest.raises(GatewayError, match="its disk still does not answer"):
        stand.backup.make(tmp_path / "other")
    stand.gateway.result(stand.send())
    monkeypatch.undo()
    hanging.answers.set()
    made: list[str] = []

    def again() -> bool:
        if not made:
            with suppress(GatewayError):
                made.append(stand.copy(tmp_path / "other"))
        return bool(made)

    stand.gateway.wait_until(again)
    assert {path.name for path in tmp_path.iterdir()} == {"data", "other"}
    assert len(told) == 1
    stand.gateway.stop()
    assert assert_lives(tmp_path / "other") == 1


def test_a_stop_does_not_wait_for_the_disk_of_a_copy(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SHARE_OCTETS", 1)
    hanging = Hanging(monkeypatch)
    told: list[Any] = []
    for _ in range(3):
        stand.gateway.result(stand.send())
    stand.backup.make(tmp_path / "copy").addBoth(told.append)
    stand.gateway.stop()
    assert stand.gateway.service.exit_code == 0
    hanging.answers.set()
    while not told:
        stand.gateway.reactor.from_threads.get(timeout=30)()
    assert "the gateway stops" in str(told[0].value)
    assert assert_lives(stand.data) == 3


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def strangers_file(new: Path) -> None:
    new.mkdir()
    (new / "precious").write_text("mine")


def stranger_beside_the_mark(new: Path) -> None:
    strangers_file(new)
    (new / UNFINISHED_FILE).write_bytes(TEXT)


def stranger_in_the_log(new: Path) -> None:
    (new / "audit").mkdir(parents=True)
    (new / UNFINISHED_FILE).write_bytes(TEXT)
    (new / "audit" / "precious").write_text("mine")


def a_backup_without_its_mark(new: Path) -> None:
    new.mkdir()
    (new / "store.sqlite").write_bytes(b"somebody's")


def strangers_mark(new: Path) -> None:
    new.mkdir()
    (new / UNFINISHED_FILE).write_text("I must finish this backup")


def a_link(new: Path) -> None:
    there = new.parent / "there"
    there.mkdir()
    (there / UNFINISHED_FILE).write_bytes(TEXT)
    new.symlink_to(there)


def a_file(new: Path) -> None:
    new.write_text("mine")


STRANGERS = [
    strangers_file,
    stranger_beside_the_mark,
    stranger_in_the_log,
    a_backup_without_its_mark,
    strangers_mark,
    a_link,
    a_file,
]


@pytest.mark.parametrize("made", STRANGERS)
def test_a_backup_removes_nothing_that_may_be_somebodys(
    stand: Stand, tmp_path: Path, made: Any
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    made(home / "copy.new")
    before = contents(home)
    with pytest.raises(GatewayError, match=r"home/copy.new is there, .* nothing is removed"):
        stand.copy(home / "copy")
    assert contents(home) == before
    assert not (home / "copy").exists()
    stand.gateway.stop()


def test_what_a_killed_gateway_left_of_a_backup_is_replaced(stand: Stand, tmp_path: Path) -> None:
    new = tmp_path / "copy.new"
    (new / "audit").mkdir(parents=True)
    (new / UNFINISHED_FILE).write_bytes(TEXT)
    (new / "store.sqlite").write_bytes(b"half")
    (new / "audit" / "0000000001-000001.audit").write_bytes(b"half")
    stand.gateway.result(stand.send())
    stand.copy(tmp_path / "copy")
    assert not new.exists()
    assert not (tmp_path / "copy" / UNFINISHED_FILE).exists()
    stand.gateway.stop()
    assert assert_lives(tmp_path / "copy") == 1


def test_no_gateway_starts_with_a_backup_that_is_made_and_none_replaces_it(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Hanging(monkeypatch)
    done: list[str] = []
    stand.backup.make(tmp_path / "copy").addCallback(done.append)
    while not (tmp_path / "copy.new" / "store.sqlite").exists():
        stand.gateway.result(stand.send())
    before = contents(tmp_path / "copy.new")
    with pytest.raises(UnknownStoreError, match="a backup that was not finished"):
        WholeGateway(tmp_path / "copy.new")
    other = WholeGateway(tmp_path / "other").start()
    told: list[Any] = []
    other.service.backup.make(tmp_path / "copy").addBoth(told.append)
    other.wait_until(lambda: bool(told))
    assert "is being made by another gateway" in str(told[0].value)
    assert contents(tmp_path / "copy.new").keys() == before.keys()
    other.stop()
    hanging.answers.set()
    stand.gateway.wait_until(lambda: bool(done))
    stand.gateway.stop()
    assert_lives(tmp_path / "copy")


@pytest.mark.parametrize("data", ["x.new", "x.new/data", "x.new/deep/data"])
def test_the_gateways_own_directory_is_never_taken_for_a_backup(tmp_path: Path, data: str) -> None:
    gateway = WholeGateway(tmp_path / data).start()
    (tmp_path / "x.new" / UNFINISHED_FILE).write_bytes(TEXT)
    (tmp_path / "link").symlink_to(tmp_path)
    before = contents(tmp_path / "x.new").keys()
    for name in ("x", "link/x"):
        told: list[Any] = []
        gateway.service.backup.make(tmp_path / name).addBoth(told.append)
        gateway.wait_until(lambda told=told: bool(told))  # type: ignore[misc]
        assert "data directory that is to be copied" in str(told[0].value)
    assert contents(tmp_path / "x.new").keys() >= before
    gateway.stop()


def test_while_nothing_can_be_committed_a_backup_is_refused_with_the_cause(
    stand: Stand, tmp_path: Path
) -> None:
    bridge = stand.gateway.service.bridge
    bridge.store_error = StoreError("cannot write to the store: disk I/O error")
    with pytest.raises(GatewayError, match=r"no backup can be made now: .*disk I/O error"):
        stand.backup.make(tmp_path / "copy")
    assert not (tmp_path / "copy.new").exists()
    bridge.store_error = None
    stand.gateway.stop()


def test_a_backup_that_the_store_keeps_waiting_is_given_up_with_the_cause(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Hanging(monkeypatch)
    told: list[Any] = []
    stand.backup.make(tmp_path / "copy").addBoth(told.append)
    stand.backup.look(1)
    stand.gateway.service.bridge.store_error = StoreError("the disk has not answered")
    stand.backup.look(PATIENCE_MS + 1)
    assert str(told[0].value).endswith("and is given up: the disk has not answered")
    stand.gateway.service.bridge.store_error = None
    hanging.answers.set()
    stand.gateway.stop()


def test_a_backup_that_is_not_begun_is_not_in_the_way_of_the_next(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr("gateway.net.backup.Thread", refused)
        with pytest.raises(GatewayError, match="no backup can be made now: can't start new thread"):
            stand.backup.make(tmp_path / "copy")
    stand.copy(tmp_path / "copy")
    assert_lives(tmp_path / "copy")


@pytest.mark.parametrize("call", ["pathlib.Path.touch", "os.open"])
def test_a_backup_that_fails_as_it_begins_leaves_nothing_in_its_place(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real = os.open

    def full(path: Any, *rest: Any, **more: Any) -> int:
        if call == "os.open" and not str(path).endswith(UNFINISHED_FILE):
            return real(path, *rest, **more)
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(call, full)
        with pytest.raises(GatewayError, match="No space left on device"):
            stand.copy(tmp_path / "copy")
    assert not (tmp_path / "copy.new").exists()
    stand.copy(tmp_path / "copy")
    assert_lives(tmp_path / "copy")
