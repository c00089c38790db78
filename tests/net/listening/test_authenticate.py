"""Who is let in, by which mechanism, and that the answer never comes within the question."""

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from support.derivations import respond
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from gateway.errors import ConfigurationError
from gateway.faces.face import Peer
from gateway.net.listening.authenticate import Authentication, PeerAuthenticator
from gateway.net.listening.password_threads import GivenUpError
from gateway.net.listening.passwords import REMEMBERED_MS, Passwords
from gateway.net.listening.users import Verifier, make_user, write_users
from gateway.wire.sasl import Credentials, Step, StepKind
from gateway.wire.scram import ScramClient


class Waiter:
    def __init__(self) -> None:
        self.answers: list[str | None] = []

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        self.answers.append(identity)


class Threads:
    """Threads that run when they are told to."""

    def __init__(self) -> None:
        self.waiting_calls: list[tuple[Callable[[], Any], Deferred[Any]]] = []
        self.sources: list[tuple[str, str]] = []
        self.flooded: list[bool] = []

    @property
    def waiting(self) -> int:
        return len(self.waiting_calls)

    def look(self, up: Callable[[], Any]) -> "Deferred[Any]":
        answer: Deferred[Any] = Deferred()
        self.waiting_calls.append((up, answer))
        return answer

    def run(
        self,
        check: Callable[[], Any],
        address: str,
        user: str,
        *,
        known: bool = False,
        failed: bool = False,
        floods: bool = False,
    ) -> "Deferred[Any]":
        place = f"{address} known" if known else f"{address} failed" if failed else address
        self.sources.append((place, user))
        self.flooded.append(floods)
        return self.look(check)

    def run_all(self) -> None:
        while self.waiting_calls:
            self.run_one()

    def run_one(self) -> None:
        call, answer = self.waiting_calls.pop(0)
        try:
            result = call()
        except Exception:
            answer.errback()
        else:
            answer.callback(result)


