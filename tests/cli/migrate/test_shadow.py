"""`migrate shadow`: what it asks the admin port, and what it tells."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

import pytest
from support.verbs import amqp_gateway

from gateway.cli import ctl

HOW = {"upstream": "new", "queue": "{queue}.shadow", "share": 0.125, "max_size": 1, "ttl": 0}
RULE = {"key": "nodes.0", "kind": "queue", "pattern": "orders"}
STATUS = {
    "rules": [
        RULE | {"shadow": HOW | {"nodes": 1, "waiting": 7, "unsettled": 2}},
        {"key": "nodes.1", "kind": "queue", "pattern": "other", "shadow": None},
    ],
    "shadow_copies": {"mirrored": 12, "dropped": 3},
}


class Port:
    """The admin port."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
        self.asked: list[Any] = []
        self.token = tmp_path / "token"
        self.token.write_text("secret\n")
        monkeypatch.setattr(ctl.urllib.request, "urlopen", self.answer)

    def answer(self, request: Any, timeout: float, context: Any) -> Any:
        asked = None if request.data is None else json.loads(request.data)
        self.asked.append((request.full_url.rpartition("/")[2], asked))
        told = STATUS if request.data is None else {"done": "done"}
        return io.BytesIO(json.dumps(told).encode())

    def shadow(self, *words: str) -> Any:
        return amqp_gateway("migrate", "shadow", "--token-file", str(self.token), *words)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Port:
    return Port(monkeypatch, tmp_path)


def test_a_shadow_is_asked_for_with_what_was_said_of_it_and_nothing_else(port: Port) -> None:
    assert port.shadow("orders", "--to", "new").output == "done\n"
    more = ("--share", "10%", "--max-size", "1MiB", "--ttl", "5m")
    port.shadow("queue:orders", "--to", "new/orders/trial", *more)
    port.shadow("orders", "--stop")
    assert port.asked == [
        ("shadow", {"node": "orders", "upstream": "new"}),
        (
            "shadow",
            {
                "node": "queue:orders",
                "upstream": "new",
                "queue": "orders/trial",
                "share": 0.1,
                "max_size": "1MiB",
                "ttl": "5m",
            },
        ),
        ("shadow", {"node": "orders", "stop": True}),
    ]


def test_without_a_queue_it_tells_which_there_are(port: Port) -> None:
    head, row, copies = port.shadow().output.splitlines()
    assert row.split() == ["nodes.0", "queue", "orders", "new/{queue}.shadow", "12.5%", "7", "2"]
    assert head.split() == ["RULE", "FOR", "SHADOW", "SHARE", "WAITING", "UNSETTLED"]
    assert copies == "12 copies mirrored since the start, 3 dropped"
    told = json.loads(port.shadow("--json").output)
    assert [each["key"] for each in told["rules"]] == ["nodes.0"]


@pytest.mark.parametrize(
    "words",
    [
        ("orders",),
        ("orders", "--to", "new", "--stop"),
        ("--to", "new"),
        ("--share", "10%"),
        ("orders", "--to", "new", "--share", "0"),
        ("orders", "--to", "new", "--share", "110%"),
        ("orders", "--to", "new", "--share", "some"),
    ],
)
def test_what_says_too_little_or_too_much_is_not_asked(port: Port, words: tuple[str, ...]) -> None:
    assert port.shadow(*words).exit_code == 2
    assert port.asked == []
