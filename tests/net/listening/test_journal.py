"""The log's lines of connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.logger import LogEvent, capturedLogs, formatEvent

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Reason
from gateway.faces.visit import Visit
from gateway.net.listening.journal import BREACHES, COMINGS, ConnectionLog
from gateway.net.logs import set_levels


class Log:
    """A journal with a clock that the test sets."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.journal = ConnectionLog(lambda: self.now_ms)

    def visit(self, number: int = 7) -> Visit:
        visit = Visit(self.journal, number, "10.0.0.1:4711", "AMQP 0-10")
        visit.user = "ann"
        visit.product = "spout (qpid 1.39) from 10.0.0.1"
        visit.mechanism = "PLAIN"
        visit.offered = ["SCRAM-SHA-256", "ANONYMOUS"]
        return visit


@pytest.fixture
def steps() -> Iterator[None]:
    set_levels("debug", {})
    yield
    set_levels("info", {})


def lines(events: list[LogEvent]) -> list[tuple[str, str | None]]:
    return [(event["log_level"].name, formatEvent(event)) for event in events]


def test_a_connection_has_a_line_when_it_opens_and_one_when_it_closes() -> None:
    visit = Log().visit()
    audit = AuditLog(1)
    with capturedLogs() as captured:
        visit.open(audit, 1, "/")
        visit.end(audit, 1, Reason.CONNECTION_LOST)
    assert lines(captured) == [
        (
            "info",
            "connection 7 from 10.0.0.1:4711 opened: 'ann' by spout (qpid 1.39),"
            " AMQP 0-10, PLAIN, virtual host '/'",
        ),
        (
            "info",
            "connection 7 from 10.0.0.1:4711 closed: its transport ended:"
            " 'ann' by spout (qpid 1.39)",
        ),
    ]


def test_who_says_nothing_of_itself_is_no_product() -> None:
    visit = Log().visit()
    visit.product = "from 10.0.0.1"
    with capturedLogs() as captured:
        visit.end(AuditLog(1), 1, Reason.NOT_FOUND)
        visit.opened = True
        visit.broke("", "a frame of 3 octets")
    assert str(lines(captured)[-1][1]).endswith(": a frame of 3 octets: 'ann'")


def test_connections_that_come_and_go_very_often_are_not_all_told() -> None:
    log = Log()
    told = []
    audit = AuditLog(1)
    for now_ms in (0, 1000):
        log.now_ms = now_ms
        with capturedLogs() as captured:
            for number in range(COMINGS):
                visit = log.visit(number)
                visit.open(audit, now_ms, "/")
                visit.end(audit, now_ms, Reason.CONNECTION_LOST)
        told += lines(captured)
    assert [level for level, _ in told].count("info") == 2 * COMINGS
    first = str(told[2 * COMINGS][1])
    assert first.endswith(f"virtual host '/'; {COMINGS} more since the last such line")


def test_a_refused_one_tells_which_mechanism_was_asked_for_and_which_were_offered() -> None:
    visit = Log().visit()
    visit.mechanism = "GSSAPI"
    visit.user = ""
    visit.because(Reason.NO_MECHANISM, "")
    with capturedLogs() as captured:
        visit.end(AuditLog(1), 1, Reason.NONE)
    assert lines(captured) == [
        (
            "warn",
            "connection 7 from 10.0.0.1:4711 refused: it asked for mechanism 'GSSAPI',"
            " offered were: SCRAM-SHA-256 ANONYMOUS:"
            " without a user by spout (qpid 1.39), AMQP 0-10",
        )
    ]


def test_one_that_goes_when_it_has_read_how_it_may_log_in_is_told_with_that() -> None:
    visit = Log().visit()
    visit.mechanism = ""
    visit.user = ""
    with capturedLogs() as captured:
        visit.end(AuditLog(1), 1, Reason.CONNECTION_LOST)
    assert lines(captured) == [
        (
            "info",
            "connection 7 from 10.0.0.1:4711: it left before it was open,"
            " offered were: SCRAM-SHA-256 ANONYMOUS:"
            " without a user by spout (qpid 1.39), AMQP 0-10",
        )
    ]


