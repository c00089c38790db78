"""Who is let in as whom, and that the answer never comes within the question."""

import pathlib

import pytest
from support.login_desk import Desk
from twisted.logger import capturedLogs, formatEvent

from gateway.net.listening.users import make_user, write_users


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


def test_whether_a_login_still_counts(desk: Desk) -> None:
    plain, _ = desk.ask("PLAIN", "alice", "secret")
    assert plain.withdrawn() == "a login is needed by now"
    desk.threads.run_all()
    desk.clock.advance(0)
    assert plain.withdrawn() == ""
    write_users(desk.path, {"alice": make_user("secret", 4096)})
    desk.passwords.load()
    assert plain.withdrawn() == "the password was changed"  # other verifiers: who knows
    write_users(desk.path, {})
    desk.passwords.load()
    assert plain.withdrawn() == "the user was removed"
    desk.shared.passwords = None
    assert plain.withdrawn() == "the user was removed"
    assert not plain.by_certificate()


def test_nobody_may_act_for_somebody_else(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret", "alice") == "alice"
    assert desk.answer("PLAIN", "alice", "secret", "root") is None


def test_anonymous_only_where_it_is_allowed(desk: Desk, tmp_path: pathlib.Path) -> None:
    assert desk.answer("ANONYMOUS") is None
    assert Desk(tmp_path, anonymous=True).answer("ANONYMOUS") == "anonymous"


NOBODYS = frozenset(("anonymous", "anonymous@QPID"))


def test_nobody_else_has_the_name_of_clients_without_a_login(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path, anonymous=True)
    desk.shared.nobodys_names = NOBODYS
    names = ("anonymous", "anonymous@QPID", "alice")
    write_users(desk.path, {name: make_user("secret", 4096) for name in names})
    assert desk.answer("ANONYMOUS") == "anonymous"
    with capturedLogs() as captured:
        for name in ("anonymous", "anonymous@QPID"):
            desk.now_ms += 1000
            assert desk.answer("EXTERNAL", certificate=name) is None
            desk.now_ms += 1000
            assert desk.answer("PLAIN", name, "secret") is None
    told = [str(formatEvent(event)) for event in captured]
    refused = [line for line in told if "is what clients without a login are called" in line]
    assert len(refused) == 4
    assert "EXTERNAL" in refused[0] and "'anonymous'" in refused[0]
    assert desk.answer("PLAIN", "alice", "secret") == "alice"


def test_where_nobody_comes_without_a_login_a_user_may_be_called_anonymous(desk: Desk) -> None:
    write_users(desk.path, {"anonymous": make_user("secret", 4096)})
    assert desk.answer("PLAIN", "anonymous", "secret") == "anonymous"
    assert desk.answer("EXTERNAL", certificate="anonymous") == "anonymous"


def test_external_is_the_name_in_the_certificate(desk: Desk) -> None:
    assert desk.answer("EXTERNAL", certificate="alice") == "alice"
    assert desk.answer("EXTERNAL", "alice", certificate="alice") == "alice"
    assert desk.answer("EXTERNAL", "root", certificate="alice") is None
    assert desk.answer("EXTERNAL", "alice") is None


LONG = "a\nb" * 40
FROM = "connection 1 from 192.0.2.1:4711"


def test_refused_logins_are_told_one_line_a_second(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path)
    with capturedLogs() as captured:
        for now_ms, username in ((0, "alice"), (10, "bob"), (999, "carol"), (1000, LONG)):
            desk.now_ms = now_ms
            desk.ask("PLAIN", username, "wrong")
            desk.threads.run_all()
        desk.now_ms = 5000
        desk.ask("EXTERNAL")
        desk.clock.advance(0)
    assert [formatEvent(event) for event in captured] == [
        f"{FROM}: refused a login: PLAIN, 'alice'",
        f"{FROM}: refused a login: PLAIN, {LONG[:80]!r}; 2 more since the last such line",
        f"{FROM}: refused a login: EXTERNAL, no name",
    ]
