"""`migrate survey`: what it asks for, what it writes and prints, and how it ends."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from support.verbs import amqp_gateway

from gateway.cli.migrate import survey as command
from gateway.clients.client import ClientError
from gateway.migration.document import Acl, Broker, Queue, Survey, read

FOUND = Survey(
    broker=Broker(address="old:5672", asked=["QMF"], product="qpid-cpp", version="1.40.0"),
    queues=[Queue(name="a\x1bb", arguments={"x-new": 1})],
    acl=Acl(at_broker="/etc/qpid/qpidd.acl"),
)


class Script:
    """Stands in for the conversations: keeps what they would have been about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: Survey | Exception = FOUND
        self.asked: list[Any] = []
        monkeypatch.setattr(command, "converse", lambda script: script(None))
        monkeypatch.setattr(command.management, "survey", lambda _, what: self.take(what))
        monkeypatch.setattr(command.broker_j, "survey", self.take)

    def take(self, what: Any) -> Survey:
        self.asked.append(what)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script(monkeypatch)


def test_the_document_is_written_and_what_differs_is_printed(
    script: Script, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "s.yaml"
    done = amqp_gateway("migrate", "survey", "--host", "old", "-o", str(file), "--queue", "q")
    assert done.exit_code == 0, done.output
    [what] = script.asked
    assert (what.where.host, what.where.port, what.queues) == ("old", 5672, ("q",))
    written = read(file.read_bytes(), "s.yaml")
    assert written.queues == FOUND.queues
    assert written.taken_at != ""
    assert [each.severity for each in written.findings] == ["differs", "note"]
    lines = done.output.splitlines()
    assert lines[0] == "old:5672: qpid-cpp 1.40.0, asked by QMF"
    assert lines[1].startswith("0 exchanges, 1 queues, 0 bindings")
    assert lines[2].startswith(" ! queue a\\x1bb: x-new")
    assert lines[3].startswith("   access rules /etc/qpid/qpidd.acl: are in force")


def test_json_and_standard_output_are_for_programs(script: Script, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "s.json"
    assert amqp_gateway("migrate", "survey", "-o", str(file)).exit_code == 0
    assert file.read_text().startswith("{\n")
    assert read(file.read_bytes(), "s.json").queues == FOUND.queues
    done = amqp_gateway("migrate", "survey", "-o", "-")
    assert read(done.stdout.encode(), "output").queues == FOUND.queues
    assert "qpid-cpp" in done.stderr


def test_a_file_of_rules_goes_into_the_document(script: Script, tmp_path: pathlib.Path) -> None:
    rules, file = tmp_path / "acl", tmp_path / "s.yaml"
    rules.write_text("acl allow all all\n")
    done = amqp_gateway("migrate", "survey", "--acl", str(rules), "-o", str(file))
    assert done.exit_code == 0, done.output
    given = Acl(at_broker="/etc/qpid/qpidd.acl", text="acl allow all all\n")
    assert read(file.read_bytes(), "s").acl == given
    assert amqp_gateway("migrate", "survey", "--acl", str(tmp_path / "none")).exit_code == 2


def test_a_broker_j_is_asked_by_its_rest(script: Script, tmp_path: pathlib.Path) -> None:
    rest = ["--rest", "http://old:8080", "--user", "admin", "--password-stdin"]
    where = ["-o", str(tmp_path / "s.yaml"), "--virtual-host", "orders"]
    done = amqp_gateway("migrate", "survey", *rest, *where, given="secret\n")
    assert done.exit_code == 0, done.output
    [what] = script.asked
    login = what.login
    assert (what.url, what.tls) == ("http://old:8080", None)
    assert (login.username, login.password, login.virtual_host) == ("admin", "secret", "orders")


def test_what_it_was_not_told_is_the_exit_code(script: Script, tmp_path: pathlib.Path) -> None:
    script.found = FOUND.model_copy(update={"not_asked": ["it has no QMF"]})
    done = amqp_gateway("migrate", "survey", "-o", str(tmp_path / "s.yaml"))
    assert done.exit_code == 1
    assert "the survey: is not whole: it has no QMF" in done.output


def test_a_broker_that_cannot_be_reached_is_one_line(
    script: Script, tmp_path: pathlib.Path
) -> None:
    script.found = ClientError("cannot connect to old:5672")
    done = amqp_gateway("migrate", "survey", "-o", str(tmp_path / "s.yaml"))
    assert (done.exit_code, done.output) == (1, "amqp-gateway: cannot connect to old:5672\n")
    assert not (tmp_path / "s.yaml").exists()


def test_a_file_of_authorities_that_is_none_is_refused(
    script: Script, tmp_path: pathlib.Path
) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("nothing")
    done = amqp_gateway("migrate", "survey", "--rest", "https://old", "--tls-ca", str(ca))
    assert done.exit_code == 2
    assert script.asked == []
