"""`send` and `receive`: what they ask for, what they print, and how they end."""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from typing import Any

import pytest
from support.verbs import amqp_gateway

from gateway.cli import messages
from gateway.clients.client import ClientError
from gateway.clients.letter import Letter, Typed
from gateway.clients.tools import Incoming, Outgoing


class Script:
    """Stands in for the reactor: keeps what the conversation would have been about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
        self.answer = answer
        self.asked: list[Any] = []
        monkeypatch.setattr(messages, "converse", lambda script: script(None))
        monkeypatch.setattr(messages.tools, "send", self.take)
        monkeypatch.setattr(messages.tools, "receive", self.take)

    def take(self, _connector: object, what: Any, *into: Any) -> Any:
        self.asked.append(what)
        if isinstance(self.answer, Counter):
            into[0].update(self.answer)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_send_makes_the_letter_that_was_described(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, Counter({"accepted": 2}))
    done = amqp_gateway(
        *("send", "--protocol", "0-10", "--to", "q", "--map", '{"a": [1, null]}', "-n", "2"),
        *("--property", "size:int32=2", "--property", "who=me", "--durable", "--ttl", "5"),
        *("--priority", "3", "--subject", "s", "--port", "1234"),
    )
    assert (done.exit_code, done.output) == (0, "2 accepted\n")
    (what,) = script.asked
    assert isinstance(what, Outgoing)
    assert (what.protocol, what.where.port, what.address, what.count) == ("0-10", 1234, "q", 2)
    assert what.letter == Letter(
        body=Typed("map", {"a": Typed("list", [Typed("int64", 1), Typed("void", None)])}),
        subject="s",
        durable=True,
        priority=3,
        ttl_ms=5,
        properties={"size": Typed("int32", 2), "who": Typed("string", "me")},
    )


def interrupted(script: Any) -> None:
    script(None)
    raise ClientError("interrupted")


def test_send_exits_with_1_when_not_all_were_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    Script(monkeypatch, Counter({"accepted": 1, "rejected: full": 1}))
    done = amqp_gateway("send", "--to", "q", "--body", "x", "--json")
    assert done.exit_code == 1
    assert json.loads(done.output) == {"accepted": 1, "rejected: full": 1}
    Script(monkeypatch, Counter({"accepted": 1, "no answer": 2, "not sent": 3, "released": 0}))
    monkeypatch.setattr(messages, "converse", interrupted)
    ended = amqp_gateway("send", "--to", "q", "-n", "6")
    assert (ended.exit_code, ended.stderr) == (1, "amqp-gateway: interrupted\n")
    assert ended.stdout == "3 not sent\n2 no answer\n1 accepted\n"
    Script(monkeypatch, ClientError("cannot connect"))
    failed = amqp_gateway("send", "--to", "q")
    assert (failed.exit_code, failed.stderr) == (1, "amqp-gateway: cannot connect\n")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--body", "x", "--map", "{}"],
        ["--map", "5"],
        ["--property", "novalue"],
        ["--property", "n:int8=400"],
        ["--property", "n:int9=4"],
        ["--port", "0"],
        ["--protocol", "0-9"],
        ["--map", "{bad"],
        ["--map", '{"n": 99999999999999999999}'],
        ["--map", "[2020-01-01]"],
        ["--map", "\x00"],
        ["--timeout", "-1"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--timeout", "inf"],
        ["--timeout", "soon"],
        ["--ttl", "99999999999999999999"],
        ["--ttl", "99999999999999999999", "-p", "0-10"],
        ["--message-id", "abc", "-p", "0-10"],
        ["--subject", "s" * 256, "-p", "0-10"],
        ["--content-type", "t" * 256, "-p", "0-10"],
        ["--reply-to", "r" * 256, "-p", "0-10"],
        ["--correlation-id", "c" * 65536, "-p", "0-10"],
        ["--property", f"{'n' * 256}=1", "-p", "0-10"],
        ["--property", "n:datetime=99999999999999999999"],
        ["--virtual-host", "v" * 256, "-p", "0-10"],
        ["--to", f"{'e' * 256}/k", "-p", "0-10"],
        ["--to", f"e/{'k' * 256}", "-p", "0-10"],
        ["--body", "\udcff"],
        ["--to", "\udcff"],
        ["--subject", "\udcff", "-p", "0-10"],
        ["--map", "[" * 3000],
        ["--map", "{[a]: 1}"],
        ["--map", "[1:1" + ":1" * 100_000 + "]"],
        ["--map", '{"a": 1, "a": 2}'],
        ["--map", '["\\ud800"]'],
        ["--host", ""],
        ["--host", "a b"],
        ["--host", "h" * 300],
        ["--host", "\udcff"],
        ["--host", "a\nb"],
        ["--host", "a/b"],
        ["--user", "\udcff"],
        ["--body-file", "/"],
    ],
)
def test_wrong_arguments_exit_with_2_before_anything_is_sent(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(monkeypatch, Counter({"accepted": 1}))
    done = amqp_gateway("send", *([] if "--to" in wrong else ["--to", "q"]), *wrong)
    assert (done.exit_code, script.asked) == (2, [])
    assert isinstance(done.exception, SystemExit)
    told = done.stderr.splitlines()[-1]
    assert told.startswith("Error: ")
    assert wrong[0].removeprefix("--") in told


@pytest.mark.parametrize(
    "right",
    [
        ["--timeout", "0.5"],
        ["--ttl", str(2**32 - 1)],
        ["--ttl", str(2**64 - 1), "-p", "0-10"],
        ["--message-id", "abc"],
        ["--message-id", "01234567-89ab-cdef-0123-456789abcdef", "-p", "0-10"],
        ["--subject", "s" * 255, "-p", "0-10"],
        ["--subject", "s" * 300],
        ["--body", "x" * 100_000, "-p", "0-10"],
        ["--map", '{"a": [1, null, "b", 1.5, true]}', "-p", "0-10"],
        ["--property", "n:char=a", "--property", "m:uuid=01234567-89ab-cdef-0123-456789abcdef"],
    ],
)
def test_what_can_be_sent_is_sent(right: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Script(monkeypatch, Counter({"accepted": 1}))
    assert amqp_gateway("send", "--to", f"e/{'k' * 255}", *right).exit_code == 0


@pytest.mark.parametrize(
    "wrong", [["--from", "q" * 256, "-p", "0-10"], ["--from", "q", "--timeout", "nan"]]
)
def test_wrong_arguments_of_receive_exit_with_2(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(monkeypatch, 0)
    assert amqp_gateway("receive", *wrong).exit_code == 2
    assert script.asked == []


def test_receive_asks_for_what_was_described(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, 3)
    options = ["--count", "3", "--ack", "settled", "--browse", "--timeout", "2"]
    assert amqp_gateway("receive", "--from", "q", *options).exit_code == 0
    (what,) = script.asked
    assert isinstance(what, Incoming)
    assert (what.subscription.credit, what.subscription.once) == (3, True)
    assert (what.subscription.settled, what.subscription.browse) == (True, True)
    few = amqp_gateway("receive", "--from", "q", "--count", "5")
    assert (few.exit_code, few.stderr) == (1, "amqp-gateway: 3 of 5 messages came\n")


def test_a_password_comes_from_standard_input_and_tls_has_its_own_port(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    script = Script(monkeypatch, 0)
    authority = str(tmp_path / "ca.pem")
    options = ["-u", "alice", "--password-stdin", "--tls-ca", authority, "--virtual-host", "v"]
    assert amqp_gateway("receive", "--from", "q", *options, given="secret\n").exit_code == 0
    (what,) = script.asked
    assert (what.login.username, what.login.password, what.login.virtual_host) == (
        *("alice", "secret"),
        "v",
    )
    assert what.where.port == 5671


@pytest.mark.parametrize("show", [messages._show_text, messages._show_json])
def test_a_letter_is_shown(show: Any, capsys: pytest.CaptureFixture[str]) -> None:
    show(Letter(body=Typed("string", "hello"), priority=3, properties={"n": Typed("int8", 1)}))
    text = capsys.readouterr().out
    assert "hello" in text
    assert "priority" in text
    assert '{"n": 1}' in text
