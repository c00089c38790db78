"""`ctl`: what it asks the admin port, and what it makes of the answer."""

from __future__ import annotations

import io
import json
import pathlib
from email.message import Message
from http.client import BadStatusLine
from typing import Any
from urllib.error import HTTPError

import pytest
from support.verbs import amqp_gateway

from gateway.cli import ctl

STATUS = {
    "under_way": "",
    "changed_by_ctl": True,
    "upstreams": [],
    "rules": [
        {
            "key": "nodes.0",
            "kind": "queue",
            "pattern": "orders",
            "virtual_host": None,
            "upstream": "a",
            "spool": False,
            "state": "paused",
            "changed_by_ctl": True,
            "nodes": 1,
            "waiting": 7,
            "unsettled": 0,
        }
    ],
}


def test_ctl_asks_the_admin_port_with_the_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    asked: list[Any] = []

    def answer(request: Any, timeout: float, context: Any) -> Any:
        asked.append((request.full_url, request.data, request.headers["Authorization"]))
        told = STATUS if request.data is None else {"done": "done"}
        return io.BytesIO(json.dumps(told).encode())

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answer)
    token = tmp_path / "token"
    token.write_text("secret\n")
    told = amqp_gateway("ctl", "--token-file", str(token), "status")
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert lines[0].startswith("UPSTREAM")
    assert lines[3].split() == ["nodes.0", "queue", "orders", "a", "paused*", "1", "7", "0"]
    assert "until the next reload" in lines[4]
    done = amqp_gateway("ctl", "--token-file", str(token), "switch", "orders", "b")
    assert (done.exit_code, done.output) == (0, "done\n")
    url, data, shown = asked[-1]
    assert (url, shown) == ("http://127.0.0.1:9672/ctl/switch", "Bearer secret")
    assert json.loads(data) == {"node": "orders", "upstream": "b"}
    assert amqp_gateway("ctl", "--token-file", str(token), "let-go", "17").output == "done\n"
    url, data, _shown = asked[-1]
    assert url.endswith("/ctl/let-go")
    assert json.loads(data) == {"segment": 17}
    amqp_gateway("ctl", "--token-file", str(token), "let-go", "17", "--unbalanced")
    assert json.loads(asked[-1][1]) == {"segment": 17, "unbalanced": True}
    for verb in (["pause", "orders"], ["resume", "orders"], ["reload"]):
        assert amqp_gateway("ctl", "--token-file", str(token), *verb).exit_code == 0


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        (422, 2, "nodes: there is no rule\n"),
        (409, 1, "amqp-gateway: there is no rule\n"),
        (404, 1, "amqp-gateway: http://127.0.0.1:9672: no ctl there: set admin_token_file\n"),
    ],
)
def test_ctl_says_why_it_was_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, code: int, exit_code: int, said: str
) -> None:
    problems = {"problems": [{"key": "nodes", "problem": "there is no rule"}]}

    def refuse(request: Any, timeout: float, context: Any) -> Any:
        body = io.BytesIO(json.dumps(problems).encode())
        raise HTTPError(request.full_url, code, "no", Message(), body)

    monkeypatch.setattr(ctl.urllib.request, "urlopen", refuse)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "pause", "x")
    assert (done.exit_code, done.stderr) == (exit_code, said)
    assert amqp_gateway("ctl", "--token-file", str(tmp_path / "none"), "status").exit_code == 2
    problems["problems"][0]["key"] = ""  # of the request as a whole
    whole = amqp_gateway("ctl", "--token-file", str(token), "pause", "x")
    assert whole.stderr == said.replace("nodes: ", "")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            " ",
            "\n",
            "a b",
            "http://",
            "http://[::1",
            "http://h:99999",
            "http://h:x",
            "http://h:0",
        ),
        *("http://127.0.0.1:1/x y", "http://h\n", "ftp://h", "file:///etc/passwd", "\udcff", "é"),
        *("h" * 300, "http://h?a", "http://h#a", "http://h\x01"),
    ],
)
def test_what_is_no_url_of_an_admin_port_is_a_wrong_argument(
    url: str, tmp_path: pathlib.Path
) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--admin", url, "--token-file", str(token), "status")
    assert (done.exit_code, done.stderr.splitlines()[-1][:15]) == (2, "Error: --admin:")


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/full", "/", "/none"])
def test_a_token_file_that_is_none_is_a_wrong_argument(file: str) -> None:
    done = amqp_gateway("ctl", "--token-file", file, "status")
    assert done.exit_code == 2
    assert file in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("said", [b"[]", b"5", b"<html>", b"[" * 100_000, b"\xff", b""])
def test_ctl_says_that_what_answers_is_no_gateway(
    said: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(ctl.urllib.request, "urlopen", lambda *_, **__: io.BytesIO(said))
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "status")
    told = "amqp-gateway: http://127.0.0.1:9672: what answers there is no gateway\n"
    assert (done.exit_code, done.stderr) == (1, told)


def test_ctl_tells_of_what_speaks_no_http(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    def answers(*_: object, **__: object) -> Any:
        raise BadStatusLine("AMQP")

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answers)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "status")
    assert (done.exit_code, done.stderr) == (1, "amqp-gateway: http://127.0.0.1:9672: AMQP\n")


def test_who_needs_a_token_says_where_it_goes() -> None:
    told = {verb: amqp_gateway(*verb.split()) for verb in ("ctl status", "backup /x")}
    assert [each.exit_code for each in told.values()] == [2, 2]
    assert "before the command" in told["ctl status"].stderr
    assert told["backup /x"].stderr.endswith("it needs --token-file\n")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (b"this is the AMQP port\r\n", ": this is the AMQP port"),
        *((b"<html>", ""), (b"", ""), (b"[" * 2000, f": {'[' * 2000}")),
    ],
)
def test_ctl_says_what_else_answers_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, said: bytes, shown: str
) -> None:
    def refuse(request: Any, timeout: float, context: Any) -> Any:
        raise HTTPError(request.full_url, 400, "Bad Request", Message(), io.BytesIO(said))

    monkeypatch.setattr(ctl.urllib.request, "urlopen", refuse)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "status")
    url = "http://127.0.0.1:9672"
    assert done.stderr == f"amqp-gateway: {url}: HTTP Error 400: Bad Request{shown}\n"


def test_ctl_takes_the_admin_port_without_a_scheme(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    def answer(request: Any, timeout: float, context: Any) -> Any:
        assert request.full_url == "http://10.0.0.5:9672/ctl/status"
        return io.BytesIO(json.dumps(STATUS).encode())

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answer)
    token = tmp_path / "token"
    token.write_text("secret\n")
    told = amqp_gateway("ctl", "--admin", "10.0.0.5:9672", "--token-file", str(token), "status")
    assert told.exit_code == 0, told.output


def test_ctl_wants_its_token_for_a_verb_and_not_for_its_help() -> None:
    helped = amqp_gateway("ctl", "status", "--help")
    assert (helped.exit_code, "HELD:" in helped.output) == (0, True)
    refused = amqp_gateway("ctl", "status")
    assert (refused.exit_code, "--token-file" in refused.stderr) == (2, True)
