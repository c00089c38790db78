"""A switch that takes along what a queue holds: clients get all of it, in its order."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from support.fork import Fork

BEFORE = [f"before {number}" for number in range(20)]
SWITCH = {"node": "orders", "upstream": "new", "drain": True}


@pytest.fixture
def fork(tmp_path: pathlib.Path) -> Fork:
    return Fork(tmp_path)


def accept(got: list[Any]) -> list[str]:
    for delivered in got:
        delivered.settle("accept")
    return [bytes(delivered.letter.body.value).decode() for delivered in got]


def test_a_consumer_gets_what_was_there_before_what_is_published_meanwhile(fork: Fork) -> None:
    fork.fill(*BEFORE, at="old")
    request = fork.begin("switch", {**SWITCH, "rate": 10})
    fork.run(0.5)
    got = fork.consume()
    assert fork.fill("meanwhile") == ["accepted"]
    assert fork.ask("status")[1]["rules"][0]["state"] == "moving"
    fork.run(5)
    assert fork.answer(request) == (200, {"done": "done; 21 messages moved"})
    assert fork.fill("after") == ["accepted"]
    fork.run(0.5)
    assert accept(got) == [*BEFORE, "meanwhile", "after"]
    fork.run(0.5)
    assert (fork.depth("old"), fork.depth("new")) == (0, 0)
    assert fork.move()["state"] == "done"
    assert fork.ask("status")[1]["rules"][0]["upstream"] == "new"
    fork.stop()
    fork.near.ledger().assert_balanced()


def test_who_stops_it_has_everything_as_before_but_what_is_moved(fork: Fork) -> None:
    fork.fill(*BEFORE, at="old")
    request = fork.begin("switch", {**SWITCH, "rate": 10})
    fork.run(1)
    fork.ask("stop-move", {"move": 1})
    fork.run(1)
    code, told = fork.answer(request)
    assert (code, "it was stopped" in told["problems"][0]["problem"]) == (409, True)
    assert fork.ask("status")[1]["rules"][0]["upstream"] == "old"
    left = fork.takes()
    assert 0 < len(left) < len(BEFORE)
    assert fork.takes("new") + left == BEFORE


def test_it_goes_back_in_the_same_way(fork: Fork) -> None:
    fork.fill(*BEFORE, at="old")
    fork.begin("switch", SWITCH)
    fork.run(3)
    assert fork.depth("new") == len(BEFORE)
    fork.begin("switch", {**SWITCH, "upstream": "old"})
    fork.run(3)
    assert (fork.depth("old"), fork.takes()) == (len(BEFORE), BEFORE)


def test_without_it_the_answer_says_what_stays_behind(fork: Fork) -> None:
    fork.fill("1", "2", at="old")
    request = fork.begin("switch", {"node": "orders", "upstream": "new"})
    fork.run(1)
    assert fork.answer(request)[1]["done"] == (
        "done; 2 messages of 'orders' stay at old (`migrate move` takes it along)"
    )
    request = fork.begin("switch", {"node": "orders", "upstream": "old"})
    fork.run(1)
    assert fork.answer(request)[1]["done"] == (
        "done; what new holds of 'orders' stays there, and it does not say how much"
        " (`migrate move` takes it along)"
    )


def test_an_exchange_holds_nothing_to_be_taken_along(tmp_path: pathlib.Path) -> None:
    fork = Fork(tmp_path, queue=None, exchange="amq.topic")
    code, told = fork.ask("switch", {**SWITCH, "node": "amq.topic"})
    assert (code, told["problems"][0]["key"]) == (422, "drain")


def test_to_where_nobody_is_connected_nothing_is_begun_and_who_is_late_hears_how_to_end_it(
    fork: Fork,
) -> None:
    fork.fill(*BEFORE, at="old")
    fork.cut("new")
    fork.run(0.5)
    code, told = fork.ask("switch", SWITCH)
    assert (code, told["problems"][0]["key"]) == (422, "upstream")
    assert told["problems"][0]["problem"].startswith("upstream new is not connected")
    assert fork.ask("status")[1]["rules"][0]["state"] == "active"
    fork.connect("new")
    fork.run(0.5)
    fork.begin("switch", {**SWITCH, "rate": 10})
    fork.run(0.5)
    code, told = fork.ask("switch", SWITCH)
    assert (code, told["problems"][0]["problem"].endswith("`migrate move --stop` gives it up")) == (
        409,
        True,
    )
    fork.ask("stop-move", {"move": 1})
    fork.run(1)
