"""Logins by GSSAPI: tokens are taken in a thread, and principals are users."""

import pathlib
from typing import Any

import pytest
from support.login_desk import PEER, Desk, Waiter

from gateway.net.listening.kerberos import Principals
from gateway.net.listening.login import PeerAuthenticator
from gateway.wire.gssapi_server import GSSAPI, GssapiRefusedError
from gateway.wire.sasl import ServerMechanism, Step, StepKind


class Context:
    """Takes a token that is a principal."""

    def __init__(self) -> None:
        self.name = ""

    def accept(self, token: bytes) -> bytes:
        if b"@" not in token:
            raise GssapiRefusedError("no ticket")
        self.name = token.decode()
        return b""

    def complete(self) -> bool:
        return self.name != ""

    def initiator(self) -> str:
        return self.name

    def wrap(self, octets: bytes) -> bytes:
        return octets

    def unwrap(self, octets: bytes) -> bytes:
        return octets


class Keys:
    """In place of `Kerberos`."""

    principals = Principals("EXAMPLE", users={})

    def accept(self) -> Context:
        return Context()


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    made = Desk(tmp_path)
    keys: Any = Keys()
    made.shared.kerberos = keys
    return made


class Client:
    """One login."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.one, self.waiter = PeerAuthenticator(desk.shared, PEER), Waiter()
        server = self.one.begin(GSSAPI)
        assert server is not None
        self.server: ServerMechanism = server

    def say(self, response: bytes) -> Step:
        """What comes of it, when all was done that has to be."""
        step = self.server.respond(response)
        if step.kind != StepKind.VERIFY:
            return step
        assert step.credentials is not None
        self.one.authenticate(step.credentials, self.waiter)
        assert self.waiter.answers == []
        self.desk.threads.run_all()
        self.desk.clock.advance(0)
        return self.server.resolve(self.waiter.answers.pop() is not None)


def test_it_is_offered_where_there_are_keys_and_before_passwords(desk: Desk) -> None:
    offered = PeerAuthenticator(desk.shared, PEER).mechanisms()
    assert offered == [GSSAPI, "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]
    desk.shared.require_tls_for = (GSSAPI,)
    assert GSSAPI not in PeerAuthenticator(desk.shared, PEER).mechanisms()


def test_whoever_has_a_ticket_of_the_realm_is_let_in_also_without_a_password(desk: Desk) -> None:
    client = Client(desk)
    assert client.say(b"carol@EXAMPLE").octets == b"\x01\0\0\0"
    assert desk.threads.sources == [(PEER.address, "")]
    assert client.say(b"\x01\0\0\0").kind == StepKind.GRANTED
    assert desk.shared.accepted[GSSAPI] == 1
    assert client.one.withdrawn() == ""
    assert not client.one.by_certificate()


@pytest.mark.parametrize(
    ("token", "choice"),
    [(b"carol@OTHER", b"\x01\0\0\0"), (b"carol@EXAMPLE", b"\x01\0\0\0root")],
)
def test_another_realm_and_acting_for_somebody_else_are_refused(
    desk: Desk, token: bytes, choice: bytes
) -> None:
    client = Client(desk)
    client.say(token)
    assert client.say(choice).kind == StepKind.DENIED
    assert desk.shared.refused[GSSAPI] == sum(desk.shared.refused.values()) == 1


def test_a_token_that_is_no_ticket_is_refused_and_counted_once(desk: Desk) -> None:
    assert Client(desk).say(b"token").kind == StepKind.DENIED
    assert desk.shared.refused[GSSAPI] == sum(desk.shared.refused.values()) == 1


def test_nobody_is_called_what_clients_without_a_login_are(desk: Desk) -> None:
    desk.shared.nobodys_names = frozenset(("anonymous",))
    client = Client(desk)
    client.say(b"anonymous@EXAMPLE")
    assert client.say(b"\x01\0\0\0").kind == StepKind.DENIED


def test_a_client_that_has_left_costs_nothing(desk: Desk) -> None:
    client = Client(desk)
    step = client.server.respond(b"carol@EXAMPLE")
    assert step.credentials is not None
    client.one.authenticate(step.credentials, client.waiter)
    client.one.forget(client.waiter)
    desk.threads.run_all()
    assert client.waiter.answers == []
    assert desk.shared.accepted[GSSAPI] == 0


def test_what_tickets_say_may_be_anybodys_name(desk: Desk) -> None:
    assert desk.shared.has("whoever")
    assert desk.shared.users() is desk.shared
    desk.shared.passwords = None
    assert desk.shared.users() is desk.shared
