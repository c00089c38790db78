from typing import Any

from twisted.logger import globalLogPublisher

from gateway.net.listening.decisions import DecisionLog
from gateway.net.listening.pace import PACE_MS


class Clock:
    now_ms = 0


def told(*at_ms: int) -> list[dict[str, Any]]:  # Any: events hold anything
    """The events of decisions at these times."""
    events: list[dict[str, Any]] = []
    clock = Clock()
    log = DecisionLog(lambda: clock.now_ms)
    globalLogPublisher.addObserver(events.append)
    try:
        for time_ms in at_ms:
            clock.now_ms = time_ms
            log.tell_decision("alice", 7, "192.0.2.1", "purge queue 'q'", "denied by line 3: x")
    finally:
        globalLogPublisher.removeObserver(events.append)
    return [event for event in events if event.get("user") == repr("alice")]


def test_a_decision_is_a_line_with_who_what_and_why() -> None:
    [event] = told(0)
    assert event["log_format"].format(**event) == (
        "connection 7 of 'alice' from 192.0.2.1: purge queue 'q': denied by line 3: x"
    )


def test_there_is_one_line_a_second_which_says_how_many_there_were() -> None:
    lines = told(0, 1, 2, PACE_MS)
    assert [line["more"] for line in lines] == ["", "; 2 more since the last such line"]
