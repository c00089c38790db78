"""The server's side of what users are offered."""

import pathlib

import pytest

from gateway.faces.face import Peer
from gateway.net.listening.legacy import SECRETS, make_secret
from gateway.net.listening.offers import server_side, user_mechanisms
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.users import make_user, write_users
from gateway.wire.sasl import ServerMechanism, StepKind

PEER = Peer(1, "192.0.2.1")


@pytest.fixture
def passwords(tmp_path: pathlib.Path) -> Passwords:
    """One user, who has everything."""
    path = tmp_path / "users.yaml"
    alice = make_user("secret", 4096)
    alice |= {each: make_secret(each, "alice", "secret", "bank") for each in SECRETS}
    write_users(path, {"alice": alice})
    made = Passwords(path)
    made.load()
    return made


def side(mechanism: str, passwords: Passwords | None) -> ServerMechanism | None:
    return server_side(mechanism, PEER, passwords, None, frozenset(), lambda name, why: None)


def test_each_mechanism_that_is_offered_has_a_side_of_ours(passwords: Passwords) -> None:
    for mechanism in user_mechanisms(passwords, PEER, tuple(SECRETS)):
        assert side(mechanism, passwords) is not None
    assert side("GSSAPI", passwords) is None
    assert side("NO-SUCH", passwords) is None


@pytest.mark.parametrize("mechanism", SECRETS)
def test_no_challenge_comes_twice(passwords: Passwords, mechanism: str) -> None:
    challenges = set()
    for _ in range(20):
        server = side(mechanism, passwords)
        assert server is not None
        step = server.respond(None)
        assert step.kind == StepKind.CHALLENGE
        challenges.add(step.octets)
    assert len(challenges) == 20


def test_the_realm_of_the_users_is_told(passwords: Passwords) -> None:
    server = side("DIGEST-MD5", passwords)
    assert server is not None
    assert server.respond(None).octets.startswith(b'realm="bank",')


def test_a_realm_that_has_gone_meanwhile_takes_the_mechanism_along(passwords: Passwords) -> None:
    write_users(passwords.path, {"alice": make_user("secret", 4096)})
    passwords.load()
    assert side("DIGEST-MD5", passwords) is None
