"""The pages of the admin port."""

import json
import pathlib

import pytest
from support.admin_site import Caller, Site, get
from twisted.logger import capturedLogs

from gateway.audit.seals import Head
from gateway.config import load


def test_it_is_ready_until_it_says_why_not_but_always_alive() -> None:
    made = Site()
    assert get(made, "/readyz") == (200, "ok\n")
    made.reason = "draining"
    assert get(made, "/readyz") == (503, "draining\n")
    assert get(made, "/healthz") == (200, "ok\n")


def test_nothing_else_is_there() -> None:
    made = Site()
    for path in ("/", "/metrics/nothing", "/nothing/at/all"):
        assert get(made, path) == (404, "there is nothing here\n")


def test_metrics_are_at_both_addresses() -> None:
    made = Site()
    assert set(made.site.resource.children[b"metrics"].children) == {b"", b"objects"}


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/metrics/", "/metrics/objects"]
)
def test_head_is_answered_as_get_is_without_a_body(path: str) -> None:
    with capturedLogs() as captured:
        assert get(Site(), path, "HEAD") == (200, "")
    assert captured == []


@pytest.mark.parametrize(("path", "code"), [("/healthz", 200), ("/readyz", 503)])
def test_head_tells_how_long_the_answer_to_get_is(path: str, code: int) -> None:
    made = Site()
    made.reason = "draining"
    caller = Caller(made)
    with capturedLogs() as captured:
        caller.say(f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = caller.wire.value().decode().partition("\r\n\r\n")
    caller.wire.clear()
    answered, told = caller.ask("GET", path)
    assert (answered, body) == (code, "")
    assert f"content-length: {len(told)}" in head.lower()
    assert captured == []


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("OPTIONS", "/metrics", "GET, HEAD"),
        ("DELETE", "/healthz", "GET, HEAD"),
        ("POST", "/readyz", "GET, HEAD"),
        ("BREW", "/ctl/status", "GET, HEAD, POST"),
    ],
)
def test_other_methods_are_refused_in_our_words(method: str, path: str, allow: str) -> None:
    caller = Caller(Site())
    caller.say(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = caller.wire.value().decode().partition("\r\n\r\n")
    if path.startswith("/ctl"):  # without a token nobody hears what there is
        assert head.startswith("HTTP/1.1 404 ")
        return
    assert head.startswith("HTTP/1.1 405 Method Not Allowed\r\n")
    assert f"Allow: {allow}" in head
    (problem,) = json.loads(body)["problems"]
    assert problem["problem"] == f"it can be asked for by {allow} only"


def test_an_answer_does_not_say_what_made_it_and_has_a_reason() -> None:
    caller = Caller(Site())
    caller.say(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    head = caller.wire.value().decode().partition("\r\n\r\n")[0].lower()
    assert head.startswith("http/1.1 200 ok")
    assert "server:" not in head
    assert "twisted" not in head


def test_the_head_of_the_audit_log_is_told_to_who_may_see_metrics(tmp_path: pathlib.Path) -> None:
    made = Site()
    assert get(made, "/audit/head") == (503, "nothing is sealed yet\n")
    made.head = Head("ab", 1, 100, 5, 1, "0" * 64)
    assert get(made, "/audit/head") == (200, made.head.line() + "\n")
    assert get(made, "/audit")[0] == get(made, "/audit/other")[0] == 404
    (tmp_path / "metrics").write_text("seen")
    made.settings = load(None, [f"metrics_token_file={tmp_path}/metrics"])
    assert get(made, "/audit/head")[0] == 401
    assert get(made, "/audit/head", "GET", "Authorization: Bearer seen")[0] == 200
