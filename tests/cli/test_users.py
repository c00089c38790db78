"""`user`: who is in the file of users, and with which passwords."""

from __future__ import annotations

import os
import pathlib
import stat

import pytest
from click.testing import Result
from support.verbs import amqp_gateway

from gateway.net.listening.users import ITERATIONS, read_users


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for mechanism in ITERATIONS:
        monkeypatch.setitem(ITERATIONS, mechanism, 10)


def user(*arguments: str, given: str | bytes = "") -> Result:
    return amqp_gateway("user", *arguments, given=given)


def test_users_are_added_changed_listed_and_removed(tmp_path: pathlib.Path) -> None:
    file = ["--file", str(tmp_path / "users.yaml")]
    added = user("add", *file, "--password-stdin", "alice", given="secret\n")
    assert (added.exit_code, added.output) == (0, f"alice: added in {file[1]}\n")
    first = read_users(pathlib.Path(file[1]))["alice"]["SCRAM-SHA-256"]
    assert first.check("secret")
    prompted = user("add", *file, "alice", given="new\nnew\n")
    assert "password changed" in prompted.output
    assert "new" not in prompted.output.replace("renewed", "").splitlines()
    assert read_users(pathlib.Path(file[1]))["alice"]["SCRAM-SHA-256"].check("new")
    assert user("list", *file).output == "alice  SCRAM-SHA-256, SCRAM-SHA-512\n"
    assert user("remove", *file, "alice").exit_code == 0
    again = user("remove", *file, "alice")
    assert (again.exit_code, again.stderr) == (1, f"amqp-gateway: {file[1]} has no user alice\n")


@pytest.mark.parametrize(("name", "password"), [("", "x"), ("alice", ""), ("al\u0007", "x")])
def test_names_and_passwords_that_cannot_be_used_are_wrong_arguments(
    name: str, password: str, tmp_path: pathlib.Path
) -> None:
    file = str(tmp_path / "users.yaml")
    done = user("add", "-f", file, "--password-stdin", name, given=password)
    assert done.exit_code == 2
    assert not pathlib.Path(file).exists()


def test_a_password_is_changed_and_the_file_stays_who_can_read_it(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "users.yaml"
    user("add", "-f", str(file), "--password-stdin", "alice", given="old")
    user("add", "-f", str(file), "--password-stdin", "bob", given="his")
    file.chmod(0o640)
    bob = read_users(file)["bob"]
    done = user("password", "-f", str(file), "--password-stdin", "alice", given="new\n")
    assert (done.exit_code, done.output) == (
        0,
        f"alice: password changed in {file}; a reload ends connections with the old one\n",
    )
    users = read_users(file)
    assert users["bob"] == bob
    assert [each.check("new") for each in users["alice"].values()] == [True, True]
    assert [each.check("old") for each in users["alice"].values()] == [False, False]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_it_is_asked_for_twice(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "users.yaml"
    user("add", "-f", str(file), "--password-stdin", "alice", given="old")
    assert user("password", "-f", str(file), "alice", given="new\nnew\n").exit_code == 0
    assert read_users(file)["alice"]["SCRAM-SHA-256"].check("new")


def test_a_user_that_there_is_not_is_not_made(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "users.yaml"
    user("add", "-f", str(file), "--password-stdin", "alice", given="old")
    done = user("password", "-f", str(file), "--password-stdin", "bob", given="new")
    assert (done.exit_code, done.output) == (1, f"amqp-gateway: {file} has no user bob\n")
    assert list(read_users(file)) == ["alice"]
    empty = user("password", "-f", str(file), "--password-stdin", "alice", given="")
    assert empty.exit_code == 2


@pytest.mark.parametrize("command", ["password", "add", "remove"])
def test_a_file_that_others_can_use_is_taken_from_them(
    tmp_path: pathlib.Path, command: str
) -> None:
    file = tmp_path / "users.yaml"
    user("add", "-f", str(file), "--password-stdin", "alice", given="old")
    file.chmod(0o666)
    options = [] if command == "remove" else ["--password-stdin"]
    done = user(command, "-f", str(file), *options, "alice", given="new")
    assert done.exit_code == 0
    assert "other users of this machine could use it (mode 666)" in done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o666)
    before = pipe.stat()
    for verb in ("add", "password", "remove"):
        given = () if verb == "remove" else ("--password-stdin",)
        done = user(verb, "-f", str(pipe), *given, "alice", given="new")
        assert done.exit_code == 2
        assert done.stderr == f"{pipe}: is no regular file\n"
    assert (pipe.stat().st_ino, pipe.stat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("given", ["x" * 70_000, b"\xff"])
def test_a_password_is_text_and_ends(given: str | bytes, tmp_path: pathlib.Path) -> None:
    done = user("add", "-f", str(tmp_path / "users"), "--password-stdin", "alice", given=given)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("Error: the password is ")


def test_the_first_user_is_added_to_a_file_that_was_just_made(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "users.yaml"
    file.touch()
    added = user("add", "-f", str(file), "--password-stdin", "alice", given="new")
    assert (added.exit_code, list(read_users(file))) == (0, ["alice"])
    assert user("remove", "-f", str(file), "alice").exit_code == 0
    assert read_users(file) == {}
    file.write_text("")
    assert user("list", "-f", str(file)).exit_code == 2


def kinds(file: pathlib.Path) -> dict[str, set[str]]:
    """The mechanisms of each user that are not SCRAM's."""
    users = read_users(file).items()
    return {name: {each for each in user if "SCRAM" not in each} for name, user in users}


def test_verifiers_for_old_mechanisms_are_made_where_they_are_asked_for_and_kept(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "users.yaml"
    common = ["-f", str(file), "--password-stdin"]
    old = ["--legacy", "CRAM-MD5", "--legacy", "DIGEST-MD5", "--realm", "bank"]
    user("add", *common, *old, "alice", given="old")
    user("add", *common, "bob", given="his")
    assert kinds(file) == {"alice": {"CRAM-MD5", "DIGEST-MD5"}, "bob": set()}
    first = read_users(file)["alice"]["DIGEST-MD5"]
    assert first.realm == "bank"
    user("password", *common, "alice", given="new")
    assert kinds(file)["alice"] == {"CRAM-MD5", "DIGEST-MD5"}
    second = read_users(file)["alice"]["DIGEST-MD5"]
    assert second.realm == "bank"
    assert second.secret != first.secret
    assert "CRAM-MD5, DIGEST-MD5, SCRAM-SHA-256" in user("list", "-f", str(file)).output
    user("password", *common, "--legacy", "CRAM-MD5-HASHED", "alice", given="new")
    assert kinds(file)["alice"] == {"CRAM-MD5-HASHED"}
    user("password", *common, "--no-legacy", "alice", given="new")
    assert kinds(file)["alice"] == set()


@pytest.mark.parametrize(
    "options",
    [
        ["--legacy", "LOGIN"],
        ["--legacy", "CRAM-MD5", "--no-legacy"],
        ["--legacy", "DIGEST-MD5", "--realm", 'a"b'],
    ],
)
def test_what_cannot_be_asked_for_is_a_wrong_argument(
    options: list[str], tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "users.yaml"
    done = user("add", "-f", str(file), "--password-stdin", *options, "alice", given="x")
    assert done.exit_code == 2
    assert not file.exists()
