"""Who had what count, and from where, is in the audit log."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
from typing import Any

import pytest
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address
from twisted.web.test.requesthelper import DummyRequest

from gateway.audit.reader import Segment, records, segment_paths
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.clients.client import Login
from gateway.config import Settings, load
from gateway.net.listening.users import User, make_user, write_users

OPERATOR = IPv4Address("TCP", "192.0.2.7", 4711)
JOE: dict[str, User] = {"joe": make_user("secret", iterations=4096)}


class Office:
    """A whole gateway with access rules, users and an admin token, and who changes them."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.data = directory / "data"
        self.rules, self.users = directory / "access.yaml", directory / "users.yaml"
        self.rules.write_text("rules: [{allow: all}]")
        write_users(self.users, JOE)
        (directory / "token").write_text("secret")
        self.changes = [
            f"access.file={self.rules}",
            f"users_file={self.users}",
            f"admin_token_file={directory / 'token'}",
            "admin=127.0.0.1:0",
            "listen.amqp=127.0.0.1:0",
            f"data_directory={self.data}",
            "store_reserve=0",
            'upstreams={"up": {"hosts": ["amqp://127.0.0.1:1"]}}',
            'nodes=[{"queue": "far", "upstream": "up"}]',
        ]
        self.whole = WholeGateway(self.data, *self.changes).start()
        self.service = self.whole.service
        self.service.read_again = self.read

    def read(self) -> Settings:
        return load(None, self.changes)

    def asks(self, command: str, **asked: str) -> None:
        """By `ctl`."""
        site: Any = self.whole.reactor.tcpServers[1][1].inner
        request: Any = DummyRequest([b"ctl", command.encode()])
        request.client = OPERATOR
        request.path = b"/ctl/" + command.encode()
        request.requestHeaders.addRawHeader(b"authorization", b"Bearer secret")
        request.content = io.BytesIO(json.dumps(asked).encode())
        site.resource.children[b"ctl"].render_POST(request)
        self.whole.run()
        assert (request.responseCode or 200) == 200, request.written

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What the audit log has of it, but for the start."""
        return [
            record
            for record in self.whole_log()
            if record["kind"] == kind and record.get("reason") not in (None, "queue-declared")
        ]

    def whole_log(self) -> list[dict[str, Any]]:
        self.whole.stop()
        return [
            record
            for path in segment_paths(self.data / "audit")
            for record in records(Segment(path.name, path.read_bytes()))
        ]


@pytest.fixture
def office(tmp_path: pathlib.Path) -> Office:
    return Office(tmp_path)


def who(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["rules"], record.get("actor"), record.get("address")


def test_the_start_says_what_counts(office: Office) -> None:
    found = [
        (record["rules"], record["sha256"], record["file"], record.get("actor"))
        for record in office.whole_log()
        if record["kind"] == "rules-changed"
    ]
    assert [(name, file, actor) for name, _, file, actor in found] == [
        ("configuration", "", None),
        ("users", str(office.users), None),
        ("access", str(office.rules), None),
    ]
    assert found[1][1] == hashlib.sha256(office.users.read_bytes()).hexdigest()


def test_rules_that_ctl_has_read_again_are_changed_by_its_operator_from_there(
    office: Office,
) -> None:
    office.rules.write_text("rules: [{allow: connect}]")
    office.asks("reload")
    assert [who(each) for each in office.log("rules-changed")] == [
        ("access", "operator by ctl", "192.0.2.7:4711")
    ]


def test_rules_that_a_signal_has_read_again_are_changed_by_that(office: Office) -> None:
    office.rules.write_text("rules: [{allow: connect}]")
    office.service.reload()
    office.whole.run()
    (change,) = office.log("rules-changed")
    assert who(change) == ("access", "operator by SIGHUP", None)
    assert change["reason"] == "operator"


def test_a_reload_of_what_is_as_before_is_no_change(office: Office) -> None:
    office.service.reload()
    office.whole.run()
    office.asks("reload")
    assert office.log("rules-changed") == []


def test_users_that_a_reload_reads_are_changed_by_who_asked_for_it(office: Office) -> None:
    write_users(office.users, JOE | {"ann": make_user("other", iterations=4096)})
    office.asks("reload")
    (change,) = office.log("rules-changed")
    assert who(change) == ("users", "operator by ctl", "192.0.2.7:4711")
    assert change["sha256"] == hashlib.sha256(office.users.read_bytes()).hexdigest()


def test_a_users_file_that_was_seen_to_be_another_was_changed_by_nobody_known(
    office: Office,
) -> None:
    write_users(office.users, JOE | {"ann": make_user("other", iterations=4096)})
    passwords = office.service.authentication.passwords
    assert passwords is not None
    before = passwords.digest
    office.whole.reactor.advance(5)
    office.whole.wait_until(lambda: passwords.digest != before)
    assert [who(each) for each in office.log("rules-changed")] == [("users", None, None)]


def test_other_users_are_in_the_log_before_the_first_that_logs_in(office: Office) -> None:
    write_users(office.users, {"ann": make_user("other", iterations=4096)})
    client = office.whole.connect_0_10(Login("ann", "other"))
    office.whole.result(client.ready())
    log = office.whole_log()
    (opened,) = [each for each in log if each["kind"] == "connection-opened"]
    changes = [each for each in log if each["kind"] == "rules-changed"]
    assert who(changes[-1]) == ("users", None, None)
    assert changes[-1]["sequence"] < opened["sequence"]


def test_what_ctl_changes_in_the_configuration_is_its_operators(office: Office) -> None:
    office.asks("pause", node="far")
    office.asks("resume", node="far")
    changes = office.log("rules-changed")
    assert [who(each) for each in changes] == 2 * [
        ("configuration", "operator by ctl", "192.0.2.7:4711")
    ]
    assert changes[0]["sha256"] != changes[1]["sha256"]


def test_a_subscription_that_ctl_assigns_is_assigned_by_its_operator(office: Office) -> None:
    host = office.service.bridge.default_host
    settings = QueueSettings(durable=True, subscriber=Subscriber("ann", "app", "sub"))
    host.declaring.make_queue("app.sub", settings, None)
    office.asks("assign", queue="app.sub", user="joe", container="app", link="sub")
    (assigned,) = office.log("topology")
    assert assigned["reason"] == "assigned"
    assert (assigned["actor"], assigned["address"]) == ("operator by ctl", "192.0.2.7:4711")
    assert "connection" not in assigned
    now, _, before = assigned["peer"].partition("; before: ")
    assert now == "user 'joe', container 'app', link 'sub'"
    assert before == "user 'ann', container 'app', link 'sub'"
