"""What the users file keeps for mechanisms from before SCRAM, and what is told of it."""

import pathlib

import pytest

from gateway.errors import ConfigurationError
from gateway.net.listening.legacy import SECRETS, LegacyUsers, make_secret, parse_secret
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.users import User, make_user, read_users, write_users


@pytest.mark.parametrize("mechanism", SECRETS)
def test_a_secret_is_read_back_as_it_was_written_and_has_no_password(mechanism: str) -> None:
    made = make_secret(mechanism, "alice", "correct horse")
    assert parse_secret(mechanism, str(made)) == made
    assert len(made.secret) == SECRETS[mechanism]
    assert "horse" not in str(made)
    assert made == make_secret(mechanism, "alice", "correct\u00a0horse")  # the same when prepared
    assert made != make_secret(mechanism, "alice", "correct horsE")


def test_a_digest_is_of_one_realm_and_one_name() -> None:
    made = make_secret("DIGEST-MD5", "alice", "x", "A:B")
    assert str(made).startswith("A:B:")
    assert parse_secret("DIGEST-MD5", str(made)) == made
    assert made.secret != make_secret("DIGEST-MD5", "alice", "x").secret
    assert made.secret != make_secret("DIGEST-MD5", "bob", "x", "A:B").secret


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        ("CRAM-MD5", "AAAA"),
        ("CRAM-MD5", "QPID:" + "A" * 43 + "="),
        ("CRAM-MD5", "?"),
        ("DIGEST-MD5", 'Q"PID:' + "A" * 22 + "=="),
        ("DIGEST-MD5", "QPID:AAAA"),
    ],
)
def test_what_is_no_secret_is_an_error(mechanism: str, text: str) -> None:
    with pytest.raises(ValueError):
        parse_secret(mechanism, text)


def test_a_realm_that_cannot_stand_in_quotes_is_an_error() -> None:
    with pytest.raises(ValueError):
        make_secret("DIGEST-MD5", "alice", "x", "a\\b")


def user(*mechanisms: str, realm: str = "QPID") -> User:
    made = make_user("secret", 4096)
    made |= {each: make_secret(each, "someone", "secret", realm) for each in mechanisms}
    return made


def test_a_user_needs_a_scram_verifier_beside_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "users.yaml"
    users = {"alice": user("CRAM-MD5", "DIGEST-MD5"), "bob": user()}
    write_users(path, users)
    assert read_users(path) == users
    secret = make_secret("CRAM-MD5", "x", "x")
    path.write_text(f"carol:\n  CRAM-MD5: {secret}\n")
    with pytest.raises(ConfigurationError) as refused:
        read_users(path)
    assert "has no verifier" in refused.value.problems[0][1]


def loaded(path: pathlib.Path, **users: User) -> LegacyUsers:
    write_users(path, users)
    passwords = Passwords(path)
    passwords.load()
    return passwords.legacy


def test_a_mechanism_can_be_used_if_somebody_can_and_the_realm_is_one(
    tmp_path: pathlib.Path,
) -> None:
    legacy = loaded(tmp_path / "users", alice=user("DIGEST-MD5"), bob=user("CRAM-MD5"))
    assert [each for each in SECRETS if legacy.usable(each)] == ["DIGEST-MD5", "CRAM-MD5"]
    two = loaded(
        tmp_path / "users", alice=user("DIGEST-MD5"), bob=user("DIGEST-MD5", realm="OTHER")
    )
    assert not two.usable("DIGEST-MD5")
    [line] = two.told(["DIGEST-MD5"])
    assert line.startswith("DIGEST-MD5 is not offered: users are of several realms (OTHER, QPID)")


def test_what_it_costs_is_told_and_whom_it_does_not_do_for(tmp_path: pathlib.Path) -> None:
    legacy = loaded(tmp_path / "users", alice=user("CRAM-MD5"), bob=user("CRAM-MD5"), carol=user())
    costs, left = legacy.told(["CRAM-MD5"])
    assert "log in as alice and 1 more users without a password" in costs
    assert left.endswith("whose clients are refused where they like it best: 1")
    [missing, unused] = legacy.told(["DIGEST-MD5"])
    assert missing.startswith("DIGEST-MD5 is not offered: no user has a verifier for it")
    assert unused.startswith("CRAM-MD5 is not offered, but the users file has a verifier of alice")
