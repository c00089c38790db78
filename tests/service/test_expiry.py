"""The certificate that clients are shown: who keeps no metrics reads in the log that it expires."""

import pathlib
import time

from support.certificates import DAY, Authority
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.net.clock import GatewayClock
from gateway.net.tls.validity import NO_TIME
from gateway.service.expiry import ExpiryLines

DAY_S = 86_400
NOW_S = 1_800_000_000.0


class Running:
    """A gateway's certificate, and lines about it, as time goes on."""

    def __init__(self, expires_s: float) -> None:
        self.expires_s = expires_s
        self.now_s = NOW_S
        self.clock = GatewayClock(lambda: self.now_s, lambda: self.now_s)
        self.lines = ExpiryLines(lambda: self.expires_s, self.clock)

    def after(self, *days: float) -> list[str]:
        """What it says when so many days have passed since it began."""
        told: list[str] = []
        for each in days:
            self.now_s = NOW_S + each * DAY_S
            with capturedLogs() as events:
                self.lines.look()
            told += [formatEvent(event) for event in events]
        return told


def test_it_is_told_two_weeks_before_and_then_once_a_day() -> None:
    running = Running(NOW_S + 20 * DAY_S)
    assert running.after(0, 5.9) == []
    (line,) = running.after(6.1, 6.2, 7.0)
    assert "expires in 13 days (2027-02-04 08:00 UTC)" in line
    assert "put another in its place and reload" in line
    assert len(running.after(7.2, 7.3, 8.3)) == 2
    (line,) = running.after(19.9)
    assert "expires in 2 hours" in line


def test_that_it_has_expired_is_told_at_once_and_then_once_a_day() -> None:
    running = Running(NOW_S + DAY_S)
    assert len(running.after(0.9, 0.95)) == 1
    (line,) = running.after(1.0, 1.1, 1.9)
    assert (
        "has expired (2027-01-16 08:00 UTC): clients that check it do not connect any more" in line
    )
    assert len(running.after(2.1)) == 1


def test_another_in_its_place_ends_that() -> None:
    running = Running(NOW_S + DAY_S)
    assert len(running.after(0)) == 1
    running.expires_s = NOW_S + 100 * DAY_S
    assert running.after(1, 2, 3) == []
    running.expires_s = NOW_S + 5 * DAY_S
    assert len(running.after(3.1, 3.2)) == 1


def test_what_had_expired_when_it_was_read_was_told_then() -> None:
    running = Running(NOW_S - 1)
    assert running.after(0, 0.5) == []
    assert len(running.after(1.0, 1.1)) == 1


def test_without_a_certificate_nothing_is_said() -> None:
    assert Running(NO_TIME).after(0, 1, 2) == []


def test_a_gateway_looks_at_the_one_that_it_shows(tmp_path: pathlib.Path) -> None:
    certificate, key = Authority(tmp_path).issue("short", lasts=DAY)
    gateway = WholeGateway(
        tmp_path / "data",
        f"tls.certificate={certificate}",
        f"tls.key={key}",
        "listen.amqps=127.0.0.1:0",
    ).start()
    gateway.service.clock._wall_s = time.time
    with capturedLogs() as events:
        gateway.pass_time(1)
        gateway.pass_time(1)
    told = [formatEvent(event) for event in events]
    assert len([line for line in told if line.startswith("tls.certificate, or one above it")]) == 1
    gateway.stop()
