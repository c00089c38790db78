"""`migrate move` asks the gateway, shows how it goes on, and says what was not done."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from click.testing import Result
from support.verbs import amqp_gateway

from gateway.cli.migrate import move as module

FROM, TO = {"upstream": "old", "queue": "orders"}, {"upstream": "new", "queue": "orders"}
RUNNING = {
    "move": 1,
    "from": FROM,
    "to": TO,
    "state": "running",
    "over": False,
    "problem": "",
    "moved": 3,
    "under_way": 2,
    "redelivered": 0,
    "refused": 0,
    "why_refused": "",
    "left": 7,
}
DONE = RUNNING | {"state": "done", "over": True, "moved": 12, "under_way": 0, "left": 0}


class Gateway:
    """What answers: the states of a move, one after the other."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []
        self.states: list[dict[str, Any]] = [RUNNING, RUNNING, DONE]

    def ask(self, command: str, body: object = None) -> dict[str, Any]:
        self.asked.append((command, body))
        if command == "moves":
            return {"moves": [self.states.pop(0)]}
        return {"done": "move 1 has begun" if command == "move" else "move 1 stops"}


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    made = Gateway()
    monkeypatch.setattr(module, "Admin", lambda *_given, **_named: made)
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    return made


def run(*arguments: str) -> Result:
    return amqp_gateway("migrate", "move", *arguments)


def test_it_begins_and_shows_each_state_once_until_the_end(gateway: Gateway) -> None:
    said = run("orders", "--from", "old", "--to", "new", "--rate", "5")
    assert (said.exit_code, said.output.splitlines()) == (
        0,
        [
            "move 1 has begun",
            "running: 3 moved; 2 under way; 7 left at old:orders",
            "done: 12 moved; 0 under way; 0 left at old:orders",
        ],
    )
    assert gateway.asked[0] == (
        "move",
        {
            "queue": "orders",
            "from": "old",
            "from_queue": "",
            "to": "new",
            "to_queue": "",
            "rate": 5,
            "follow": False,
            "virtual_host": "",
        },
    )


def test_back_is_the_other_way_round_with_its_names(gateway: Gateway) -> None:
    run("orders", "--from", "old:orders.v1", "--to", "new", "--back", "--no-wait")
    (command, body), *more = gateway.asked
    assert (command, more) == ("move", [])
    assert isinstance(body, dict)
    assert [body[key] for key in ("from", "from_queue", "to", "to_queue")] == [
        *("new", ""),
        *("old", "orders.v1"),
    ]


@pytest.mark.parametrize(
    "end",
    [
        DONE | {"refused": 2, "why_refused": "too large"},
        DONE | {"state": "stopped"},
        DONE | {"state": "failed", "problem": "old:orders: no such queue"},
    ],
)
def test_what_is_not_all_moved_is_an_error(gateway: Gateway, end: dict[str, Any]) -> None:
    gateway.states = [end]
    said = run("orders", "--from", "old", "--to", "new")
    assert said.exit_code == 1
    assert str(end["why_refused"] or end["problem"] or "stopped") in said.output


def test_all_of_them_are_shown_or_one_is_stopped(gateway: Gateway) -> None:
    gateway.states = [RUNNING | {"redelivered": 1, "left": None}, RUNNING]
    assert run("--status").output.splitlines() == [
        "move 1 from old:orders to new:orders",
        "  running: 3 moved; 2 under way; 1 came marked as redelivered",
    ]
    assert json.loads(run("--status", "--json").output) == {"moves": [RUNNING]}
    assert run("--stop", "1").output == "move 1 stops\n"


@pytest.mark.parametrize(
    "arguments", [(), ("orders",), ("--from", "old"), ("orders", "--from", "old", "--back")]
)
def test_what_is_missing_is_said(gateway: Gateway, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
    assert gateway.asked == []


def test_it_needs_a_token(tmp_path: pathlib.Path) -> None:
    said = run("--status")
    assert (said.exit_code, "--token-file" in said.output) == (2, True)
