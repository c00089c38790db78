"""One gateway under load whose clock or disk does what it must not: it says so, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from faults.disk import AUDIT, FOREVER, STORE, Disk, compiled, compiler
from faults.upstream_load import Book, Load
from support.gateway_process import GatewayProcess

pytestmark = pytest.mark.skipif(
    compiler() is None, reason="no C compiler: run tests/interop/install proton"
)


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
