"""Copies that are sent again when they had left long ago, and the first of their records are gone.

The log is packed by hand; a state has read all of it but what is planted.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.whole_log import WholeLog

from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.state.folder import Folder
from gateway.audit.reader import segment_paths

OUTLET = 9


class Growing(WholeLog):
    """Messages 1 to 6 come in the first segment, and leave in the first, second and third."""

    def grow(self) -> None:
        self.begin()
        self.declare("q")
        for message in range(1, 7):
            self.publish(message, "q", link=1)
        self.tell(1)
        self.take("q", 1, OUTLET)
        self.take("q", 2, OUTLET)
        self.cut()
        self.take("q", 3, OUTLET)
        self.take("q", 4, OUTLET)
        self.cut()
        self.take("q", 5, OUTLET)
        self.say()
        self.cut()
        self.say()
        self.cut()

    def plant(self, *messages: int) -> None:
        for message in messages:
            self.held["q"][message] = ""
            self.take("q", message, OUTLET)
        self.stop()


def told(result: Result) -> tuple[dict[str, int], list[tuple]]:
    rows = result.breaks
    assert {row["class"] for row in rows} <= set(result.classes)
    return result.unproven, sorted((row["class"], row["message"]) for row in rows)


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory) -> tuple[Result, Result]:
    """By the whole log, and by the state when the first segment is gone."""
    scratch: Path = tmp_path_factory.mktemp("again")
    log, state = Growing(scratch / "log"), Folder(scratch / "state")
    log.grow()
    assert reconcile(spark, log.directory, scratch / "before", state=state).balanced
    log.plant(2, 4)
    whole = reconcile(spark, log.directory, scratch / "whole")
    segment_paths(log.directory)[0].unlink()
    return whole, reconcile(spark, log.directory, scratch / "behind", state=state)


def test_they_have_left_twice_as_the_whole_log_says(found):
    whole, _behind = found
    assert told(whole) == ({}, [("DUPLICATE", 2), ("DUPLICATE", 4)])


def test_nothing_is_called_wrong_of_what_is_left_of_their_earlier_steps(found):
    _whole, behind = found
    unproven, rows = told(behind)
    gap = ("LOG_GAP", None)  # nobody has said that the segment may go
    assert (unproven, [row for row in rows if row != gap]) == (
        {},
        [("DUPLICATE", 2), ("DUPLICATE", 4)],
    )
