"""Whoever is turned away at the door has a line of the log, and not one for each try."""

import pytest
from support.net import Net
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.logger import LogEvent, capturedLogs, formatEvent

from gateway.net.listening.listen import Listener
from gateway.net.listening.turned_away import ADDRESSES, TOLD_EVERY_S, TurnedAway


def lines(events: list[LogEvent]) -> list[str | None]:
    return [formatEvent(event) for event in events if event["log_level"].name == "warn"]


def test_one_line_at_once_and_then_how_many_more_there_were_while_there_are() -> None:
    clock = Clock()
    away = TurnedAway(clock)
    with capturedLogs() as captured:
        for _ in range(1000):
            away.tell("192.0.2.1", "address_limit")
        away.tell("192.0.2.2", "address_limit")
        clock.advance(TOLD_EVERY_S)
        away.tell("192.0.2.1", "address_limit")
        clock.advance(TOLD_EVERY_S)
        clock.advance(TOLD_EVERY_S)
        away.tell("192.0.2.1", "limit")
    limit = "it has as many as limits.connections_per_address allows"
    assert lines(captured) == [
        f"a connection from 192.0.2.1 was refused: {limit}",
        f"a connection from 192.0.2.2 was refused: {limit}",
        f"999 more connections from 192.0.2.1 were refused in 5 seconds: {limit}",
        f"1 more connections from 192.0.2.1 were refused in 5 seconds: {limit}",
        "a connection from 192.0.2.1 was refused: there are as many as limits.connections allows",
    ]


def test_very_many_addresses_have_few_lines_and_are_forgotten() -> None:
    clock = Clock()
    away = TurnedAway(clock)
    with capturedLogs() as captured:
        for number in range(10_000):
            away.tell(f"192.0.{number >> 8}.{number & 255}", "limit")
        assert len(lines(captured)) == ADDRESSES + 1
        clock.advance(TOLD_EVERY_S)
        clock.advance(TOLD_EVERY_S)
    assert lines(captured)[-1] == (
        f"{10_000 - ADDRESSES - 1} more connections from other addresses were refused in 5 seconds:"
        " there are as many as limits.connections allows"
    )
    assert len(clock.getDelayedCalls()) == 0


@pytest.mark.parametrize(
    ("net", "key"),
    [
        (Net(connections_max=1), "limits.connections"),
        (Net(connections_per_address_max=1), "limits.connections_per_address"),
    ],
)
def test_a_connection_beyond_a_limit_has_a_line(net: Net, key: str) -> None:
    net.connect()
    with capturedLogs() as captured:
        assert Listener(net.door).buildProtocol(IPv4Address("TCP", "192.0.2.1", 1)) is None
    (line,) = lines(captured)
    assert line is not None and line.startswith("a connection from 192.0.2.1 was refused: ")
    assert f"as {key} allows" in line


def test_who_says_nothing_or_nonsense_has_a_line_and_who_only_looks_has_none() -> None:
    net = Net()
    silent, _ = net.connect()
    other, _ = net.connect("192.0.2.2")
    looks, _ = net.connect("192.0.2.3")
    with capturedLogs() as captured:
        looks.connectionLost()
        other.dataReceived(b"\x16\x03\x01\x00\x00\x00\x00\x00")
        deadline = silent.face.next_deadline()
        assert deadline is not None
        silent.face.handle_deadline(deadline)
    assert lines(captured) == [
        "a connection from 192.0.2.2 was refused: it speaks no protocol of ours",
        "a connection from 192.0.2.1 was refused: it did not say in time which protocol it speaks",
    ]
