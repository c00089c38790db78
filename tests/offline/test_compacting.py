"""A store's file is written anew: less of it, and all that a start would find."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support.stopped import fill, filled, held, killed, take, traces
from support.whole_gateway import WholeGateway

from gateway.clients.letter import Letter, Typed
from gateway.errors import GatewayError
from gateway.offline import compacting
from gateway.offline.checking import Check
from gateway.offline.compacting import NEW, compact
from gateway.offline.directory import octets_of


def used(directory: Path) -> WholeGateway:
    """A gateway that has got much, and given most of it away; what is left stands between."""
    gateway = WholeGateway(directory).start()
    fill(gateway, 3)
    client = gateway.connect_0_10()
    gateway.result(client.declare_queue("passing", durable=True))
    for number in range(12):
        letter = Letter(body=Typed("string", "x" * 30_000), durable=True)
        for queue in ("passing", "orders") if number % 4 == 0 else ("passing",):
            gateway.result(client.send(queue, letter))
    assert len(take(gateway, 12, "passing")) == 12
    return gateway


def whole(directory: Path) -> dict[str, int]:
    """What a start finds, after a check that finds nothing wrong."""
    assert list(Check(directory).problems()) == []
    return held(directory)


def test_what_is_left_is_there_and_the_rest_is_given_back(tmp_path: Path) -> None:
    used(tmp_path / "data").stop()
    octets = octets_of(tmp_path / "data")
    mode = (tmp_path / "data" / "store.sqlite").stat().st_mode
    done = compact(tmp_path / "data")
    assert done.before == octets
    assert done.cut
    assert done.after == octets_of(tmp_path / "data") < octets / 2
    assert (tmp_path / "data" / "store.sqlite").stat().st_mode == mode
    assert whole(tmp_path / "data") == {"orders": 6, "passing": 0}
    again = WholeGateway(tmp_path / "data").start()
    assert [letter.body.value[:1] for letter in take(again, 10)] == ["1", "2", "3", "x", "x", "x"]
    again.stop()
    again.ledger().assert_balanced()


def test_how_often_a_message_was_delivered_stays_with_it(tmp_path: Path) -> None:
    gateway = WholeGateway(tmp_path / "data").start()
    fill(gateway, 2)
    gateway.stop()
    gateway = WholeGateway(tmp_path / "data").start()
    take(gateway, 2, outcome="release")
    copy = killed(gateway, tmp_path / "killed")
    gateway.stop()
    again = WholeGateway(copy).start()
    again.stop()
    before = whole(copy)
    compact(copy)
    assert whole(copy) == before == {"orders": 2}
    last = WholeGateway(copy).start()
    assert [letter.redelivered for letter in take(last, 2)] == [True, True]
    last.stop()
    last.ledger().assert_balanced()


def test_of_a_store_that_was_not_closed_in_order_no_audit_record_is_cut(tmp_path: Path) -> None:
    gateway = used(tmp_path / "data")
    copy = killed(gateway, tmp_path / "killed")
    gateway.stop()
    done = compact(copy)
    assert not done.cut
    assert not (copy / "store.sqlite-wal").exists()
    assert whole(copy) == {"orders": 6, "passing": 0}


def test_the_new_file_has_the_owner_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Path, Path]] = []
    monkeypatch.setattr(compacting, "own_as", lambda *both: given.append(both))
    data = filled(tmp_path / "data", 1)
    compact(data)
    assert given == [(data / NEW, data / "store.sqlite")]


def test_with_another_log_beside_it_no_audit_record_is_cut(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    for path in (data / "audit").iterdir():
        path.unlink()
    assert not compact(data).cut


KILLS: list[tuple[str, str]] = [
    ("gateway.offline.compacting._write", "before"),
    ("gateway.offline.compacting._compare", "before"),
    ("gateway.offline.compacting._put_into_place", "before"),
    ("gateway.offline.compacting._put_into_place", "behind"),
    ("gateway.store.database.Database.close", "behind"),
]


@pytest.mark.parametrize("where, when", KILLS)
@pytest.mark.parametrize("in_order", [True, False])
def test_a_kill_at_any_point_leaves_a_whole_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, when: str, in_order: bool
) -> None:
    gateway = used(tmp_path / "stopped")
    data = killed(gateway, tmp_path / "killed")
    gateway.stop()
    if in_order:
        data = tmp_path / "stopped"
    child = os.fork()
    if not child:
        try:
            kill_at(monkeypatch, where, when)
            compact(data)
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert whole(data) == {"orders": 6, "passing": 0}
    compact(data)
    assert not (data / NEW).exists()
    assert whole(data) == {"orders": 6, "passing": 0}


def kill_at(monkeypatch: pytest.MonkeyPatch, where: str, when: str) -> None:
    """This process is killed before, or behind, what a function does."""
    module, name = where.rsplit(".", 1)
    owner = compacting.Database if module.endswith("Database") else compacting
    real: Callable[..., object] = getattr(owner, name)

    def instead(*arguments: object, **named: object) -> None:
        if when == "behind":
            real(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(owner, name, instead)


def test_without_room_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = filled(tmp_path / "data", 3)
    before = traces(data)
    monkeypatch.setattr("gateway.offline.directory.free_octets", lambda _directory: 1000)
    with pytest.raises(GatewayError, match=r"no room for it on the disk of .* and 1000 are free"):
        compact(data)
    assert traces(data) == before


def test_a_disk_that_becomes_full_meanwhile_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path / "data", 3)
    before = traces(data)
    settings = (*compacting._SETTINGS, "PRAGMA max_page_count = 6")
    monkeypatch.setattr(compacting, "_SETTINGS", settings)
    with pytest.raises(GatewayError, match=r"cannot write .*store-compact: .* is full"):
        compact(data)
    assert traces(data) == before
    assert held(data) == {"orders": 3}


def test_what_was_not_written_as_it_was_read_is_not_put_into_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path / "data", 3)
    real = compacting._cut_rows
    monkeypatch.setattr(compacting, "_cut_rows", lambda database: list(real(database))[1:])
    with pytest.raises(GatewayError, match="what was written is not what was read"):
        compact(data)
    assert held(data) == {"orders": 3}


def test_a_damaged_store_stays_as_it_is(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    database = sqlite3.connect(data / "store.sqlite")
    database.execute(
        "UPDATE log SET body = zeroblob(40) WHERE number = (SELECT min(number) FROM log)"
    )
    database.commit()
    database.close()
    with pytest.raises(GatewayError, match="the store is damaged, and stays as it is: row"):
        compact(data)


def test_where_no_store_is_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(GatewayError, match=r"there is no .*store\.sqlite"):
        compact(tmp_path)
    assert list(tmp_path.iterdir()) == []
