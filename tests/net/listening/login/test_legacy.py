"""Logins by CRAM-MD5 and DIGEST-MD5, where they are wanted."""

import hmac
import pathlib
import re

import pytest
from support.digest_client import digest_response
from support.login_desk import PEER, Desk, Waiter
from twisted.logger import capturedLogs

from gateway.faces.face import Peer
from gateway.net.listening.legacy import SECRETS, make_secret
from gateway.net.listening.login import PeerAuthenticator
from gateway.net.listening.users import make_user, write_users
from gateway.wire.cram_md5 import CRAM_MD5, CRAM_MD5_HASHED, cram_secret
from gateway.wire.digest_md5 import DIGEST_MD5
from gateway.wire.md5 import hmac_of
from gateway.wire.sasl import Step, StepKind

ALL = tuple(SECRETS)


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path, legacy=ALL)


def responded(mechanism: str, challenge: bytes, name: str, password: str) -> bytes:
    """What a client answers."""
    if mechanism == DIGEST_MD5:
        nonce = re.search(rb'nonce="([^"]+)"', challenge)
        assert nonce is not None
        return digest_response(name, password, nonce=nonce[1].decode())
    if mechanism == CRAM_MD5:
        digest = hmac.digest(password.encode(), challenge, "md5").hex()
    else:
        digest = hmac_of(cram_secret(mechanism, password), challenge).hex()
    return f"{name} {digest}".encode()


def met(desk: Desk, mechanism: str, name: str, password: str, peer: Peer = PEER) -> Step:
    """How an exchange ends."""
    one, waiter = PeerAuthenticator(desk.shared, peer), Waiter()
    server = one.begin(mechanism)
    assert server is not None
    challenge = server.respond(None)
    assert challenge.kind == StepKind.CHALLENGE
    step = server.respond(responded(mechanism, challenge.octets, name, password))
    assert step.kind == StepKind.VERIFY and step.credentials is not None
    one.authenticate(step.credentials, waiter)
    assert waiter.answers == []
    desk.clock.advance(60)
    desk.threads.run_all()
    desk.clock.advance(0)
    [identity] = waiter.answers
    assert identity in (name, None)
    return server.resolve(identity is not None)


def test_they_are_offered_only_where_they_are_wanted_and_somebody_can_use_them(
    tmp_path: pathlib.Path,
) -> None:
    desk = Desk(tmp_path, legacy=ALL)
    one = PeerAuthenticator(desk.shared, PEER)
    scram = ["SCRAM-SHA-512", "SCRAM-SHA-256"]
    assert one.mechanisms() == [*scram, DIGEST_MD5, CRAM_MD5_HASHED, CRAM_MD5, "PLAIN"]
    desk.shared.legacy = (CRAM_MD5,)
    assert one.mechanisms() == [*scram, CRAM_MD5, "PLAIN"]
    assert one.begin(DIGEST_MD5) is None
    assert desk.shared.refused[DIGEST_MD5] == 1
    desk.shared.legacy = ()
    assert one.mechanisms() == [*scram, "PLAIN"]
    desk.shared.legacy = ALL
    write_users(desk.path, {"alice": make_user("secret", 4096)})
    desk.passwords.load()
    assert one.mechanisms() == [*scram, "PLAIN"]


def test_they_may_be_offered_inside_tls_only(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path, legacy=ALL, require_tls_for=(CRAM_MD5, CRAM_MD5_HASHED, "PLAIN"))
    assert PeerAuthenticator(desk.shared, PEER).mechanisms()[2:] == [DIGEST_MD5]
    secure = Peer(1, "192.0.2.1", secure=True)
    assert PeerAuthenticator(desk.shared, secure).mechanisms()[2:] == [*ALL, "PLAIN"]


