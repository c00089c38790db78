"""One gateway under load whose clock or disk does what it must not: it says so, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from faults.campaign import drained
from faults.disk import AUDIT, FOREVER, STORE, Disk, compiled, compiler
from faults.upstream_load import Book, Load
from support.gateway_process import GatewayProcess

from gateway.audit.verify import WHOLE, verify

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        compiler() is None, reason="no C compiler: run tests/interop/install proton"
    ),
]


class Stand:
    """A gateway on a disk and a clock of its own, with a publisher of each protocol."""

    def __init__(self, directory: Path, **config: Any) -> None:
        self.disk = Disk(compiled(directory), directory)
        self.gateway = GatewayProcess(directory, config, environment=self.disk.environment)
        self.book = Book()
        self.gateway.start()
        self.load = Load(self.gateway.amqp_port)
        client = self.load.connect("0-10")
        self.load.lines.wait_for(client.declare_queue("q", durable=True))
        for protocol in ("0-10", "1.0"):
            self.load.publish(self.book, "q", protocol, durable=True)

    def go_on(self, count: int) -> None:
        """Until so many more publishes are confirmed."""
        wanted = len(self.book.confirmed) + count
        self.load.run(lambda: len(self.book.confirmed) >= wanted)


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    if made.gateway.running:
        made.gateway.kill()


LATENESS = "gateway_event_loop_lag_seconds_count"  # counts each second, by a timer


def test_a_wall_clock_that_is_set_back_by_an_hour_stops_nothing(stand: Stand) -> None:
    stand.go_on(50)
    stand.disk.set_clock_back(3600)
    seconds = stand.gateway.metrics()[LATENESS]
    stand.load.run(lambda: stand.gateway.metrics()[LATENESS] > seconds + 1, within_s=20)
    stand.go_on(50)
    assert stand.gateway.metrics()["gateway_clock_drift_seconds"] < -3000
    assert stand.gateway.stop() == 0


def test_a_disk_whose_syncs_do_not_come_back_is_told_of_until_they_do(stand: Stand) -> None:
    stand.go_on(50)
    stand.disk.fail("slow", STORE | AUDIT, after=0, times=FOREVER, slow_us=60_000_000)
    stand.load.run(lambda: "has not answered for 5 s" in stand.gateway.log(), within_s=20)
    assert stand.gateway.metrics()['gateway_store_blocked{cause="slow"}'] == 1
    with pytest.raises(HTTPError, match="503"):
        stand.gateway.get("/readyz")
    confirmed = len(stand.book.confirmed)
    stand.load.turn()
    assert len(stand.book.confirmed) == confirmed
    stand.disk.heal()
    stand.load.run(lambda: "the disk takes everything again" in stand.gateway.log())
    stand.go_on(50)
    assert stand.gateway.get("/readyz") == "ok\n"
    assert stand.gateway.stop() == 0


def test_a_store_that_is_removed_confirms_nothing_more_and_the_stop_does_not_wait(
    stand: Stand,
) -> None:
    stand.go_on(50)
    for path in stand.gateway.data.glob("store.sqlite*"):
        path.unlink()
    stand.load.run(lambda: "has been removed or moved" in stand.gateway.log(), within_s=20)
    assert stand.gateway.said(" critical ")
    assert stand.gateway.metrics()['gateway_store_blocked{cause="gone"}'] == 1
    with pytest.raises(HTTPError, match="503"):
        stand.gateway.get("/readyz")
    confirmed = len(stand.book.confirmed)
    stand.load.turn()
    assert len(stand.book.confirmed) == confirmed
    stand.load.lines.hang_up()
    assert stand.gateway.stop() == 1
    said = stand.gateway.log()
    assert "nothing can be committed, and no client is left; " in said
    assert "something waits for the disk" in said
    assert "drain_timeout is over" not in said
    assert "; not written: " in said


def test_an_audit_segment_that_is_moved_away_while_it_is_written_is_missed_until_it_is_back(
    stand: Stand, tmp_path: Path
) -> None:
    stand.go_on(50)
    (segment,) = stand.gateway.audit.iterdir()
    segment.rename(tmp_path / "moved")
    stand.load.run(lambda: "has been removed or moved" in stand.gateway.log(), within_s=20)
    (tmp_path / "moved").rename(segment)
    stand.load.run(lambda: "the disk takes everything again" in stand.gateway.log())
    stand.go_on(50)
    assert stand.gateway.stop() == 0
    assert verify(stand.gateway.audit) == WHOLE


@pytest.mark.parametrize("killed", [False, True])
def test_a_gateway_starts_on_a_full_disk_without_a_reserve_and_goes_on_when_there_is_room(
    stand: Stand, killed: bool
) -> None:
    gateway, disk = stand.gateway, stand.disk
    stand.go_on(50)
    stand.load.stop_publishing()
    stand.load.run(stand.load.quiet)
    stand.load.lines.hang_up()
    assert gateway.stop() == 0
    disk.fail("short", STORE, after=0, times=FOREVER)  # it takes no octets; files may be cut
    gateway.start()
    load = Load(gateway.amqp_port)
    load.run(lambda: gateway.log().endswith("database or disk is full\n"))
    assert gateway.get("/healthz") == "ok\n"
    assert gateway.metrics()['gateway_store_blocked{cause="full"}'] == 1
    with pytest.raises(HTTPError, match="503"):
        gateway.get("/readyz")
    given = Book()
    consumer = load.consume(given, "q", "1.0")
    consumer.paused = True
    load.publish(stand.book, "q", "0-10", durable=True)
    confirmed = len(stand.book.confirmed)
    load.run(lambda: gateway.metrics()["gateway_store_waiting_turns"] > 0)
    assert len(stand.book.confirmed) == confirmed
    if killed:
        gateway.kill()
        load.lines.hang_up()
        disk.heal()
        gateway.start()
    else:
        disk.heal()
        load.run(lambda: len(stand.book.confirmed) > confirmed + 20 and len(given.found) >= 20)
        load.stop_publishing()
        load.run(load.quiet)
        assert gateway.get("/readyz") == "ok\n"
        load.lines.hang_up()
    left = drained(gateway.amqp_port, "q")
    assert stand.book.confirmed <= {text for text, _ in left}
    assert len({text for text, _ in left}) == len(left)
    assert given.seen <= {text for text, redelivered in left if redelivered}
    assert gateway.stop() == 0
    damage = [one.problem for one in verify(gateway.audit).damages]
    # Of a life that is killed before the disk took anything of it there may be its numbers, or not.
    assert damage in ([], ["gap"]) if killed else damage == []
