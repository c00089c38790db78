"""Queues are moved from an old broker to a new one, and back, as an operator asks for it."""

from __future__ import annotations

import pathlib

import pytest
from support.fork import Fork

ORDERS = [f"order {number}" for number in range(40)]
FORTH = {"queue": "orders", "from": "old", "to": "new"}
BACK = {"queue": "orders", "from": "new", "to": "old"}


@pytest.fixture
def fork(tmp_path: pathlib.Path) -> Fork:
    return Fork(tmp_path)


def test_a_queue_is_moved_and_moved_back_in_its_order(fork: Fork) -> None:
    fork.fill(*ORDERS, at="old")
    assert fork.ask("move", FORTH) == (
        200,
        {"done": "move 1 from old:orders to new:orders has begun"},
    )
    fork.run(3)
    assert (fork.depth("old"), fork.depth("new")) == (0, 40)
    told = fork.move()
    assert [told[key] for key in ("state", "moved", "redelivered", "refused", "left")] == [
        *("done", 40, 0, 0, 0)
    ]
    fork.ask("move", BACK)
    fork.run(3)
    assert fork.move(2)["state"] == "done"
    assert fork.takes("new") == []
    assert fork.takes("old") == ORDERS
    fork.stop()
    fork.near.ledger().assert_balanced()


def test_a_rate_is_kept(fork: Fork) -> None:
    fork.fill(*ORDERS, at="old")
    fork.ask("move", {**FORTH, "rate": 10})
    fork.run(1)
    assert 5 <= fork.depth("new") <= 15
    fork.run(4)
    assert fork.depth("new") == 40


def test_names_may_differ_and_what_comes_later_is_followed_until_it_is_stopped(fork: Fork) -> None:
    maker = fork.brokers["new"].connect_0_10()
    maker.declare_queue("orders.v2", durable=True)
    maker.flush()
    fork.run()
    fork.fill("1", at="old")
    fork.ask("move", {**FORTH, "to_queue": "orders.v2", "follow": True})
    fork.run(1)
    fork.fill("2", at="old")
    fork.run(1)
    topology = fork.brokers["new"].service.bridge.default_host.topology
    assert topology.queues["orders.v2"].depth == 2
    assert fork.move()["state"] == "running"
    assert fork.ask("stop-move", {"move": 1}) == (200, {"done": "move 1 stops"})
    fork.run(1)
    assert fork.move()["state"] == "stopped"
    fork.fill("3", at="old")
    assert (fork.depth("old"), topology.queues["orders.v2"].depth) == (1, 2)


def test_what_the_new_place_does_not_take_stays_at_the_old_one_and_is_told(fork: Fork) -> None:
    fork.fill(*ORDERS[:3], at="old")
    fork.ask("move", {**FORTH, "to_queue": "nowhere"})
    fork.run(1)
    told = fork.move()
    assert (told["state"], told["moved"], told["refused"]) == ("done", 0, 3)
    assert told["left"] == fork.depth("old") == 3
    assert "nowhere" in told["why_refused"]
    assert fork.takes("old") == ORDERS[:3]


def test_a_queue_that_the_old_place_does_not_have_is_told(fork: Fork) -> None:
    fork.ask("move", {**FORTH, "from_queue": "nowhere"})
    fork.run(1)
    assert fork.move()["state"] == "failed"
    assert fork.move()["problem"].startswith("old:nowhere: ")


def test_while_the_old_broker_is_away_it_waits_and_says_so(fork: Fork) -> None:
    fork.fill(*ORDERS, at="old")
    fork.ask("move", {**FORTH, "rate": 20})
    fork.run(1)
    fork.cut("old")
    fork.run(1)
    told = fork.move()
    assert (told["state"], told["problem"].startswith("upstream old is not connected")) == (
        "waiting",
        True,
    )
    fork.connect("old")
    fork.run(4)
    assert fork.move()["state"] == "done"
    assert fork.takes("new") == ORDERS


