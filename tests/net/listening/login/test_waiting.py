"""Who waits for its answer, and who does not."""

import pathlib

import pytest
from support.login_desk import PEER, Desk, ScramPeer, Waiter

from gateway.faces.face import Peer
from gateway.net.listening.login import PeerAuthenticator
from gateway.net.listening.password_threads import GivenUpError
from gateway.net.listening.passwords import REMEMBERED_MS
from gateway.wire.sasl import Credentials


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


def test_a_peer_that_left_is_not_told_and_costs_nothing(desk: Desk) -> None:
    one, waiter = desk.ask("PLAIN", "alice", "secret")
    one.forget(waiter)
    ((call, _),) = desk.threads.waiting_calls
    assert call() is None
    desk.threads.run_all()
    assert desk.threads.sources == []
    other, other_waiter = desk.ask("ANONYMOUS")
    other.forget(other_waiter)
    desk.clock.advance(0)
    assert waiter.answers == other_waiter.answers == []


def test_guessing_has_to_wait_and_is_refused_unheard_when_there_is_too_much(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.net.listening.throttle.PAIR_AT_ONCE", 3)
    for number in range(3):
        assert desk.answer("PLAIN", "alice", f"guess {number}") is None
    waiters = [desk.ask("PLAIN", "alice", f"guess {number}")[1] for number in range(3, 33)]
    desk.threads.run_all()
    assert len(desk.threads.sources) == 3
    desk.clock.advance(0)
    assert desk.shared.throttled == 10
    assert desk.shared.refused["PLAIN"] == 13
    assert [waiter.answers for waiter in waiters] == [[]] * 20 + [[None]] * 10
    desk.clock.advance(0.25)
    assert len(desk.threads.sources) == 4
    for _ in range(20):
        desk.clock.advance(0.25)
        desk.threads.run_all()
    assert [waiter.answers for waiter in waiters] == [[None]] * 30


def test_the_right_password_among_many_that_come_at_once_is_heard(desk: Desk) -> None:
    for number in range(20):
        desk.ask("PLAIN", "alice", f"guess {number}")
    desk.threads.run_all()
    _, waiter = desk.ask("PLAIN", "alice", "secret")
    desk.threads.run_all()
    assert waiter.answers == []
    desk.clock.advance(1)
    desk.threads.run_all()
    assert waiter.answers == ["alice"]


def test_of_an_address_that_floods_those_who_wait_longest_are_refused_unheard(desk: Desk) -> None:
    for number in range(6):
        assert desk.answer("PLAIN", f"name {number}", "guess") is None
    _, waiter = desk.ask("PLAIN", "mallory", "guess")
    desk.threads.run_one()
    assert desk.threads.flooded == [False] * 6 + [True]
    _, answer = desk.threads.waiting_calls.pop()
    answer.errback(GivenUpError())
    assert waiter.answers == [None]
    assert desk.shared.throttled == 1
    assert desk.shared.throttle.floods("192.0.2.1", "mallory", 0)
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert not desk.shared.throttle.floods("192.0.2.1", "mallory", 0)


def test_a_peer_that_waits_for_its_answer_does_not_use_up_its_time(desk: Desk) -> None:
    held: list[bool] = []
    one = PeerAuthenticator(desk.shared, Peer(1, "192.0.2.1", held=held.append))
    one.authenticate(Credentials("PLAIN", username="alice", password="secret"), Waiter())
    assert held == [True]
    desk.threads.run_all()
    assert held == [True, False]


def test_scram_waits_as_plain_does(desk: Desk) -> None:
    for _ in range(3):
        assert not ScramPeer(desk, "SCRAM-SHA-256", "alice", "guess", PEER).meet()
    one = ScramPeer(desk, "SCRAM-SHA-256", "alice", "secret", PEER)
    step = one.server.respond(one.client.initial())
    assert step.credentials is not None
    one.one.authenticate(step.credentials, one.waiter)
    assert desk.threads.waiting == 0
    desk.clock.advance(0.5)
    desk.threads.run_all()
    assert one.waiter.answers == ["alice"]


def test_a_peer_that_left_while_it_waited_for_its_time_costs_nothing(desk: Desk) -> None:
    for number in range(3):
        desk.answer("PLAIN", "alice", f"guess {number}")
    one, waiter = desk.ask("PLAIN", "alice", "guess")
    desk.threads.run_all()
    one.forget(waiter)
    desk.clock.advance(10)
    assert desk.threads.waiting == 0
    assert desk.shared.waiting == 0


def test_whoever_has_been_here_does_not_queue_behind_those_who_guess(desk: Desk) -> None:
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    desk.now_ms += REMEMBERED_MS
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    assert desk.answer("PLAIN", "bob", "b") is None
    assert desk.threads.sources == [
        ("192.0.2.1", "alice"),
        ("192.0.2.1 known", "alice"),
        ("192.0.2.1", "bob"),
    ]
    assert desk.answer("PLAIN", "bob", "c") is None
    assert desk.answer("PLAIN", "carol", "d") is None
    assert desk.threads.sources[3:] == [("192.0.2.1 failed", "bob"), ("192.0.2.1", "carol")]