class Desk:
    def __init__(
        self,
        tmp_path: pathlib.Path,
        *,
        anonymous: bool = False,
        require_tls_for: tuple[str, ...] = (),
    ) -> None:
        self.path = tmp_path / "users.yaml"
        write_users(self.path, {"alice": make_user("secret", 4096)})
        self.clock, self.threads = Clock(), Threads()
        self.now_ms = 0
        self.passwords = Passwords(self.path)
        self.passwords.load()
        self.shared = Authentication(
            self.clock,
            lambda: self.now_ms,
            anonymous_allowed=anonymous,
            passwords=self.passwords,
            threads=self.threads,
            require_tls_for=require_tls_for,
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
        one = self.shared.for_peer(Peer(1, "192.0.2.1", port=4711, certificate_name=certificate))
        waiter = Waiter()
        credentials = Credentials(
            mechanism, username=username, password=password, authorization=authorization
        )
        one.authenticate(credentials, waiter)
        assert waiter.answers == []
        return one, waiter

    def answer(self, *question: str, certificate: str = "") -> str | None:
        _, waiter = self.ask(*question, certificate=certificate)
        self.threads.run_all()
        self.clock.advance(0)
        (answer,) = waiter.answers
        return answer


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


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


def test_a_check_that_breaks_is_a_no(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verifier, "check", lambda *_: 1 / 0)
    assert desk.answer("PLAIN", "alice", "secret") is None


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


@pytest.mark.parametrize(
    ("mechanism", "counted"),
    [
        ("ANONYMOUS", "ANONYMOUS"),
        ("EXTERNAL", "EXTERNAL"),
        ("SCRAM-SHA-256-PLUS", "SCRAM-SHA-256-PLUS"),
        ("SCRAM-SHA-1", "other"),
        ("", "other"),
        ("x" * 1000, "other"),
    ],
)
def test_who_asks_for_what_is_not_offered_is_counted(
    desk: Desk, mechanism: str, counted: str
) -> None:
    before = dict(desk.shared.refused)
    assert desk.shared.for_peer(Peer(1, "192.0.2.1")).begin(mechanism) is None
    assert desk.shared.refused == {**before, counted: 1}


@pytest.mark.parametrize("response", [b"xx", b"\0\0secret", b"\0\xff\0x"])
def test_a_message_that_is_none_of_its_mechanism_is_counted_and_told(
    desk: Desk, response: bytes
) -> None:
    exchange = desk.shared.for_peer(Peer(7, "192.0.2.1")).begin("PLAIN")
    assert exchange is not None
    with capturedLogs() as captured:
        assert exchange.respond(response).kind == StepKind.DENIED
    assert desk.shared.refused["PLAIN"] == sum(desk.shared.refused.values()) == 1
    [line] = [str(formatEvent(event)) for event in captured]
    assert line.endswith("PLAIN, no name: what came is no message of that mechanism")
    assert line.startswith("connection 7 ")


def test_the_best_mechanism_is_offered_first(desk: Desk, tmp_path: pathlib.Path) -> None:
    shared = Desk(tmp_path, anonymous=True).shared
    peer = Peer(1, "192.0.2.1", certificate_name="alice")
    assert shared.for_peer(peer).mechanisms() == [
        "EXTERNAL",
        "SCRAM-SHA-512",
        "SCRAM-SHA-256",
        "PLAIN",
        "ANONYMOUS",
    ]
    bound = Peer(1, "192.0.2.1", secure=True, bindings={"tls-exporter": b"x"})
    assert desk.shared.for_peer(bound).mechanisms() == [
        "SCRAM-SHA-512-PLUS",
        "SCRAM-SHA-256-PLUS",
        "SCRAM-SHA-512",
        "SCRAM-SHA-256",
        "PLAIN",
    ]


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


# SCRAM.


class Client:
    """A client of ours at the desk's server side."""

    def __init__(self, desk: Desk, mechanism: str, user: str, password: str, peer: Peer) -> None:
        self.desk = desk
        self.one = desk.shared.for_peer(peer)
        self.waiter = Waiter()
        server = self.one.begin(mechanism)
        assert server is not None
        self.server = server
        binding = None
        if peer.bindings:
            name, data = next(iter(peer.bindings.items()))
            binding = (name, data)
        self.client = ScramClient(mechanism, user, password, nonce="abc", binding=binding)

    def ask(self, step: Step) -> Step:
        assert step.credentials is not None
        self.one.authenticate(step.credentials, self.waiter)
        assert self.waiter.answers == []
        self.desk.threads.run_all()
        self.desk.clock.advance(0)
        return self.server.resolve(self.waiter.answers.pop() is not None)

    def first(self) -> bytes:
        step = self.ask(self.server.respond(self.client.initial()))
        assert step.kind == StepKind.CHALLENGE
        return step.octets

    def meet(self) -> bool:
        answer = respond(self.client, self.first())
        assert answer is not None
        step = self.ask(self.server.respond(answer))
        return step.kind == StepKind.GRANTED and self.client.complete(step.octets)


PEER = Peer(1, "192.0.2.1")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_lets_in_whoever_knows_the_password_and_nobody_else(
    desk: Desk, mechanism: str
) -> None:
    assert Client(desk, mechanism, "alice", "secret", PEER).meet()
    assert not Client(desk, mechanism, "alice", "guess", PEER).meet()
    assert not Client(desk, mechanism, "mallory", "secret", PEER).meet()
    assert not Client(desk, mechanism, "mallory", "", PEER).meet()
    assert desk.shared.accepted[mechanism] == 1
    assert desk.shared.refused[mechanism] == 3


def test_scram_binds_to_the_connection_where_tls_lets_it(desk: Desk) -> None:
    peer = Peer(1, "192.0.2.1", secure=True, bindings={"tls-exporter": b"x" * 32})
    assert Client(desk, "SCRAM-SHA-256-PLUS", "alice", "secret", peer).meet()
    assert desk.shared.accepted["SCRAM-SHA-256-PLUS"] == 1


def test_a_name_that_nobody_has_has_a_salt_of_its_own_like_any_other(
    tmp_path: pathlib.Path,
) -> None:
    def first(desk: Desk, name: str, mechanism: str = "SCRAM-SHA-256") -> list[str]:
        text = Client(desk, mechanism, name, "x", PEER).first().decode()
        return text.split(",")[1:]

    desk = Desk(tmp_path)
    real, unknown = first(desk, "alice"), first(desk, "mallory")
    assert real[1] == unknown[1] == "i=4096"
    assert len(real[0]) == len(unknown[0])
    assert first(desk, "mallory") == unknown != first(desk, "trudy")
    assert first(desk, "mal\u00adlory") == unknown
    assert first(desk, "mallory", "SCRAM-SHA-512") != unknown
    secret = b"s" * 32
    once, again = Passwords(desk.path, secret), Passwords(desk.path, secret)
    assert once.keys("mallory", "SCRAM-SHA-256") == again.keys("mallory", "SCRAM-SHA-256")


def test_a_mechanism_is_offered_only_if_every_user_can_use_it(desk: Desk) -> None:
    only = {"SCRAM-SHA-256": make_user("b", 4096)["SCRAM-SHA-256"]}
    write_users(desk.path, {"alice": make_user("secret", 4096), "bob": only})
    desk.passwords.load()
    one = desk.shared.for_peer(PEER)
    assert one.mechanisms() == ["SCRAM-SHA-256", "PLAIN"]
    assert one.begin("SCRAM-SHA-512") is None
    write_users(desk.path, {})
    desk.passwords.load()
    assert one.mechanisms() == ["PLAIN"]


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


def test_nobody_may_act_for_somebody_else_by_scram(desk: Desk) -> None:
    one = Client(desk, "SCRAM-SHA-256", "alice", "secret", PEER)
    one.client = ScramClient("SCRAM-SHA-256", "alice", "secret", nonce="abc", authorization="root")
    step = one.ask(one.server.respond(one.client.initial()))
    assert step.kind == StepKind.DENIED


# Who waits, and who does not.


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
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    check = Verifier.check

    def noting(verifier: Verifier, password: str) -> bool:
        checked.append(password)
        return check(verifier, password)

    monkeypatch.setattr(Verifier, "check", noting)
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


def test_a_password_that_was_wrong_is_not_checked_again_and_no_failure_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    check = Verifier.check

    def noting(verifier: Verifier, password: str) -> bool:
        checked.append(password)
        return check(verifier, password)

    monkeypatch.setattr(Verifier, "check", noting)
    waiters = [desk.ask("PLAIN", "alice", "of yesterday")[1] for _ in range(100)]
    desk.threads.run_all()
    assert [waiter.answers for waiter in waiters] == [[None]] + [[]] * 99
    assert desk.answer("PLAIN", "alice", "secret") == "alice"
    desk.clock.advance(1)
    assert [waiter.answers for waiter in waiters] == [[None]] * 100
    assert checked == ["of yesterday", "secret"]
    write_users(desk.path, {"alice": make_user("of yesterday", 4096)})
    assert desk.answer("PLAIN", "alice", "of yesterday") == "alice"


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
    one = desk.shared.for_peer(Peer(1, "192.0.2.1", held=held.append))
    one.authenticate(Credentials("PLAIN", username="alice", password="secret"), Waiter())
    assert held == [True]
    desk.threads.run_all()
    assert held == [True, False]


def test_scram_waits_as_plain_does(desk: Desk) -> None:
    for _ in range(3):
        assert not Client(desk, "SCRAM-SHA-256", "alice", "guess", PEER).meet()
    one = Client(desk, "SCRAM-SHA-256", "alice", "secret", PEER)
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


# Passwords in clear text.


def test_a_mechanism_may_be_offered_inside_tls_only(tmp_path: pathlib.Path) -> None:
    shared = Desk(tmp_path, require_tls_for=("PLAIN",)).shared
    one = shared.for_peer(PEER)
    assert one.mechanisms() == ["SCRAM-SHA-512", "SCRAM-SHA-256"]
    assert one.begin("PLAIN") is None
    secure = shared.for_peer(Peer(1, "192.0.2.1", secure=True))
    assert secure.mechanisms() == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]


