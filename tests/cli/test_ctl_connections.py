"""What `ctl connections`, `subscriptions` and `branches` show, and what changes of them ask for."""

from __future__ import annotations

import io
import json
import pathlib
import urllib.request
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import ctl
from gateway.cli.ctl_connections import connection_lines, octets, shortened, subscription_lines
from gateway.cli.main import commands

OPEN = {
    "number": 17,
    "address": "192.0.2.7",
    "tls": True,
    "since": "2026-11-22T10:00:00+00:00",
    "since_s": 75.0,
    "octets_in": 3_250_586,
    "octets_out": 999,
    "open": True,
    "protocol": "1.0",
    "user": "alice",
    "mechanism": "PLAIN",
    "product": "app (qpid-jms 2.1)",
    "virtual_host": "main",
    "sessions": 2,
    "links": 5,
}
NOTHING_SAID = dict.fromkeys(("protocol", "user", "mechanism", "product", "sessions", "links"))
ENTERING = OPEN | NOTHING_SAID | {"number": 18, "open": False, "tls": False}


def test_connections_are_a_table() -> None:
    head, alice, entering, nobody = connection_lines(
        {"connections": [OPEN, ENTERING, OPEN | {"user": ""}]}
    )
    assert head.split() == [
        *("NUMBER", "ADDRESS", "USER", "PROTOCOL", "SINCE", "SESSIONS", "LINKS"),
        *("IN", "OUT", "PRODUCT"),
    ]
    assert alice.split() == [
        *("17", "192.0.2.7", "(TLS)", "alice", "1.0", "2026-11-22T10:00:00+00:00", "(1", "min"),
        *("15", "s)", "2", "5", "3.1", "MiB", "999", "app", "(qpid-jms", "2.1)"),
    ]
    assert entering.split()[:4] == ["18", "192.0.2.7", "-", "-"]
    assert "(no login)" in nobody


def test_what_a_client_says_of_itself_cannot_rule_the_terminal() -> None:
    assert shortened("a\x1b[2Jb\nc") == r"a\x1b[2Jb\nc"
    assert shortened("x" * 100) == "x" * 57 + "..."
    (_, line) = connection_lines({"connections": [OPEN | {"product": "\x1b[31m", "user": "\r"}]})
    assert line.isprintable()


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (1023, "1023"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB")]
)
def test_octets_are_told_in_their_largest_unit(number: int, shown: str) -> None:
    assert octets(number) == shown


def test_subscriptions_are_a_table_and_old_ones_have_no_user() -> None:
    mine = {
        "virtual_host": "main",
        "queue": "subscription.alice.app.sub",
        "user": "alice",
        "container": "app",
        "link": "sub",
        "bound_to": ["amq.topic/news"],
        "messages": 3,
        "in_use": True,
    }
    old = mine | {"user": None, "container": None, "link": None, "in_use": False}
    _, first, second = subscription_lines({"subscriptions": [mine, old]})
    assert first.split()[1:] == ["alice", "app", "sub", "amq.topic/news", "3", "yes"]
    assert "(not known)" in second


