"""Nodes that rest and move between real brokers while clients of both protocols stay connected."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from interop.brokers.artemis import Artemis
from interop.brokers.broker import Broker
from interop.brokers.rabbitmq import RabbitMQ4
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess, command

from gateway.cli.ctl import Admin
from gateway.errors import GatewayError

PATIENCE_S = 60
TIMEOUT_S = 240  # a client ends when nothing comes for so long: it is ended before
LOAD = 6000
MORE = 200


class Between:
    """A gateway with two brokers behind it."""

    def __init__(self, directory: Path, artemis: Artemis, rabbitmq: Broker, queue: str) -> None:
        self.queue = queue
        self.artemis = artemis
        self.brokers: dict[str, Broker] = {"old": artemis, "new": rabbitmq}
        upstreams = {}
        for name, profile in (("old", "artemis"), ("new", "rabbitmq4")):
            broker = self.brokers[name]
            broker.create_queue(queue)
            directory.mkdir(parents=True, exist_ok=True)
            secret = directory / f"password-{name}"
            secret.write_text(broker.password)
            upstreams[name] = {
                "hosts": [f"amqp://127.0.0.1:{broker.port}"],
                "profile": profile,
                "username": broker.username,
                "password_file": str(secret),
            }
        self.token = directory / "token"
        self.token.write_text("let-me-in\n")
        self.gateway = GatewayProcess(
            directory,
            {
                "upstreams": upstreams,
                "nodes": [
                    {"queue": queue, "upstream": "old"},
                    {"exchange": "amq.topic", "upstream": "old"},
                    {"exchange": "nobody-has-this", "upstream": "old"},
                ],
                "admin_token_file": str(self.token),
                "switch_timeout": "20s",
                "drain_timeout": "2s",
            },
        )

    def admin(self) -> Admin:
        """The same as `ctl`, without a process of its own."""
        return Admin(f"127.0.0.1:{self.gateway.admin_port}", self.token)

    def switch(self, node: str, upstream: str) -> str:
        done: str = self.admin().ask("switch", {"node": node, "upstream": upstream})["done"]
        return done

    def upstreams(self) -> list[str | None]:
        """Where the nodes of each rule live."""
        return [rule["upstream"] for rule in self.admin().ask("status")["rules"]]

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        admin = f"http://127.0.0.1:{self.gateway.admin_port}"
        return self.gateway.tool(
            "ctl", "--admin", admin, "--token-file", str(self.token), *arguments
        )

    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.ctl("status", "--json").stdout)
        return told

    def client(self, verb: str, *arguments: str) -> subprocess.Popen[bytes]:
        """A client at work; what it says is in `said(verb)`, since a full pipe would stop it."""
        port = str(self.gateway.amqp_port)
        with (self.gateway.directory / verb).open("wb") as out:
            return subprocess.Popen(
                command(verb, *arguments, "--port", port, "--timeout", str(TIMEOUT_S)),
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def said(self, verb: str) -> str:
        return (self.gateway.directory / verb).read_text()

    def wait_until_sent(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        name = 'gateway_upstream_messages_total{direction="sent",upstream="%s"}'
        while time.monotonic() < deadline:
            metrics = self.gateway.metrics()
            if sum(metrics.get(name % each, 0) for each in self.brokers) >= count:
                return
        raise AssertionError(self.gateway.log())

    def wait_until_taken(self, upstream: str) -> None:
        """The client has settled all that is there: what it has not taken counts, too."""
        deadline = time.monotonic() + PATIENCE_S
        while self.brokers[upstream].queue_depth(self.queue):
            assert time.monotonic() < deadline, self.said("receive")[-500:] + self.gateway.log()

    def depths(self) -> int:
        return sum(broker.queue_depth(self.queue) for broker in self.brokers.values())


@pytest.fixture
def between(tmp_path: Path, artemis: Artemis, rabbitmq4: RabbitMQ4, name: str) -> Iterator[Between]:
    made = Between(tmp_path, artemis, rabbitmq4, name)
    with made.gateway:
        yield made


@pytest.mark.parametrize(("protocol", "means"), [("0-10", "ctl"), ("1.0", "SIGHUP")])
def test_a_queue_moves_under_load_and_nothing_is_lost(
    between: Between, protocol: str, means: str
) -> None:
    gateway = between.gateway
    sending = between.client(
        *("send", "--protocol", protocol, "--to", between.queue, "--durable"),
        *("--count", str(LOAD), "--body", "load-{n}"),
    )
    taking = between.client("receive", "--protocol", protocol, "--from", between.queue, "--json")
    between.wait_until_sent(LOAD // 10)
    if means == "ctl":
        done = between.ctl("switch", between.queue, "new")
        assert done.returncode == 0, done.stderr + gateway.log()
        assert between.status()["rules"][0]["changed_by_ctl"]
    else:
        file = gateway.directory / "gateway.yaml"
        config = yaml.safe_load(file.read_text())
        config["nodes"][0]["upstream"] = "new"
        file.write_text(yaml.safe_dump(config))
        gateway.signal(signal.SIGHUP)
        assert gateway.said("configuration reloaded"), gateway.log()
    assert between.status()["rules"][0]["upstream"] == "new"
    assert sending.wait(PATIENCE_S) == 0, between.said("send")
    # A fast client may have been done before the switch.
    more = between.client(
        *("send", "--protocol", protocol, "--to", between.queue, "--durable"),
        *("--count", str(MORE), "--body", "load-more-{n}"),
    )
    assert more.wait(PATIENCE_S) == 0, between.said("send")
    between.wait_until_taken("new")
    taking.terminate()
    taking.wait(PATIENCE_S)
    came = [line for line in between.said("receive").splitlines() if "load-" in line]
    assert len(came) + between.depths() == LOAD + MORE
    assert len(set(came)) == len(came)
    samples = gateway.metrics()
    moved = samples['gateway_upstream_messages_total{direction="received",upstream="new"}']
    assert moved >= MORE
    assert gateway.stop() == 0
    ledger_of(gateway.audit).assert_balanced()


def test_a_switch_to_where_something_is_missing_is_refused_and_says_what(
    between: Between,
) -> None:
    queue, new = between.queue, between.brokers["new"]
    new.delete_queue(queue)
    missing = between.ctl("switch", queue, "new")
    assert missing.returncode == 1
    assert f"new refuses queue '{queue}' of virtual host 'default' (/queues/{queue})" in (
        missing.stderr
    )
    with pytest.raises(GatewayError, match="new refuses exchange 'nobody-has-this'"):
        between.switch("nobody-has-this", "new")
    assert between.switch("amq.topic", "new") == "done"
    assert between.upstreams() == ["old", "new", "old"]
    new.create_queue(queue)
    assert between.switch(queue, "new").startswith(f"done; what old holds of {queue!r} stays there")
    new.delete_queue(queue)
    assert between.switch(queue, "old").startswith("done;")  # Artemis makes what is missing
    file = between.gateway.directory / "gateway.yaml"
    config = yaml.safe_load(file.read_text())
    config["nodes"][0]["upstream"] = "new"
    file.write_text(yaml.safe_dump(config))
    assert between.admin().ask("reload", {}) == {"done": "done"}
    refused = f"after a reload: new refuses queue '{queue}'"
    assert between.gateway.said(refused), between.gateway.log()
    number = str(uuid.uuid4())
    told = ("send", "--protocol", "0-10", "--to", queue, "--message-id", number, "--body", "x")
    assert between.client(*told).wait(PATIENCE_S) == 1, between.said("send")
    trace = between.gateway.tool("audit", "trace", number, str(between.gateway.audit)).stdout
    assert f"returned      {queue}, for new, upstream-refused" in trace, trace


def test_a_paused_queue_holds_its_publishers_until_it_is_resumed(between: Between) -> None:
    assert between.ctl("pause", between.queue).returncode == 0
    sending = between.client(
        "send", "--protocol", "0-10", "--to", between.queue, "--body", "x", "--durable"
    )
    deadline = time.monotonic() + PATIENCE_S
    while between.status()["rules"][0]["waiting"] == 0:
        assert time.monotonic() < deadline and sending.poll() is None
    assert between.depths() == 0
    assert between.ctl("resume", between.queue).returncode == 0
    assert sending.wait(PATIENCE_S) == 0, between.said("send")
    assert between.brokers["old"].queue_depth(between.queue) == 1


def test_check_says_what_is_there_and_what_is_missing(between: Between) -> None:
    file = between.gateway.directory / "gateway.yaml"
    config = yaml.safe_load(file.read_text())
    config["nodes"] = [{"queue": between.queue, "upstream": "new"}]
    file.write_text(yaml.safe_dump(config))
    done = between.gateway.tool("check", "--config", str(file), "--connect")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"queue {between.queue}: /queues/{between.queue}: found" in done.stdout
    assert "ActiveMQ" in done.stdout or "apache-activemq-artemis" in done.stdout
    config["nodes"].append({"queue": "nowhere-at-all", "upstream": "new"})
    file.write_text(yaml.safe_dump(config))
    done = between.gateway.tool("check", "--config", str(file), "--connect", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads(done.stdout)
    new = next(each for each in told["upstreams"] if each["name"] == "new")
    assert [node["state"] for node in new["nodes"]] == ["yes", "no"]
    assert "not-found" in new["nodes"][1]["problem"]
    answers = {
        upstream["name"]: {each["name"]: each["answered"] for each in upstream["abilities"]}
        for upstream in told["upstreams"]
    }
    able = ("transactions", "anonymous terminus", "nodes on request")
    assert [answers["old"][each] for each in able] == [True, True, True]
    assert [answers["new"][each] for each in able] == [False, True, False]
    assert all("PLAIN" in upstream["mechanisms"] for upstream in told["upstreams"])
    assert not any(upstream["stranger"] for upstream in told["upstreams"])
    config["upstreams"]["old"]["profile"] = "qpid-broker-j"
    config["nodes"].append({"queue": f"{between.queue}-elsewhere", "upstream": "old"})
    file.write_text(yaml.safe_dump(config))
    done = between.gateway.tool("check", "--config", str(file), "--connect")
    assert done.returncode == 1
    wrong = "it is not what profile qpid-broker-j is for: Apache Qpid Broker-J"
    assert f"!!   {wrong}; nothing was asked of it" in done.stdout
    assert "not asked: its address is by the profile of another broker" in done.stdout
    names = between.artemis.address_names()  # asking would have made it
    assert between.queue in names and f"{between.queue}-elsewhere" not in names
    config["upstreams"]["new"]["password_file"] = str(between.token)
    file.write_text(yaml.safe_dump(config))
    done = between.gateway.tool("check", "--config", str(file), "--connect")
    assert done.returncode == 1
    assert "new: cannot be reached" in done.stdout