def test_what_it_holds_is_left_at_the_old_place_until_the_new_one_has_it(fork: Fork) -> None:
    fork.fill(*ORDERS, at="old")
    fork.cut("new")
    fork.ask("move", FORTH)
    fork.run(3)
    told = fork.move()
    assert (told["state"], told["under_way"], told["left"]) == ("waiting", 40, 40)
    fork.ask("stop-move", {"move": 1})
    fork.run(3)
    told = fork.move()
    assert (told["state"], told["under_way"], told["left"]) == ("stopped", 0, 40)
    code, answer = fork.ask("stop-move", {"move": 1})
    assert (code, answer["problems"][0]["problem"]) == (422, "move 1 is over: stopped")
    assert fork.depth("old") == 40


def test_after_a_kill_it_goes_on_when_it_is_begun_again_and_doubles_are_marked(fork: Fork) -> None:
    fork.fill(*ORDERS, at="old")
    fork.ask("move", {**FORTH, "rate": 20})
    fork.run(1)
    fork.kill()
    assert fork.ask("moves")[1] == {"moves": []}
    moved = fork.depth("new")
    fork.ask("move", FORTH)
    fork.run(2)
    told = fork.move()
    assert (told["state"], fork.depth("old")) == ("done", 0)
    bodies = fork.takes("new")
    assert list(dict.fromkeys(bodies)) == ORDERS
    assert len(bodies) - len(ORDERS) <= told["redelivered"]
    assert moved + told["moved"] == len(bodies)


def test_what_cannot_be_is_refused_with_its_key(fork: Fork) -> None:
    for asked, key in (
        ({"queue": "orders", "from": "z", "to": "new"}, "from"),
        ({"queue": "orders", "from": "old", "to": "z"}, "to"),
        ({"queue": "orders", "from": "old"}, "from"),  # where it lives
        ({"queue": "none", "from": "old"}, "to"),
        ({**FORTH, "virtual_host": "z"}, "virtual_host"),
        ({**FORTH, "rate": -1}, "rate"),
        ({**FORTH, "rate": "x"}, "rate"),
        ({"from": "old"}, "queue"),
    ):
        code, told = fork.ask("move", asked)
        assert (code, told["problems"][0]["key"]) == (422, key)
    assert fork.ask("stop-move", {"move": 1})[0] == 422


def test_two_do_not_take_from_one_queue_and_none_goes_in_a_circle(fork: Fork) -> None:
    assert fork.ask("move", {**FORTH, "follow": True})[0] == 200
    for asked in (FORTH, BACK):
        code, told = fork.ask("move", asked)
        assert code == 422
        assert "move 1 takes from old:orders already" in told["problems"][0]["problem"]


def test_a_queue_comes_into_the_gateways_own_store(tmp_path: pathlib.Path) -> None:
    fork = Fork(tmp_path, queue="others")
    maker = fork.near.connect_0_10()
    maker.declare_queue("orders", durable=True)
    maker.flush()
    fork.fill(*ORDERS, at="old")
    fork.ask("move", {"queue": "orders", "from": "old"})
    fork.run(1)
    assert fork.move()["to"] == {"upstream": "", "queue": "orders"}
    assert fork.move()["state"] == "done"
    assert fork.takes() == ORDERS


def test_a_move_ends_where_a_reload_makes_its_upstream_another_one(fork: Fork) -> None:
    fork.ask("move", {**FORTH, "follow": True})
    upstreams = fork.near.service.upstreams.upstreams
    upstreams["old"] = upstreams["new"]
    fork.run(1)
    assert fork.move()["problem"] == "upstream old is another by now: begin again"


def test_a_stop_in_the_middle_leaves_what_is_not_moved_where_it_was(fork: Fork) -> None:
    fork.fill(*ORDERS, at="old")
    fork.ask("move", {**FORTH, "rate": 20})
    fork.run(1)
    fork.stop()
    for broker in fork.brokers.values():
        broker.run()
    moved = fork.takes("new")
    assert moved + fork.takes("old") == ORDERS
    fork.near.ledger().assert_balanced()
