"""Where peers log in: its threads run when they are told to, and its clock stands."""

import pathlib
from collections.abc import Callable
from typing import Any

from support.derivations import respond
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from gateway.faces.face import Peer
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.legacy import make_secret
from gateway.net.listening.login import PeerAuthenticator
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.users import make_user, write_users
from gateway.wire.sasl import Credentials, Step, StepKind
from gateway.wire.scram import ScramClient


class Waiter:
    """Who is told who it is."""

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
    """Has one user: alice, whose password is secret."""

    def __init__(
        self,
        tmp_path: pathlib.Path,
        *,
        anonymous: bool = False,
        require_tls_for: tuple[str, ...] = (),
        legacy: tuple[str, ...] = (),
    ) -> None:
        """`legacy`: mechanisms from before SCRAM, which alice has verifiers for."""
        self.path = tmp_path / "users.yaml"
        alice = make_user("secret", 4096)
        alice |= {each: make_secret(each, "alice", "secret") for each in legacy}
        write_users(self.path, {"alice": alice})
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
            legacy=legacy,
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
        one = PeerAuthenticator(
            self.shared, Peer(1, "192.0.2.1", port=4711, certificate_name=certificate)
        )
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


class ScramPeer:
    """A client of ours at the desk's server side."""

    def __init__(self, desk: Desk, mechanism: str, user: str, password: str, peer: Peer) -> None:
        self.desk = desk
        self.one = PeerAuthenticator(desk.shared, peer)
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
