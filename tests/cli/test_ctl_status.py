"""What `ctl status` shows of what the admin port answered."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cli.ctl_status import lines, spell

UP = {
    "name": "main",
    "state": "up",
    "since": "2026-01-01T00:00:00Z",
    "since_s": 3725.0,
    "host": "amqps://broker-a:5671",
    "failed_tries": 0,
    "next_try": None,
    "next_try_in_s": None,
    "last_error": "",
    "last_error_at": None,
    "links": 4,
    "links_wanted": 5,
    "detours": [],
    "held": 0,
    "spooled": 12,
    "oldest_s": 0.4,
    "fetched": 3,
    "paused": 1,
    "moving": 0,
}
DOWN = UP | {
    "name": "old",
    "state": "down",
    "host": "",
    "failed_tries": 7,
    "next_try": "2026-01-01T01:02:15Z",
    "next_try_in_s": 10.2,
    "last_error": "amqp://broker:5672: Connection was refused by other side",
    "last_error_at": "2026-01-01T01:02:00Z",
    "held": 2,
    "oldest_s": 61.0,
}


RULE = {
    "key": "nodes.0",
    "kind": "queue",
    "pattern": "orders",
    "spool": False,
    "upstream": "main",
    "state": "active",
    "changed_by_ctl": True,
    "nodes": 1,
    "waiting": 0,
    "unsettled": 0,
}


def shown(
    *upstreams: dict[str, Any],
    under_way: str = "",
    changed: bool = False,
    rules: tuple[dict[str, Any], ...] = (),
) -> list[str]:
    told = {
        "upstreams": list(upstreams),
        "rules": list(rules),
        "changed_by_ctl": changed,
        "under_way": under_way,
    }
    return list(lines(told))


def test_an_upstream_that_is_well_takes_one_line() -> None:
    head, line, empty, _rules = shown(UP)
    assert head.split() == [
        *("UPSTREAM", "STATE", "SINCE", "HOST", "LINKS"),
        *("HELD", "SPOOLED", "FETCHED", "PAUSED", "MOVING"),
    ]
    assert " ".join(line.split()) == (
        "main up 2026-01-01T00:00:00Z (1 h 2 min) amqps://broker-a:5671 4 of 5 0 12 3 1 0"
    )
    assert empty == ""


def test_of_one_that_is_away_it_is_said_why_and_when_it_is_tried_again() -> None:
    assert shown(UP, DOWN)[3:6] == [
        "  old: 7 tries in a row have failed; the next is in 10 s, 2026-01-01T01:02:15Z",
        "  old: last problem, 2026-01-01T01:02:00Z:"
        " amqp://broker:5672: Connection was refused by other side",
        "  old: the oldest message to it has been in the gateway for 1 min 1 s",
    ]
    trying = DOWN | {"next_try": None, "next_try_in_s": None}
    assert shown(trying)[2] == "  old: 7 tries in a row have failed; it is tried now"
    assert shown(DOWN | {"failed_tries": 0})[2].startswith("  old: not tried again yet; the next")


def test_what_ctl_has_changed_and_what_it_is_doing_is_said_last() -> None:
    told = shown(UP, under_way="a switch of nodes.0", changed=True, rules=(RULE,))
    assert "active*" in told[-3]
    assert told[-2:] == [
        "* changed by ctl, until the next reload or restart",
        "a switch of nodes.0 is under way",
    ]


def test_a_rule_that_ctl_has_changed_back_has_no_footnote() -> None:
    back = RULE | {"changed_by_ctl": False}
    assert not any("*" in line for line in shown(UP, changed=True, rules=(back,)))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9, "0 s"), (59, "59 s"), (60, "1 min"), (3725, "1 h 2 min"), (90_000, "1 d 1 h")],
)
def test_a_span_of_time_is_told_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert spell(seconds) == text


def test_where_links_are_redirected_to_is_told() -> None:
    there = {"host": "broker-b:5671", "state": "up", "since": "", "links": 2}
    facts = shown(UP | {"detours": [there]})
    assert "  main: redirects links to broker-b:5671: 2 there, up" in facts
