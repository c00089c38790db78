"""Passwords wait in turn for threads that the test runs: who is heard, and who is given up."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock

from gateway.net.listening import password_threads
from gateway.net.listening.password_threads import (
    FLOOD_WAITING,
    PASSWORD_THREADS,
    GivenUpError,
    PasswordThreads,
)


class Desk:
    """A pool whose threads end when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.running: list[tuple[Callable[[], Any], Deferred[Any]]] = []
        self.heard: list[str] = []
        self.given_up: list[str] = []
        monkeypatch.setattr(password_threads, "deferToThreadPool", self._defer)
        self.threads = PasswordThreads(MemoryReactorClock(), lambda: 0)

    def _defer(self, reactor: object, pool: object, call: Callable[[], Any]) -> "Deferred[Any]":
        answer: Deferred[Any] = Deferred()
        self.running.append((call, answer))
        return answer

    def ask(self, user: str, address: str = "a", **how: bool) -> None:
        answer = self.threads.run(lambda: user, address, user, **how)
        answer.addCallbacks(self.heard.append, lambda failure: self._given_up(user, failure.value))

    def _given_up(self, user: str, error: Exception) -> None:
        assert isinstance(error, GivenUpError)
        self.given_up.append(user)

    def run(self, number: int) -> None:
        for _ in range(number):
            call, answer = self.running.pop(0)
            answer.callback(call())


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


def test_who_has_not_failed_is_heard_however_many_others_are_guessed_from_there(
    desk: Desk,
) -> None:
    for number in range(20):
        desk.ask(f"guessed {number}", failed=True, floods=True)
    desk.ask("alice", floods=True)
    for number in range(20, 40):
        desk.ask(f"guessed {number}", failed=True, floods=True)
    assert "alice" not in desk.given_up
    desk.run(PASSWORD_THREADS + 2)
    assert "alice" in desk.heard


def test_of_those_who_failed_where_all_is_wrong_some_wait_and_the_last_are_heard(
    desk: Desk,
) -> None:
    for number in range(20):
        desk.ask(str(number), failed=True, floods=True)
    kept = PASSWORD_THREADS + FLOOD_WAITING
    assert len(desk.given_up) == 20 - kept
    desk.run(kept)
    assert desk.heard[-1] == "19"
    assert desk.threads.waiting == 0


def test_of_a_known_user_only_its_own_are_given_up(desk: Desk) -> None:
    for _ in range(20):
        desk.ask("alice", known=True, floods=True)
    desk.ask("bob", known=True)
    assert set(desk.given_up) == {"alice"}
    desk.run(PASSWORD_THREADS + 2)
    assert "bob" in desk.heard


def test_what_is_only_looked_up_does_not_wait_behind_passwords(desk: Desk) -> None:
    for _ in range(10):
        desk.ask("alice")
    seen: list[str] = []
    desk.threads.look(lambda: "keys").addCallback(seen.append)
    call, answer = desk.running.pop()
    answer.callback(call())
    assert seen == ["keys"]
