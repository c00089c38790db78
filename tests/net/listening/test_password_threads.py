"""Passwords wait in turn for threads that the test runs: who is heard, and who is given up."""

import sys
from collections.abc import Callable, Iterator
from hashlib import pbkdf2_hmac
from threading import current_thread
from typing import Any

import pytest
from support.whole_gateway import THREAD_TIMEOUT_S, ThreadedMemoryReactor
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock

from gateway.net.listening import password_threads
from gateway.net.listening.password_threads import (
    FLOOD_WAITING,
    PASSWORD_THREADS,
    READING_SWITCH_S,
    GivenUpError,
    PasswordThreads,
)
from gateway.wire.sasl import Derivation


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


def test_who_logs_in_does_not_wait_for_files_that_are_read(desk: Desk) -> None:
    read = desk.threads.read(lambda: "read")
    desk.ask("alice")
    looked = desk.threads.look(lambda: "keys")
    assert len(desk.running) == 3
    desk.run(3)
    assert (read.result, looked.result, desk.heard) == ("read", "keys", ["alice"])


class Pool:
    """Real threads, and a reactor that the test turns."""

    def __init__(self) -> None:
        self.reactor = ThreadedMemoryReactor()
        self.threads = PasswordThreads(self.reactor, lambda: 7)  # type: ignore[arg-type]  # a fake
        self.threads.start()

    def answered(self) -> None:
        self.reactor.from_threads.get(timeout=THREAD_TIMEOUT_S)()


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.threads.stop()


def test_while_files_are_read_the_reactor_has_the_interpreter_back_sooner(pool: Pool) -> None:
    before = sys.getswitchinterval()
    read = pool.threads.read(lambda: (sys.getswitchinterval(), current_thread().name))
    pool.answered()
    interval, thread = read.result
    assert interval == pytest.approx(READING_SWITCH_S)
    assert thread != current_thread().name
    broken = pool.threads.read(lambda: 1 // 0)
    broken.addErrback(lambda failure: failure.trap(ZeroDivisionError))
    pool.answered()
    assert sys.getswitchinterval() == before


def test_what_upstreams_are_shown_is_derived_in_a_thread(desk: Desk) -> None:
    done: list[int] = []
    derivation = Derivation("sha256", b"secret", b"salt", 4096)
    desk.threads.derive_for("up")(derivation, done.append)
    assert (derivation.salted, done) == (b"", [])
    desk.run(1)
    assert derivation.salted == pbkdf2_hmac("sha256", b"secret", b"salt", 4096)
    assert done == [0]
