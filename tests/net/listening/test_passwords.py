"""The passwords of the users file: checked in threads, remembered, and as the file has them now."""

import os
import pathlib

import pytest
from support.login_desk import Desk
from twisted.logger import capturedLogs

from gateway.errors import ConfigurationError
from gateway.net.listening.passwords import REMEMBERED_MS, Passwords
from gateway.net.listening.users import User, Verifier, make_user, write_users

NAMES = [f"nobody{number}" for number in range(40)]
SECRET = b"s" * 32


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were compared with a verifier."""
    passwords: list[str] = []
    check = Verifier.check

    def noting(verifier: Verifier, password: str) -> bool:
        passwords.append(password)
        return check(verifier, password)

    monkeypatch.setattr(Verifier, "check", noting)
    return passwords


def test_passwords_that_cannot_be_checked_have_one_line_a_second(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(desk.passwords, "check", broken)
    with capturedLogs() as captured:
        for number in range(20):
            assert desk.answer("PLAIN", "alice", f"guess {number}") is None
    assert [event["log_level"].name for event in captured].count("error") == 1


def test_a_password_is_checked_in_a_thread(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert desk.answer("PLAIN", "al\u00adice", "secret") == "alice"
    assert desk.answer("PLAIN", "alice", "Secret") is None
    assert desk.answer("PLAIN", "mallory", "secret") is None
    assert desk.answer("PLAIN", "\u0007", "secret") is None
    assert desk.shared.accepted["PLAIN"] == 2
    assert desk.shared.refused["PLAIN"] == 3


@pytest.mark.parametrize("password", [None, "another"])
def test_a_password_that_is_withdrawn_while_it_is_checked_opens_nothing(
    desk: Desk, password: str | None
) -> None:
    _, waiter = desk.ask("PLAIN", "alice", "secret")
    write_users(desk.path, {} if password is None else {"alice": make_user(password, 4096)})
    reloaded = Passwords(desk.path)
    reloaded.load()
    old = desk.passwords
    old.load = lambda: None  # type: ignore[method-assign]  # it has read the file just before
    desk.shared.passwords = reloaded
    desk.threads.run_all()
    desk.clock.advance(0)
    assert waiter.answers == [None]


def test_a_name_that_nobody_has_costs_the_same_work(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs: list[tuple[str, int]] = []
    check = Verifier.check

    def noting(verifier: Verifier, password: str) -> bool:
        costs.append((verifier.mechanism, verifier.iterations))
        return check(verifier, password)

    monkeypatch.setattr(Verifier, "check", noting)
    for name in ("alice", "mallory", "\u0007"):
        desk.answer("PLAIN", name, "wrong")
    # The empty password is what the decoy is made of; it opens nothing either.
    assert desk.answer("PLAIN", "mallory", "") is None
    assert costs == [("SCRAM-SHA-256", 4096)] * 4


def test_a_users_file_that_changes_is_read_again_and_a_broken_one_changes_nothing(
    desk: Desk,
) -> None:
    assert desk.answer("PLAIN", "bob", "b") is None
    write_users(desk.path, {"bob": make_user("b", 4096)})
    assert desk.answer("PLAIN", "bob", "b") == "bob"
    desk.path.write_text("bob: nonsense")
    assert desk.answer("PLAIN", "bob", "b") == "bob"
    os.unlink(desk.path)
    assert desk.answer("PLAIN", "bob", "b") == "bob"
    with pytest.raises(ConfigurationError):
        desk.passwords.load()


def test_a_file_without_users_lets_nobody_in(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.net.listening.passwords.ITERATIONS", {"SCRAM-SHA-256": 4096})
    write_users(desk.path, {})
    assert desk.answer("PLAIN", "alice", "secret") is None


def test_a_check_that_breaks_is_a_no(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verifier, "check", lambda *_: 1 / 0)
    assert desk.answer("PLAIN", "alice", "secret") is None


def test_a_verifier_that_takes_too_many_iterations_for_some_clients_is_not_offered(
    desk: Desk,
) -> None:
    write_users(desk.path, {"alice": make_user("secret", 4096), "bob": make_user("b", 4097)})
    few = Passwords(desk.path, iterations_max=4096)
    few.load()
    assert few.mechanisms == []
    assert [line.partition(":")[0] for line in few.withheld()] == [
        "SCRAM-SHA-512 is not offered",
        "SCRAM-SHA-256 is not offered",
    ]
    assert "bob can not use it" in few.withheld()[0]
    enough = Passwords(desk.path, iterations_max=4097)
    enough.load()
    assert enough.mechanisms == ["SCRAM-SHA-512", "SCRAM-SHA-256"]
    assert enough.withheld() == []


def test_a_password_that_was_right_just_now_is_known_again(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert len(desk.threads.sources) == 1
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert len(desk.threads.sources) == 1
    assert desk.answer("PLAIN", "alice", "Secret") is None
    desk.now_ms += REMEMBERED_MS
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert len(desk.threads.sources) == 3


def test_a_password_that_was_changed_is_not_known_any_more(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    write_users(desk.path, {"alice": make_user("other", 4096)})
    assert desk.answer("PLAIN", "alice", "secret") is None
    write_users(desk.path, {})
    assert desk.answer("PLAIN", "alice", "other") is None


def test_those_who_come_at_once_with_one_password_have_it_checked_once(
    desk: Desk, checked: list[str]
) -> None:
    waiters = [desk.ask("PLAIN", "alice", "secret")[1] for _ in range(50)]
    desk.threads.run_all()
    assert [waiter.answers for waiter in waiters] == [["alice"]] * 50
    assert checked == ["secret"]


def test_remembered_passwords_are_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.net.listening.passwords.REMEMBERED_MAX", 1)
    write_users(desk.path, {"alice": make_user("secret", 4096), "bob": make_user("b", 4096)})
    for name, password in (("alice", "secret"), ("bob", "b"), ("alice", "secret")):
        assert desk.answer("PLAIN", name, password) == name
    assert len(desk.threads.sources) == 3


def test_a_password_that_was_wrong_is_not_checked_again_and_no_failure_more(
    desk: Desk, checked: list[str]
) -> None:
    waiters = [desk.ask("PLAIN", "alice", "of yesterday")[1] for _ in range(100)]
    desk.threads.run_all()
    assert [waiter.answers for waiter in waiters] == [[None]] + [[]] * 99
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    desk.clock.advance(1)
    assert [waiter.answers for waiter in waiters] == [[None]] * 100
    assert checked == ["of yesterday", "secret"]
    write_users(desk.path, {"alice": make_user("of yesterday", 4096)})
    assert desk.answer("PLAIN", "alice", "of yesterday") == "alice"


def test_looks_at_a_users_file_that_does_not_answer_do_not_pile_up(desk: Desk) -> None:
    for _ in range(10):
        desk.shared.refresh()
    assert len(desk.threads.waiting_calls) == 1
    desk.threads.run_all()
    desk.shared.refresh()
    assert len(desk.threads.waiting_calls) == 1


def seen(
    path: pathlib.Path, users: dict[str, User], mechanism: str
) -> dict[str, tuple[bytes, int]]:
    write_users(path, users)
    passwords = Passwords(path, SECRET)
    passwords.load()
    keys = {name: passwords.keys(name, mechanism)[1] for name in NAMES}
    return {name: (each.salt, each.iterations) for name, each in keys.items()}


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_name_that_nobody_has_looks_the_same_when_other_users_come_and_go(
    tmp_path: pathlib.Path, mechanism: str
) -> None:
    path = tmp_path / "users.yaml"
    users = {"alice": make_user("a", 4096), "bob": make_user("b", 5000)}
    before = seen(path, users, mechanism)
    assert {iterations for _, iterations in before.values()} == {4096, 5000}
    users["carol"] = make_user("c", 5000)
    assert seen(path, users, mechanism) == before
    users["dave"] = make_user("d", 6000)
    after = seen(path, users, mechanism)
    # Only what nobody looked like before may have changed a name.
    assert {after[name] for name in NAMES if after[name] != before[name]} <= {
        (before[name][0], 6000) for name in NAMES
    }