def test_refusals_are_told_one_line_a_second() -> None:
    log = Log()
    told = []
    for now_ms in (0, 1, 999, 1000):
        log.now_ms = now_ms
        visit = log.visit()
        visit.because(Reason.NOT_FOUND, "there is no virtual host x")
        with capturedLogs() as captured:
            visit.end(AuditLog(1), 1, Reason.NONE)
        told += lines(captured)
    assert [level for level, _ in told] == ["warn", "debug", "debug", "warn"]
    assert str(told[-1][1]).endswith("; 2 more since the last such line")


def test_what_is_told_elsewhere_is_for_who_looks_closely() -> None:
    visit = Log().visit()
    visit.because(Reason.LOGIN_FAILED, "")
    with capturedLogs() as captured:
        visit.end(AuditLog(1), 1, Reason.NONE)
    assert [level for level, _ in lines(captured)] == ["debug"]


def test_who_leaves_before_it_has_opened_has_a_line_but_not_each_of_very_many() -> None:
    log = Log()
    told = []
    for now_ms in (0, 1, 1000):
        log.now_ms = now_ms
        with capturedLogs() as captured:
            log.visit().end(AuditLog(1), 1, Reason.NONE)
        told += lines(captured)
    assert [level for level, _ in told] == ["info", "debug", "info"]
    assert "connection 7 from 10.0.0.1:4711: it left before it was open: " in told[0][1]
    assert told[2][1].endswith("; 1 more since the last such line")
    refused = log.visit()
    refused.because(Reason.NOT_FOUND, "there is no virtual host x")
    with capturedLogs() as captured:
        refused.end(AuditLog(1), 1, Reason.NONE)
    assert [level for level, _ in lines(captured)] == ["warn"]


def test_a_breach_of_the_protocol_is_told_once_of_each_connection() -> None:
    visit = Log().visit()
    with capturedLogs() as captured:
        visit.broke("", "a frame of 3 octets")
        visit.broke("", "x" * 1000)
    first, second = lines(captured)
    assert first == (
        "warn",
        "connection 7 from 10.0.0.1:4711 broke its protocol: a frame of 3 octets:"
        " 'ann' by spout (qpid 1.39)",
    )
    assert (second[0], len(str(second[1])) < 400) == ("debug", True)


@pytest.mark.parametrize(("opened", "most"), [(False, 1), (True, BREACHES)])
def test_connections_that_break_their_protocol_very_often_are_not_all_told(
    opened: bool, most: int
) -> None:
    log = Log()
    told = []
    for now_ms in (0, 999, 1000):
        log.now_ms = now_ms
        with capturedLogs() as captured:
            for number in range(100):
                visit = log.visit(number)
                visit.opened = opened
                visit.broke("", "a frame of 3 octets")
        told += lines(captured)
    assert [level for level, _ in told].count("warn") == 2 * most
    assert str(told[200][1]).endswith(f"; {200 - most} more since the last such line")


def test_who_has_not_logged_in_leaves_the_lines_of_others_as_they_are() -> None:
    log = Log()
    open_one = log.visit()
    open_one.opened = True
    with capturedLogs() as captured:
        for number in range(100):
            log.visit(number).broke("", "no mechanism of ours")
        open_one.broke("", "a frame of 3 octets")
    assert [level for level, _ in lines(captured)].count("warn") == 2
    assert lines(captured)[-1][0] == "warn"


def test_a_part_that_has_ended_for_an_error_is_told_apart_from_the_connection() -> None:
    visit = Log().visit()
    with capturedLogs() as captured:
        visit.broke("link 'orders'", "a transfer without credit")
    assert lines(captured) == [
        (
            "warn",
            "connection 7 from 10.0.0.1:4711: its link 'orders' was ended: a transfer without"
            " credit: 'ann' by spout (qpid 1.39)",
        )
    ]


def test_steps_are_lines_where_debug_lines_are_written(steps: None) -> None:
    visit = Log().visit()
    with capturedLogs() as captured:
        visit.step("a session is attached")
        set_levels("info", {})
        visit.step("another")
    assert lines(captured) == [("debug", "connection 7 from 10.0.0.1:4711: a session is attached")]
