"""Whose connection ends with a reload, because they could not log in again as they have."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from support.whole_gateway import WholeGateway

from gateway.audit.reader import Segment, records, segment_paths
from gateway.clients.client import Client, Login
from gateway.config import Settings, load
from gateway.net.listening.users import User, make_user, write_users

ALICE = Login("alice", "secret")


class Office:
    """A gateway with a users file, which can be changed and read again."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.users = directory / "users.yaml"
        self.known: dict[str, User] = {}
        self.changes = [f"users_file={self.users}", "anonymous=true"]
        self.directory = directory
        for name in ("alice", "bob"):
            self.put(name, "secret")
        self.whole = WholeGateway(directory / "data", *self.changes).start()
        self.whole.service.read_again = self.read

    def read(self) -> Settings:
        given = ["listen.amqp=127.0.0.1:0", "admin=127.0.0.1:0", "store_reserve=0"]
        return load(None, [*given, f"data_directory={self.directory / 'data'}", *self.changes])

    def put(self, name: str, password: str | None) -> None:
        self.known.pop(name, None)
        if password is not None:
            made = make_user(password, 10)
            self.known[name] = {key: made[key] for key in ("SCRAM-SHA-256",)}
        write_users(self.users, self.known)

    def login(self, protocol: str, login: Login | None = None) -> Client:
        connect = self.whole.connect_0_10 if protocol == "0-10" else self.whole.connect_1_0
        counts = self.whole.service.authentication.accepted
        before = sum(counts.values())
        client: Client = connect(login)
        self.whole.wait_until(lambda: sum(counts.values()) > before)
        self.whole.result(client.ready())
        return client

    def reload(self) -> None:
        self.whole.service.reload()
        self.whole.run()

    def end_of(self, client: Client) -> str:
        """What it was told; "" while it lives."""
        lost: list[Any] = []
        client.lost().addErrback(lambda failure: lost.append(str(failure.value)))
        self.whole.run()
        return lost[0] if lost else ""


@pytest.fixture
def office(tmp_path: pathlib.Path) -> Office:
    return Office(tmp_path)


PROTOCOLS = pytest.mark.parametrize("protocol", ["0-10", "1.0"])


@PROTOCOLS
def test_a_removed_user_is_gone_with_the_reload_and_nobody_else(
    office: Office, protocol: str
) -> None:
    alice, bob = office.login(protocol, ALICE), office.login(protocol, Login("bob", "secret"))
    nobody = office.login(protocol)
    office.put("alice", None)
    assert office.end_of(alice) == ""
    office.reload()
    assert "the user was removed" in office.end_of(alice)
    assert [office.end_of(each) for each in (bob, nobody)] == ["", ""]


@PROTOCOLS
def test_a_changed_password_ends_who_came_with_the_old_one(office: Office, protocol: str) -> None:
    before = office.login(protocol, ALICE)
    office.put("alice", "another")
    after = office.login(protocol, Login("alice", "another"))  # the file is read again at a login
    office.reload()
    assert "the password was changed" in office.end_of(before)
    assert office.end_of(after) == ""


@PROTOCOLS
def test_a_reload_that_changes_no_user_ends_nobody(office: Office, protocol: str) -> None:
    alice, nobody = office.login(protocol, ALICE), office.login(protocol)
    office.reload()
    assert [office.end_of(each) for each in (alice, nobody)] == ["", ""]


@PROTOCOLS
def test_a_users_file_that_is_being_written_ends_nobody(office: Office, protocol: str) -> None:
    alice = office.login(protocol, ALICE)
    text = office.users.read_text()
    office.users.write_text("")
    office.reload()
    assert office.end_of(alice) == ""
    assert office.end_of(office.login(protocol, Login("bob", "secret"))) == ""
    office.users.write_text(text)
    office.reload()
    office.put("bob", None)
    office.put("alice", None)  # what that leaves says so itself
    office.reload()
    assert "the user was removed" in office.end_of(alice)


@PROTOCOLS
def test_who_came_without_a_login_goes_when_one_is_needed(office: Office, protocol: str) -> None:
    alice, nobody = office.login(protocol, ALICE), office.login(protocol)
    office.changes[1] = "anonymous=false"
    office.reload()
    assert "a login is needed" in office.end_of(nobody)
    assert office.end_of(alice) == ""


@pytest.mark.parametrize(
    ("protocol", "told"), [("0-10", "(320)"), ("1.0", "(amqp:unauthorized-access)")]
)
def test_it_is_told_by_the_code_of_its_protocol_and_recorded(
    office: Office, protocol: str, told: str
) -> None:
    alice = office.login(protocol, ALICE)
    office.put("alice", None)
    office.reload()
    assert told in office.end_of(alice)
    office.whole.stop()
    (closed,) = [
        record
        for path in segment_paths(office.directory / "data" / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
        if record["kind"] == "connection-closed"
    ]
    assert closed["reason"] == "rules-changed"
