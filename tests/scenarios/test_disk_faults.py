"""A disk that is full or broken under a whole gateway: what clients and probes are told."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from support.faulty_disk import BROKEN, FAULTS, FULL, FaultyDisk
from support.whole_gateway import WholeGateway
from twisted.internet.defer import Deferred

from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.verify import WHOLE, verify
from gateway.bridge.unwritten import MUCH
from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.net.admin.measures import _blocked
from gateway.store import committer, trouble

ALWAYS = 10**9


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 0.001)
    monkeypatch.setattr(trouble, "RETRY_MAX_S", 0.01)
    monkeypatch.setattr(committer, "IDLE_S", 0.01)


class Stand:
    """A gateway on a disk that can be broken, with a client of each protocol."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, *changes: str) -> None:
        self.data = directory / "data"
        self.gateway = WholeGateway(self.data, *changes).start()
        self.old = self.gateway.connect_0_10()
        self.new = self.gateway.connect_1_0()
        self.gateway.result(self.old.declare_queue("q", durable=True))
        self.disk = FaultyDisk(monkeypatch, self.data)

    @property
    def bridge(self) -> Any:
        return self.gateway.service.bridge

    def breaks(self, fault: str) -> None:
        """From now on: the disk fails, and the gateway has noticed by a publish that it confirms
        before."""
        self.disk.fail(fault, times=ALWAYS)
        self.send(durable=False)
        self.gateway.let_happen(lambda: self.bridge.store_error is not None)

    def heals(self) -> None:
        self.disk.heal()
        self.gateway.let_happen(lambda: self.bridge.store_error is None)
        self.gateway.run()

    def send(self, address: str = "q", *, durable: bool, client: Any = None) -> list[str]:
        """Publish; what comes back fills with the outcome."""
        told: list[str] = []
        letter = Letter(body=Typed("string", "x"), durable=durable)
        sent = (client or self.old).send(address, letter)
        sent.addCallbacks(told.append, lambda failure: told.append(str(failure.value)))
        self.gateway.carry()
        return told

    def logged(self) -> list[str]:
        """The kinds of all records, which are whole and in order."""
        self.gateway.stop()
        assert verify(self.data / "audit") == WHOLE
        return [str(record["kind"]) for record in all_records(self.data / "audit")]


def all_records(audit: Path) -> Iterator[dict[str, Any]]:
    for path in segment_paths(audit):
        yield from records(Segment(path.name, path.read_bytes()))


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    return Stand(tmp_path, monkeypatch)


@pytest.mark.parametrize("fault", FAULTS)
def test_no_publish_is_confirmed_while_the_audit_log_cannot_be_written(
    stand: Stand, fault: str
) -> None:
    stand.breaks(BROKEN if fault == "unsynced" else fault)
    waiting = [
        stand.send(durable=durable, client=client)
        for durable in (False, True)
        for client in (stand.old, stand.new)
    ]
    assert waiting == [[]] * 4
    ready = stand.gateway.service.ready()
    assert ready is not None
    assert "nothing can be committed: cannot write to the audit log" in ready
    stand.heals()
    assert waiting == [["accepted"]] * 4
    assert stand.gateway.service.ready() is None
    assert stand.logged().count("received") == 5


def test_a_message_that_nobody_takes_is_not_confirmed_either(stand: Stand) -> None:
    stand.breaks(BROKEN)
    waiting = stand.send("amq.fanout/key", durable=False, client=stand.new)
    assert waiting == []
    stand.heals()
    assert waiting == ["accepted"]
    assert stand.logged().count("unroutable") == 1


def test_a_disk_that_was_full_a_moment_is_told_of_and_counted(stand: Stand) -> None:
    stand.breaks(FULL)
    assert blocked(stand) == ["full"]
    stand.heals()
    assert blocked(stand) == []
    assert stand.gateway.service.store.counts.audit_failures > 0
    assert stand.gateway.service.store.counts.failures == 0


def blocked(stand: Stand) -> list[str]:
    """The causes whose gauge is 1."""
    return [labels[0] for labels, value in _blocked(stand.bridge) if value]