@pytest.mark.parametrize("mechanism", ALL)
def test_whoever_knows_the_password_is_let_in_and_nobody_else(desk: Desk, mechanism: str) -> None:
    granted = met(desk, mechanism, "alice", "secret")
    assert granted.kind == StepKind.GRANTED
    assert granted.octets[:8] == (b"rspauth=" if mechanism == DIGEST_MD5 else b"")
    for name, password in (("alice", "guess"), ("mallory", "secret"), ("mallory", "")):
        denied = met(desk, mechanism, name, password)
        assert (denied.kind, denied.octets, denied.credentials) == (StepKind.DENIED, b"", None)
    assert desk.shared.accepted[mechanism] == 1
    assert desk.shared.refused[mechanism] == 3


@pytest.mark.parametrize("mechanism", ALL)
def test_a_user_without_such_a_verifier_is_refused_like_one_who_is_none(
    desk: Desk, mechanism: str
) -> None:
    secrets = {each: make_secret(each, "alice", "secret") for each in ALL}
    bob = make_user("secret", 4096)
    write_users(desk.path, {"alice": {**make_user("secret", 4096), **secrets}, "bob": bob})
    assert met(desk, mechanism, "bob", "secret").kind == StepKind.DENIED
    assert met(desk, mechanism, "alice", "secret").kind == StepKind.GRANTED


@pytest.mark.parametrize("mechanism", ALL)
def test_a_name_that_nobody_has_is_compared_with_the_same_secret_each_time(
    desk: Desk, mechanism: str
) -> None:
    known, secret = desk.passwords.secret("alice", mechanism)
    nobody, made_up = desk.passwords.secret("mallory", mechanism)
    assert (known, nobody) == ("alice", None)
    assert len(secret) == len(made_up) == SECRETS[mechanism]
    assert desk.passwords.secret("mallory", mechanism) == (None, made_up)
    assert desk.passwords.secret("trudy", mechanism) != (None, made_up)


def test_nobody_may_act_for_somebody_else_by_digest(desk: Desk) -> None:
    one, waiter = PeerAuthenticator(desk.shared, PEER), Waiter()
    server = one.begin(DIGEST_MD5)
    assert server is not None
    nonce = re.search(rb'nonce="([^"]+)"', server.respond(None).octets)
    assert nonce is not None
    answer = digest_response("alice", "secret", nonce=nonce[1].decode(), authzid="root")
    step = server.respond(answer)
    assert step.credentials is not None
    one.authenticate(step.credentials, waiter)
    desk.threads.run_all()
    desk.clock.advance(0)
    assert waiter.answers == [None]


def test_failures_wait_as_those_of_passwords_do(desk: Desk) -> None:
    for _ in range(5):
        met(desk, CRAM_MD5, "alice", "guess")
    assert desk.shared.throttle.begin(PEER.address, "alice", desk.now_ms)


def test_a_new_password_takes_the_login_away(desk: Desk) -> None:
    one, waiter = PeerAuthenticator(desk.shared, PEER), Waiter()
    server = one.begin(CRAM_MD5)
    assert server is not None
    challenge = server.respond(None).octets
    step = server.respond(responded(CRAM_MD5, challenge, "alice", "secret"))
    assert step.credentials is not None
    one.authenticate(step.credentials, waiter)
    desk.threads.run_all()
    assert waiter.answers == ["alice"]
    assert one.withdrawn() == ""
    write_users(desk.path, {"alice": make_user("new", 4096)})
    desk.passwords.load()
    assert one.withdrawn() == "the password was changed"


@pytest.mark.parametrize("mechanism", ALL)
def test_what_is_no_answer_is_counted_and_leaves_one_line(desk: Desk, mechanism: str) -> None:
    server = PeerAuthenticator(desk.shared, PEER).begin(mechanism)
    assert server is not None
    server.respond(None)
    with capturedLogs() as captured:
        assert server.respond(b"\xff\x00").kind == StepKind.DENIED
    assert desk.shared.refused[mechanism] == sum(desk.shared.refused.values()) == 1
    assert len(captured) == 1
