"""Who may ask what of the admin port, by tokens."""

import os
import pathlib

import pytest
from support.admin_site import OWN, Site, get
from twisted.logger import capturedLogs, formatEvent


@pytest.fixture
def guarded(tmp_path: pathlib.Path) -> Site:
    (tmp_path / "token").write_text("secret")
    return Site(f"admin_token_file={tmp_path}/token")


def test_wrong_tokens_are_told_counted_and_made_to_wait(guarded: Site) -> None:
    wrong = "Authorization: Bearer guess"
    with capturedLogs() as captured:
        codes = [get(guarded, "/ctl/status", "GET", wrong)[0] for _ in range(5)]
    assert codes == [401, 401, 401, 429, 429]
    assert get(guarded, "/ctl/status", "GET", OWN)[0] == 429
    assert get(guarded, "/healthz")[0] == 200
    assert guarded.counts.refused["wrong_token"] == 3
    assert guarded.counts.refused["throttled"] == 3
    assert [formatEvent(event) for event in captured] == [
        "a wrong token at the admin port, from 192.168.1.1"
    ]
    guarded.clock.advance(1)
    assert get(guarded, "/ctl/nothing", "POST", OWN) == (200, "0")


def test_a_token_that_nobody_can_guess_is_heard_among_wrong_ones(tmp_path: pathlib.Path) -> None:
    token = "0123456789abcdef" * 2
    (tmp_path / "token").write_text(token)
    made = Site(f"admin_token_file={tmp_path}/token")
    wrong = "Authorization: Bearer " + token[:-1]
    assert [get(made, "/ctl/status", "GET", wrong)[0] for _ in range(4)] == [401, 401, 401, 429]
    right = f"Authorization: Bearer {token}"
    assert get(made, "/ctl/nothing", "POST", right) == (200, "0")


@pytest.mark.parametrize("kind", ["pipe", "endless", "large", "gone"])
def test_nobody_waits_for_a_token_file_that_is_none(kind: str, tmp_path: pathlib.Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    made = Site(f"admin_token_file={token}")
    token.unlink()
    if kind == "pipe":
        os.mkfifo(token)
    elif kind == "endless":
        token.symlink_to("/dev/zero")
    elif kind == "large":
        token.write_text("x" * 100_000)
    shown = "Authorization: Bearer secret"
    with capturedLogs() as captured:
        for _ in range(10):  # which token is right nobody knows: none is a wrong one
            assert get(made, "/ctl/status", "GET", shown)[0] == 503
    assert len(captured) == 1
    assert (made.counts.refused["unread_token"], made.counts.refused["wrong_token"]) == (10, 0)
    assert get(made, "/ctl/status")[0] == 401
    token.unlink(missing_ok=True)
    token.write_text("secret\n")
    assert get(made, "/ctl/nothing", "POST", shown) == (200, "0")


def test_metrics_may_want_a_token_of_their_own(tmp_path: pathlib.Path) -> None:
    (tmp_path / "metrics").write_text("seen\n")
    (tmp_path / "admin").write_text("secret\n")
    made = Site(f"metrics_token_file={tmp_path}/metrics", f"admin_token_file={tmp_path}/admin")
    for path in ("/metrics", "/metrics/objects", "/%6detrics", "/m%65trics/objects", "/metrics%2f"):
        assert get(made, path, "HEAD")[0] == 401
    for path in ("/metrics", "/metrics/objects"):
        for token in ("seen", "secret"):
            assert get(made, path, "HEAD", f"Authorization: Bearer {token}")[0] == 200
        assert get(made, path, "HEAD", "Authorization: Basic seen")[0] == 401
        made.clock.advance(10)
    assert get(made, "/readyz") == (200, "ok\n")
    assert get(made, "/ctl/status", "GET", "Authorization: Bearer seen")[0] == 401
    assert made.counts.refused["no_token"] == 5