class Hanging:
    """Writes and syncs of `os` below a directory do not come back until `go_on`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, within: Path) -> None:
        self._may = threading.Event()
        self._asked = threading.Event()
        for name in ("write", "fdatasync"):
            monkeypatch.setattr(os, name, self._waiting(getattr(os, name), within))

    def go_on(self) -> None:
        self._may.set()

    def wait_until_asked(self) -> None:
        """From then on the thread comes no further."""
        assert self._asked.wait(30)

    def _waiting(self, real: Callable[..., Any], within: Path) -> Callable[..., Any]:
        def wait(file: int, *arguments: Any) -> Any:
            if Path(os.readlink(f"/proc/self/fd/{file}")).is_relative_to(within):
                self._asked.set()
                assert self._may.wait(30)
            return real(file, *arguments)

        return wait


def test_a_disk_that_does_not_answer_is_told_of_and_nothing_more_is_confirmed(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Hanging(monkeypatch, stand.data)
    assert stand.send(durable=False) == ["accepted"]
    disk.wait_until_asked()
    for _ in range(5):
        assert stand.gateway.service.ready() is None
        stand.gateway.reactor.advance(1)
    stand.gateway.reactor.advance(1)
    stand.gateway.carry()
    assert stand.gateway.service.ready() == (
        "nothing can be committed: the disk has not answered for 5 s"
    )
    assert blocked(stand) == ["slow"]
    waiting = [
        stand.send(durable=durable, client=client)
        for durable in (False, True)
        for client in (stand.old, stand.new)
    ]
    assert waiting == [[]] * 4
    disk.go_on()
    stand.gateway.run()
    stand.gateway.pass_time(1)
    assert (waiting, blocked(stand)) == ([["accepted"]] * 4, [])
    assert stand.gateway.service.ready() is None
    assert stand.logged().count("received") == 5


def test_what_waits_for_a_slow_disk_is_bounded_before_it_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_backlog=64KiB")
    disk = Hanging(monkeypatch, stand.data)
    for _ in range(400):  # with some 200 octets of records each
        stand.send(durable=False)
    assert blocked(stand) == []
    assert stand.bridge.swamped
    assert [guest.pump._reading_paused for guest in stand.gateway.guests] == [True, True]
    disk.go_on()
    stand.gateway.run()
    stand.gateway.wait_until(lambda: not stand.bridge.swamped)
    assert stand.logged().count("received") == 400


def test_consumers_drain_on_the_reserve_while_publishers_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_reserve=1MiB")
    reserve = stand.gateway.service.store.reserve
    assert reserve.held > 0
    room = [False]
    set_aside = reserve.set_aside
    monkeypatch.setattr(reserve, "set_aside", lambda: room[0] and set_aside())
    stand.gateway.result(stand.old.send("q", Letter(body=Typed("string", "1"), durable=True)))
    stand.disk.fail(FULL)
    stand.send(durable=False)
    stand.gateway.let_happen(lambda: stand.bridge.store_error is not None)
    assert (reserve.released, blocked(stand)) == (True, ["full"])
    assert stand.gateway.service.ready() is None
    waiting = stand.send(durable=True)
    got: list[Delivered] = []
    taker = stand.gateway.connect_0_10()
    stand.gateway.result(taker.receive(Subscription("q", credit=10), got.append))
    stand.gateway.run()
    for delivered in got:
        delivered.settle("accept")
    stand.gateway.run()
    assert len(got) == 3
    assert stand.bridge.pressure.messages == 0
    assert waiting == []
    room[0] = True
    stand.gateway.let_happen(lambda: stand.bridge.store_error is None)
    stand.gateway.run()
    assert (waiting, reserve.released) == (["accepted"], False)
    assert stand.logged().count("settled") == 3


def test_a_checkpoint_waits_until_the_disk_takes_everything_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_reserve=1MiB")
    reserve = stand.gateway.service.store.reserve
    room = [False]
    again = reserve.set_aside
    monkeypatch.setattr(reserve, "set_aside", lambda: room[0] and again())
    stand.disk.fail(FULL)
    stand.send(durable=True)
    stand.gateway.let_happen(lambda: stand.bridge.store_error is not None)
    stand.gateway.wait_until(stand.bridge.turns.idle)
    given = stand.bridge.audit.next_sequence
    for _ in range(3):
        stand.gateway.pass_time(60)
    assert stand.bridge.audit.next_sequence == given
    room[0] = True
    stand.gateway.let_happen(lambda: stand.bridge.store_error is None)
    stand.gateway.run()
    assert stand.bridge.audit.next_sequence > given
    assert "clock" in stand.logged()


def test_on_a_full_disk_a_stop_without_clients_waits_for_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_reserve=1MiB")
    reserve = stand.gateway.service.store.reserve
    monkeypatch.setattr(reserve, "set_aside", lambda: False)
    stand.disk.fail(FULL)
    stand.send(durable=True)
    stand.gateway.let_happen(lambda: stand.bridge.store_error is not None)
    stand.send(durable=True)
    stand.gateway.wait_until(stand.bridge.turns.idle)
    for guest in stand.gateway.guests:
        guest.hang_up()
    stand.gateway.run()
    assert stand.bridge.awaited() == ["1 publish waits for room on the disk"]
    began = stand.gateway.reactor.seconds()
    stand.gateway.service.stop()
    stand.gateway.run()
    assert (stand.gateway.stopped, stand.gateway.service.exit_code) == (True, 0)
    assert stand.gateway.reactor.seconds() == began
    stand.disk.heal()
    again = WholeGateway(stand.data).start()
    assert again.service.recovered.count == 2
    again.stop()


def test_a_share_of_the_reserve_that_was_had_is_for_what_publishers_send_nevertheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_reserve=1MiB")
    wanted = stand.gateway.service.store.reserve.wanted
    assert 0 < wanted <= 1024 * 1024
    assert stand.bridge.pressure.late_max == wanted // 8
    stand.gateway.stop()


def test_what_is_accepted_while_the_store_is_late_fits_its_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_reserve=1MiB")
    store = stand.gateway.service.store
    disk = Hanging(monkeypatch, stand.data)
    pumps = [guest.pump for guest in stand.gateway.guests]
    told: list[list[str]] = []
    while not all(pump._reading_paused for pump in pumps):
        # Transient ones are confirmed before they are written.
        told += [stand.send(durable=False, client=client) for client in (stand.old, stand.new)]
        assert len(told) < 3000
    assert store.counts.octets_waiting < store.reserve.wanted // 8
    assert blocked(stand) == []
    disk.go_on()
    stand.gateway.run()
    stand.gateway.wait_until(lambda: not any(pump._reading_paused for pump in pumps))
    assert told == [["accepted"]] * len(told)
    assert stand.logged().count("received") == len(told)


def test_a_gateway_without_a_reserve_waits_for_as_much_as_ever(tmp_path: Path) -> None:
    gateway = WholeGateway(tmp_path).start()
    assert gateway.service.bridge.unwritten.most == MUCH
    gateway.stop()


def test_what_waits_for_the_disk_is_bounded_nothing_is_delivered_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(tmp_path, monkeypatch, "store_backlog=64KiB")
    got: list[Delivered] = []
    for _ in range(5):
        stand.send(durable=False)
    stand.gateway.run()
    stand.breaks(BROKEN)
    big = Letter(body=Typed("string", "x" * 70_000), durable=True)
    stand.old.send("q", big)
    stand.gateway.carry()
    assert stand.bridge.swamped
    faces = [guest.pump.face for guest in stand.gateway.guests]
    assert [face.reading_paused for face in faces] == [True, True]
    assert [guest.pump._reading_paused for guest in stand.gateway.guests] == [True, True]
    stand.heals()
    assert [guest.pump._reading_paused for guest in stand.gateway.guests] == [False, False]
    taker = stand.gateway.connect_0_10()
    stand.gateway.result(taker.receive(Subscription("q", credit=10), got.append))
    stand.gateway.run()
    assert len(got) == 7


def test_a_kill_meanwhile_shows_as_a_gap(stand: Stand, tmp_path: Path) -> None:
    stand.breaks(BROKEN)
    stand.disk.let_through = "unlogged"
    stand.send(durable=False)
    told_before = stand.gateway.service.store.counts.audit_failures
    stand.gateway.let_happen(
        lambda: stand.gateway.service.store.counts.audit_failures > told_before + 1
    )
    shutil.copytree(stand.data, tmp_path / "killed")
    stand.heals()
    again = WholeGateway(tmp_path / "killed").start()
    again.stop()
    (gap,) = verify(tmp_path / "killed" / "audit").damages
    assert gap.problem == "gap"
    assert gap.found > gap.expected


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("met", [False, True])
def test_a_life_that_nobody_met_leaves_no_gap_if_the_disk_takes_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, met: bool
) -> None:
    data = tmp_path / "data"
    WholeGateway(data).start().stop()
    disk = FaultyDisk(monkeypatch, data)  # it knows what was synced since
    disk.let_through = "unlogged"
    gateway = WholeGateway(data).start()
    if met:
        gateway.connect_0_10()
    gateway.run()
    disk.fail(fault, times=ALWAYS)
    gateway.service.checkpoints.take()
    gateway.stop()
    assert gateway.service.exit_code == 1
    disk.heal()
    WholeGateway(data).start().stop()
    assert [damage.problem for damage in verify(data / "audit").damages] == (["gap"] if met else [])


def _fired(waited: Deferred[None]) -> bool:
    return bool(waited.called)


def scraped(stand: Stand) -> str:
    collector = stand.gateway.service.collector
    for piece in collector.pieces():
        if isinstance(piece, Deferred):
            stand.gateway.let_happen(partial(_fired, piece))
    return generate_latest(collector.registry()).decode()


@pytest.mark.parametrize("part", ["audit", "."])
def test_metrics_go_on_where_the_data_directory_or_the_log_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    stand = Stand(tmp_path, monkeypatch)
    monkeypatch.setattr(committer, "LOOK_NS", 0)
    shutil.move(stand.data / part, tmp_path / "moved")
    stand.send(durable=True)
    stand.gateway.let_happen(lambda: stand.bridge.store_error is not None)
    shown = scraped(stand)
    assert 'gateway_store_blocked{cause="gone"} 1.0' in shown
    assert ('gateway_data_bytes{part="store"}' in shown) == (part == "audit")
    assert 'gateway_data_bytes{part="audit"}' not in shown
    shutil.move(tmp_path / "moved", stand.data / part)
    stand.heals()
    assert 'gateway_data_bytes{part="audit"}' in scraped(stand)
    stand.logged()
