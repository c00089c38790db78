"""Who is let in, by which mechanism, and that the answer never comes within the question."""

import os
import pathlib
from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from gateway.errors import ConfigurationError
from gateway.faces.face import Peer
from gateway.net.listening.authenticate import Authentication, PeerAuthenticator
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.users import Verifier, make_user, write_users
from gateway.wire.sasl import Credentials


class Waiter:
    def __init__(self) -> None:
        self.answers: list[str | None] = []

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        self.answers.append(identity)


class Threads:
    """Threads that run when they are told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], str | None], Deferred[str | None]]] = []

    def __call__(self, call: Callable[[], str | None]) -> "Deferred[str | None]":
        answer: Deferred[str | None] = Deferred()
        self.waiting.append((call, answer))
        return answer

    def run(self) -> None:
        for call, answer in self.waiting:
            try:
                answer.callback(call())
            except Exception:
                answer.errback()
        self.waiting = []


class Desk:
    def __init__(self, tmp_path: pathlib.Path, *, anonymous: bool = False) -> None:
        self.path = tmp_path / "users.yaml"
        write_users(self.path, {"alice": make_user("secret", 10)})
        self.clock, self.threads = Clock(), Threads()
        self.now_ms = 0
        self.passwords = Passwords(self.path)
        self.shared = Authentication(
            self.clock,
            lambda: self.now_ms,
            anonymous_allowed=anonymous,
            passwords=self.passwords,
            in_thread=self.threads,
        )

    def ask(
        self,
        mechanism: str,
        username: str = "",
        password: str = "",
        authorization: str = "",
        *,
        certificate: str = "",
    ) -> tuple[PeerAuthenticator, Waiter]:
        one = self.shared.for_peer(Peer(1, "192.0.2.1", certificate_name=certificate))
        waiter = Waiter()
        credentials = Credentials(
            mechanism, username=username, password=password, authorization=authorization
        )
        one.authenticate(credentials, waiter)
        assert waiter.answers == []
        return one, waiter

    def answer(self, *question: str, certificate: str = "") -> str | None:
        _, waiter = self.ask(*question, certificate=certificate)
        self.threads.run()
        self.clock.advance(0)
        (answer,) = waiter.answers
        return answer


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


def test_a_password_is_checked_in_a_thread(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert desk.answer("PLAIN", "al\u00adice", "secret") == "alice"
    assert desk.answer("PLAIN", "alice", "Secret") is None
    assert desk.answer("PLAIN", "mallory", "secret") is None
    assert desk.answer("PLAIN", "\u0007", "secret") is None
    assert desk.shared.accepted["PLAIN"] == 2
    assert desk.shared.refused["PLAIN"] == 3


def test_nobody_may_act_for_somebody_else(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret", "alice") == "alice"
    assert desk.answer("PLAIN", "alice", "secret", "root") is None


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
    assert costs == [("SCRAM-SHA-256", 10)] * 4


def test_a_users_file_that_changes_is_read_again_and_a_broken_one_changes_nothing(
    desk: Desk,
) -> None:
    assert desk.answer("PLAIN", "bob", "b") is None
    write_users(desk.path, {"bob": make_user("b", 10)})
    assert desk.answer("PLAIN", "bob", "b") == "bob"
    desk.path.write_text("bob: nonsense")
    assert desk.answer("PLAIN", "bob", "b") == "bob"
    os.unlink(desk.path)
    assert desk.answer("PLAIN", "bob", "b") == "bob"
    with pytest.raises(ConfigurationError):
        desk.passwords.load()


def test_a_file_without_users_lets_nobody_in(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.net.listening.passwords.ITERATIONS", {"SCRAM-SHA-256": 10})
    write_users(desk.path, {})
    assert desk.answer("PLAIN", "alice", "secret") is None


def test_a_peer_that_left_is_not_told_and_costs_nothing(desk: Desk) -> None:
    one, waiter = desk.ask("PLAIN", "alice", "secret")
    one.forget(waiter)
    ((call, _),) = desk.threads.waiting
    assert call() is None
    desk.threads.run()
    other, other_waiter = desk.ask("ANONYMOUS")
    other.forget(other_waiter)
    desk.clock.advance(0)
    assert waiter.answers == other_waiter.answers == []


def test_a_check_that_breaks_is_a_no(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verifier, "check", lambda *_: 1 / 0)
    assert desk.answer("PLAIN", "alice", "secret") is None


def test_anonymous_only_where_it_is_allowed(desk: Desk, tmp_path: pathlib.Path) -> None:
    assert desk.answer("ANONYMOUS") is None
    assert Desk(tmp_path, anonymous=True).answer("ANONYMOUS") == "anonymous"


def test_external_is_the_name_in_the_certificate(desk: Desk) -> None:
    assert desk.answer("EXTERNAL", certificate="alice") == "alice"
    assert desk.answer("EXTERNAL", "alice", certificate="alice") == "alice"
    assert desk.answer("EXTERNAL", "root", certificate="alice") is None
    assert desk.answer("EXTERNAL", "alice") is None


def test_a_mechanism_that_was_not_offered_is_a_no(desk: Desk) -> None:
    assert desk.answer("CRAM-MD5", "alice", "secret") is None
    assert desk.shared.refused["other"] == 1
    without = Authentication(desk.clock, lambda: 0, anonymous_allowed=True)
    waiter = Waiter()
    one = without.for_peer(Peer(1, "192.0.2.1"))
    assert one.mechanisms() == ["ANONYMOUS"]
    one.authenticate(Credentials("PLAIN", username="alice", password="secret"), waiter)
    desk.clock.advance(0)
    assert waiter.answers == [None]


def test_the_best_mechanism_is_offered_first(desk: Desk, tmp_path: pathlib.Path) -> None:
    shared = Desk(tmp_path, anonymous=True).shared
    peer = Peer(1, "192.0.2.1", certificate_name="alice")
    assert shared.for_peer(peer).mechanisms() == ["EXTERNAL", "PLAIN", "ANONYMOUS"]
    assert desk.shared.for_peer(Peer(1, "192.0.2.1")).mechanisms() == ["PLAIN"]


LONG = "a\nb" * 40


def test_refused_logins_are_told_one_line_a_second(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path)
    with capturedLogs() as captured:
        for now_ms, username in ((0, "alice"), (10, "bob"), (999, "bob"), (1000, LONG)):
            desk.now_ms = now_ms
            desk.ask("PLAIN", username, "wrong")
            desk.threads.run()
        desk.now_ms = 5000
        desk.ask("EXTERNAL")
        desk.clock.advance(0)
    assert [formatEvent(event) for event in captured] == [
        "refused a login from 192.0.2.1: PLAIN, 'alice'",
        f"refused a login from 192.0.2.1: PLAIN, {LONG[:80]!r}; 2 more since the last such line",
        "refused a login from 192.0.2.1: EXTERNAL, no name",
    ]