class Gateway:
    """Stands for the admin port: what it was asked, and what it answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, token: pathlib.Path) -> None:
        self.answer: Any = {"done": "done"}
        self.asked: tuple[str, Any] = ("", None)
        self._token = token
        token.write_text("secret")
        monkeypatch.setattr(ctl.urllib.request, "urlopen", self._open)

    def _open(self, request: urllib.request.Request, timeout: float, context: object) -> io.BytesIO:
        data = request.data
        body = json.loads(data) if isinstance(data, bytes) else None
        self.asked = (request.full_url.rpartition("/ctl/")[2], body)
        return io.BytesIO(json.dumps(self.answer).encode())

    def ctl(self, *arguments: str) -> str:
        done = CliRunner().invoke(commands, ["ctl", "--token-file", str(self._token), *arguments])
        assert done.exit_code == 0, done.output
        return done.output


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Gateway:
    return Gateway(monkeypatch, tmp_path / "token")


def test_connections_are_asked_for_and_shown(gateway: Gateway) -> None:
    gateway.answer = {"connections": [OPEN]}
    assert "alice" in gateway.ctl("connections")
    assert gateway.asked == ("connections", None)
    assert json.loads(gateway.ctl("connections", "--json")) == gateway.answer


def test_subscriptions_are_asked_for_and_shown(gateway: Gateway) -> None:
    gateway.answer = {"subscriptions": []}
    assert gateway.ctl("subscriptions").startswith("QUEUE")
    assert json.loads(gateway.ctl("subscriptions", "--json")) == gateway.answer
    assert gateway.asked == ("subscriptions", None)


def test_branches_are_asked_for_and_shown(gateway: Gateway) -> None:
    branch = {
        "virtual_host": "/",
        "branch": "1.aa.bb",
        "state": "rolled_back",
        "user": "",
        "prepared_ms": 1_790_000_000_000,
        "sessions": 0,
        "publishes": 2,
        "accepts": 3,
    }
    gateway.answer = {"branches": [branch, branch | {"prepared_ms": 0, "user": "ann"}]}
    head, first, second = gateway.ctl("branches").splitlines()
    assert head.startswith("BRANCH")
    assert first.split("  ")[0] == "1.aa.bb"
    assert "rolled back" in first and "(no login)" in first and "2026-09-21T" in first
    assert second.split()[3:] == ["ann", "-", "0", "2", "3", "/"]
    assert gateway.asked == ("branches", None)


def test_a_branch_is_decided_about(gateway: Gateway) -> None:
    gateway.ctl("decide", "1.aa.bb", "commit", "--virtual-host", "/b")
    asked = {"branch": "1.aa.bb", "decision": "commit", "virtual_host": "/b"}
    assert gateway.asked == ("decide", asked)


def test_the_log_is_told_what_to_write(gateway: Gateway) -> None:
    assert gateway.ctl("log-level", "upstreams", "debug") == "done\n"
    assert gateway.asked == ("log-level", {"subsystem": "upstreams", "level": "debug"})


def test_a_connection_is_closed_by_its_number(gateway: Gateway) -> None:
    assert gateway.ctl("close", "17", "--reason", "moved") == "done\n"
    assert gateway.asked == ("close", {"connection": 17, "reason": "moved"})


def test_a_subscription_is_assigned(gateway: Gateway) -> None:
    gateway.ctl("assign", "app.sub", "--user", "ann", "--container", "app", "--link", "sub")
    assert gateway.asked == (
        "assign",
        {
            "queue": "app.sub",
            "user": "ann",
            "container": "app",
            "link": "sub",
            "virtual_host": "",
        },
    )


@pytest.mark.parametrize("content", ["top secret\nlines", "not a t\u00f6ken", "", "two words"])
def test_a_file_that_holds_no_token_is_neither_sent_nor_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, content: str
) -> None:
    gateway = Gateway(monkeypatch, tmp_path / "token")
    file = tmp_path / "wrong"
    file.write_text(content)
    done = CliRunner().invoke(commands, ["ctl", "--token-file", str(file), "status"])
    assert done.exit_code == 2
    assert f"{file}: this is no token" in done.output
    assert gateway.asked == ("", None)
    for word in content.split():
        assert word not in done.output.replace("this is no token: one word of", "").split()


def test_sessions_without_a_connection_are_asked_for_and_shown(gateway: Gateway) -> None:
    session = {
        "number": 7,
        "kind": "session",
        "name": "mine",
        "virtual_host": "/",
        "user": "ann",
        "container": "",
        "connection": 3,
        "address": "10.0.0.1:5",
        "node": "",
        "away_s": 61.5,
        "left_s": 30.0,
        "unsettled": 2,
        "octets": 1024,
    }
    link = session | {"kind": "sender", "user": "", "container": "app", "node": "q", "left_s": None}
    gateway.answer = {"sessions": [session, link]}
    head, first, second = gateway.ctl("sessions").splitlines()
    assert head.startswith("NUMBER")
    assert first.split()[:7] == ["7", "session", "mine", "ann", "-", "10.0.0.1:5", "-"]
    assert first.split()[-4:] == ["2", "1.0", "KiB", "/"]
    assert "(no login)" in second and "app" in second and "(its session)" in second
    assert gateway.asked == ("sessions", None)


def test_a_session_without_a_connection_is_ended(gateway: Gateway) -> None:
    gateway.ctl("end", "7")
    assert gateway.asked == ("end", {"session": 7})
