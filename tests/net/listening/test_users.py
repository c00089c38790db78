"""Verifiers are those of RFC 7677's example; the file is written in one step, for its owner."""

import base64
import hashlib
import hmac
import os
import pathlib
import stat

import pytest

from gateway.errors import ConfigurationError, GatewayError
from gateway.net.listening.users import (
    derive,
    make_user,
    parse_verifier,
    prepare_name,
    read_users,
    write_users,
)


def test_the_keys_are_those_of_the_exchange_in_rfc_7677() -> None:
    """Section 3 of the RFC gives the whole exchange: its proofs verify with our keys."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    made = derive("pencil", "SCRAM-SHA-256", salt, 4096)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = (
        f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        f"c=biws,r={nonce}"
    ).encode()
    signature = hmac.digest(made.stored_key, message, "sha256")
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == made.stored_key
    server = base64.b64encode(hmac.digest(made.server_key, message, "sha256"))
    assert server == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_user_has_a_verifier_of_each_mechanism_and_no_password() -> None:
    user = make_user("correct horse", iterations=10)
    assert set(user) == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    for verifier in user.values():
        assert verifier.check("correct horse")
        assert verifier.check("correct\u00a0horse")  # the same when prepared
        assert not verifier.check("correct horsE")
        assert not verifier.check("\u0007")
        assert "horse" not in str(verifier)
        assert parse_verifier(verifier.mechanism, str(verifier)) == verifier


def test_what_is_written_is_read_back_and_only_the_owner_can_read_it(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "users.yaml"
    users = {"alice": make_user("a", 10), "b\u00f6b": make_user("b", 10)}
    write_users(path, users)
    assert read_users(path) == users
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    write_users(path, {})
    assert read_users(path) == {}


def test_whoever_could_read_the_file_still_can(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "users.yaml"
    write_users(path, {})
    path.chmod(0o640)
    if os.getuid() == 0:
        os.chown(path, 4711, 4712)
    before = path.stat()
    write_users(path, {"alice": make_user("a", 10)})
    after = path.stat()
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino  # in one step


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o604, 0o602])
def test_what_others_can_is_taken_from_them(tmp_path: pathlib.Path, mode: int) -> None:
    path = tmp_path / "users.yaml"
    write_users(path, {})
    path.chmod(mode)
    told = write_users(path, {"alice": make_user("a", 10)})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"(mode {mode:03o}); now its owner alone can (600)" in told
    assert write_users(path, {}) == ""


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640, 0o660])
def test_what_only_owner_and_group_can_stays_theirs(tmp_path: pathlib.Path, mode: int) -> None:
    path = tmp_path / "users.yaml"
    write_users(path, {})
    path.chmod(mode)
    assert write_users(path, {}) == ""
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_group_that_cannot_be_kept_gives_nobody_else_the_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "users.yaml"
    write_users(path, {})
    path.chmod(0o660)
    if os.getuid() == 0:
        os.chown(path, -1, 4712)

    def refuse(*_arguments: object) -> None:
        raise PermissionError

    kept = path.stat().st_gid == os.getgid()
    monkeypatch.setattr(os, "fchown", refuse)
    write_users(path, {})
    assert stat.S_IMODE(path.stat().st_mode) == (0o660 if kept else 0o600)


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: pathlib.Path) -> None:
    with pytest.raises(GatewayError, match="cannot write"):
        write_users(tmp_path / "nowhere" / "users.yaml", {})
    (tmp_path / "taken").mkdir()
    with pytest.raises(GatewayError, match="cannot write"):
        write_users(tmp_path / "taken", {})
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    "text",
    [
        "alice: {SCRAM-SHA-1: '1:a:b:c'}",
        "alice: {SCRAM-SHA-256: '1:YQ==:YQ==:YQ=='}",
        "alice: {SCRAM-SHA-256: 'nonsense'}",
        "alice: {SCRAM-SHA-256: 5}",
        "alice: {}",
        "alice: secret",
    ],
)
def test_an_entry_that_cannot_be_used_is_a_problem_with_its_name(
    text: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "users.yaml"
    path.write_text(text + "\nbob: 7\n")
    with pytest.raises(ConfigurationError) as caught:
        read_users(path)
    assert [where for where, _ in caught.value.problems] == [f"{path}: alice", f"{path}: bob"]


@pytest.mark.parametrize("iterations", [0, 10**9])
def test_an_absurd_number_of_iterations_is_refused(iterations: int) -> None:
    text = str(derive("x", "SCRAM-SHA-256", b"salt", 1)).replace("1:", f"{iterations}:", 1)
    with pytest.raises(ValueError, match="iterations"):
        parse_verifier("SCRAM-SHA-256", text)


def test_a_file_that_is_not_there_or_no_mapping_is_a_problem(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "users.yaml"
    for text in (None, "[1, 2]", "a: ["):
        if text is not None:
            path.write_text(text)
        with pytest.raises(ConfigurationError):
            read_users(path)


def test_empty_names_and_passwords_are_refused() -> None:
    for call in (prepare_name, make_user):
        with pytest.raises(ValueError, match="empty"):
            call("\u00ad")


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(GatewayError, match="is no regular file"):
        write_users(pipe, {})
    assert pipe.is_fifo()
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize(
    "text", ["[" * 5000, "? [a]\n: b", "a: 2001-99-99", "a: 1\na: 2", "a: [b]", "5: {6: 7}", "a: 5"]
)
def test_what_is_no_users_file_is_told(text: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "users.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError):
        read_users(file)


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_an_empty_file_may_be_being_written_and_is_none_without_users(
    text: str, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "users.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_users(file)
    assert caught.value.problems == [
        (str(file), "is empty: for no users, write so in a comment"),
    ]
    file.write_text("# nobody\n")
    assert read_users(file) == {}


def test_a_user_that_stands_twice_by_another_spelling_is_told(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "users.yaml"
    write_users(file, {"dave": make_user("a", 10)})
    file.write_text(file.read_text() + file.read_text().replace("dave", "\uff44ave"))
    with pytest.raises(ConfigurationError) as caught:
        read_users(file)
    assert caught.value.problems == [
        (f"{file}: \uff44ave", "is user 'dave', who is there already"),
    ]
