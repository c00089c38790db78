"""What real clients hear when access rules let them, and when they do not; a reload by a signal."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Iterator

import pytest
from interop.foreign import PASSWORD, USER, Client
from support.gateway_process import GatewayProcess

ALICE = {"user": USER, "password": PASSWORD}
CREATE = "{name}; {{create: always, node: {{type: queue}}}}"
RULES = f"""
rules:
  - allow: connect
  - {{allow: [create, publish, consume], users: {USER}, queue: mine.*}}
  - {{allow: publish, queue: open.*}}
  - {{allow: publish, users: {USER}, exchange: amq.topic, key: news.#}}
  - {{allow: [create, consume], temporary: true}}
  - {{allow: bind, exchange: amq.topic, key: news.#}}
"""
BODY = {"body": ["binary", "00"]}


class Ruled:
    """A gateway with these rules, and their file."""

    def __init__(self, gateway: GatewayProcess, file: pathlib.Path) -> None:
        self.gateway = gateway
        self.port = gateway.amqp_port
        self.file = file


@pytest.fixture
def ruled(tmp_path: pathlib.Path) -> Iterator[Ruled]:
    users, file = tmp_path / "users.yaml", tmp_path / "access.yaml"
    file.write_text(RULES)
    made = GatewayProcess(
        tmp_path, {"users_file": str(users), "anonymous": True, "access": {"file": str(file)}}
    )
    added = made.tool("user", "add", "--file", str(users), "--password-stdin", USER, given=PASSWORD)
    assert added.returncode == 0, added.stderr
    with made as running:
        yield Ruled(running, file)


def refused(client: Client, verb: str, port: int, address: str, **options: str) -> str:
    """What a client says whose verb is refused."""
    said = client.start(verb, port, [BODY], address=address, **options).finish()
    assert said.errors, said
    return str(said.errors)


def test_a_0_10_client_does_what_it_may_and_hears_why_it_may_not(
    qpid_python: Client, ruled: Ruled
) -> None:
    address = CREATE.format(name="mine.1")
    qpid_python.run("send", ruled.port, [BODY], address=address, **ALICE)
    assert len(qpid_python.run("receive", ruled.port, address="mine.1", **ALICE).received) == 1
    told = refused(qpid_python, "send", ruled.port, CREATE.format(name="other"), **ALICE)
    assert "unauthorized-access" in told or "403" in told
    told = refused(qpid_python, "receive", ruled.port, "mine.1")
    assert "a client without a login may not" in told


def test_a_1_0_client_does_what_it_may_and_hears_why_it_may_not(
    qpid_python: Client, proton: Client, ruled: Ruled
) -> None:
    address = CREATE.format(name="mine.1")
    qpid_python.run("send", ruled.port, [], address=address, **ALICE)
    proton.run("send", ruled.port, [BODY], address="mine.1", **ALICE)
    assert len(proton.run("receive", ruled.port, address="mine.1", **ALICE).received) == 1
    told = refused(proton, "receive", ruled.port, "mine.1")
    assert "amqp:unauthorized-access" in told
    assert "a client without a login may not consume queue 'mine.1'" in told
    told = refused(proton, "send", ruled.port, "mine.1")
    assert "a client without a login may not publish queue 'mine.1'" in told


def test_each_key_decides_for_itself(proton: Client, ruled: Ruled) -> None:
    waiting = proton.start("receive", ruled.port, address="amq.topic/news.de")
    waiting.until("ready")
    proton.run("send", ruled.port, [BODY | {"subject": "news.de"}], address="amq.topic", **ALICE)
    assert len(waiting.finish().without_error().received) == 1
    other = BODY | {"subject": "weather"}
    said = proton.start("send", ruled.port, [other], address="amq.topic", **ALICE).finish()
    assert "may not publish exchange 'amq.topic', key 'weather'" in str(said.events)


def test_a_reload_ends_what_is_no_longer_allowed(proton: Client, ruled: Ruled) -> None:
    waiting = proton.start("receive", ruled.port, address="amq.topic/news.de")
    waiting.until("ready")
    ruled.file.write_text("rules: [{allow: connect}]")
    ruled.gateway.signal(signal.SIGHUP)
    assert "amqp:unauthorized-access" in str(waiting.finish().errors)
    assert ruled.gateway.said("denied by no rule fits")
    assert ruled.gateway.metrics()['gateway_access_refused_total{action="consume"}'] == 1
