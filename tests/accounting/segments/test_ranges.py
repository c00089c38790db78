"""What publishers were told, held against what came by their links in one part of a log."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.hand_log import HandLog

from gateway.accounting.segments import ranges
from gateway.accounting.segments.columns import units
from gateway.accounting.segments.ranges import from_clients, open_ranges
from gateway.audit.reader import Segment, segment_paths

AT_ONCE = 1 << 20  # records


class Told(HandLog):
    """A run in which messages come by links, and their publishers are told of them."""

    def come(self, link: int, *messages: int, **said: object) -> None:
        for message in messages:
            self.add("RECEIVED", **{"message": message, "link": link, "exchange": "x"} | said)

    def tell(self, link: int, first: int, last: int, messages: int) -> None:
        said = {"first": first, "last": last, "messages": messages, "link": link}
        self.add("CONFIRMED", outcome="ACCEPTED", **said)

    def open(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Ranges that are not right, and messages of which nobody was told, or spans of them."""
        (path,) = segment_paths(self.end())
        segment = Segment(path.name, path.read_bytes())
        (unit,) = units(segment, segment.blocks(), AT_ONCE)
        rows = open_ranges(unit, from_clients(unit)).to_pylist()
        assert {row["incarnation"] for row in rows} <= {1}
        self.came = [row["messages"] for row in rows if not row["sequence"]]
        wrong = [row for row in rows if row["sequence"]]
        untold = [row for row in rows if not row["sequence"]]
        return (
            [(row["link"], row["first"], row["last"], row["messages"]) for row in wrong],
            [(row["link"], row["first"], row["last"]) for row in untold],
        )


@pytest.fixture
def log(tmp_path: Path) -> Told:
    log = Told(tmp_path / "log")
    log.start()
    return log


def test_ranges_of_what_came_by_their_links_are_right_however_the_links_are_numbered(log):
    for message in range(1, 9):
        log.come(7 + message % 2, message)
    log.tell(8, 1, 3, 2)
    log.tell(7, 2, 8, 4)
    log.tell(8, 7, 7, 1)
    log.tell(8, 5, 5, 1)
    assert log.open() == ([], [])


def test_nobody_need_be_told_of_what_an_upstream_sent_or_a_transaction_holds(log):
    log.come(7, 1, exchange="upstream far")
    log.come(7, 2, transaction=3)
    log.come(0, 3)
    assert log.open() == ([], [])


@pytest.mark.parametrize(
    "told",
    [(7, 1, 4, 2), (7, 2, 5, 2), (7, 1, 5, 2), (8, 1, 5, 3), (7, 1001, 1005, 3), (7, 5, 1, 3)],
)
def test_a_range_that_ends_with_another_message_or_counts_others_is_open_with_them(log, told):
    log.come(7, 1, 3, 5)
    log.come(8, 2, 4)
    log.tell(*told)
    log.tell(8, 2, 4, 2)
    assert log.open() == ([told], [(7, 1, 1), (7, 3, 3), (7, 5, 5)])


def test_a_range_in_front_of_one_of_its_messages_is_open_with_them_and_when_they_came(log):
    log.come(7, 1)
    log.tell(7, 1, 2, 2)
    log.come(7, 2)
    log.come(8, 3)
    log.tell(8, 3, 3, 1)
    assert log.open() == ([(7, 1, 2, 2)], [(7, 1, 1), (7, 2, 2)])
    assert log.came == [2, 4]


def test_of_two_ranges_with_the_same_messages_both_are_open(log):
    log.come(7, 1, 2, 3, 4)
    log.tell(7, 1, 2, 2)
    log.tell(7, 2, 3, 2)
    log.tell(7, 4, 4, 1)
    assert log.open() == ([(7, 1, 2, 2), (7, 2, 3, 2)], [(7, 1, 1), (7, 2, 2), (7, 3, 3)])


def test_of_very_many_that_nobody_was_told_of_the_last_ones_of_each_link_are_said(log, monkeypatch):
    monkeypatch.setattr(ranges, "UNTOLD_MAX", 4)
    log.come(7, 1, 2, 3, 6)
    log.come(8, 4, 5)
    assert log.open() == ([], [(7, 3, 3), (7, 6, 6), (8, 4, 4), (8, 5, 5), (7, 1, 2)])
    assert log.came == [4, 5, 6, 7, 0]