def test_who_sends_a_password_in_clear_text_is_named_once_and_counted(desk: Desk) -> None:
    def login(peer: Peer, password: str = "secret") -> None:
        one = desk.shared.for_peer(peer)
        credentials = Credentials("PLAIN", username="alice", password=password)
        one.authenticate(credentials, Waiter())
        desk.threads.run_all()

    with capturedLogs() as captured:
        login(PEER)
        login(PEER)
        login(Peer(1, "127.0.0.1"))
        login(Peer(1, "192.0.2.1", secure=True))
        login(PEER, "wrong")
    said = [formatEvent(event) for event in captured]
    assert said[0] == ("alice sends a password in clear text, from 192.0.2.1: PLAIN without TLS")
    assert len(said) == 2 and ": refused a login: " in said[1]
    assert desk.shared.plain_in_clear == 2


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


def test_what_is_offered_follows_the_users_file_though_nobody_logs_in(desk: Desk) -> None:
    one = desk.shared.for_peer(PEER)
    write_users(desk.path, {"alice": make_user("secret", 10)})
    desk.shared.refresh()
    desk.threads.run_all()
    assert one.mechanisms() == ["PLAIN"]
    write_users(desk.path, {"alice": make_user("secret", 4096)})
    desk.shared.refresh()
    desk.threads.run_all()
    assert one.mechanisms() == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]


def test_looks_at_a_users_file_that_does_not_answer_do_not_pile_up(desk: Desk) -> None:
    for _ in range(10):
        desk.shared.refresh()
    assert len(desk.threads.waiting_calls) == 1
    desk.threads.run_all()
    desk.shared.refresh()
    assert len(desk.threads.waiting_calls) == 1


def test_signs_of_somebody_in_between_are_counted_and_told(desk: Desk) -> None:
    bindings = {"tls-exporter": b"ours"}
    peer = Peer(1, "192.0.2.1", secure=True, bindings=bindings)
    with capturedLogs() as captured:
        for mechanism, first in (
            ("SCRAM-SHA-256", b"y,,n=alice,r=abc"),
            ("SCRAM-SHA-256-PLUS", b"p=tls-unique,,n=alice,r=abc"),
        ):
            exchange = desk.shared.for_peer(peer).begin(mechanism)
            assert exchange is not None
            assert exchange.respond(first).kind == StepKind.DENIED
            desk.now_ms += 2000
    assert desk.shared.refused["SCRAM-SHA-256"] == 1
    assert desk.shared.refused["SCRAM-SHA-256-PLUS"] == 1
    first_line, second_line = [str(formatEvent(event)) for event in captured]
    assert "'alice': it says that no channel binding was offered, but it was" in first_line
    assert "'alice': unsupported-channel-binding-type" in second_line
