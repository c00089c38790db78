"""What an operator sees while real brokers come and go, by the commands that there are."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from interop.brokers.artemis import Artemis
from interop.brokers.rabbitmq import RabbitMQ4
from interop.upstream.talk import BROWSE, RefusedError, Talk
from support.gateway_process import GatewayProcess

from gateway.amqp_0_10 import _spec as spec
from gateway.cli.ctl import Admin

Told = dict[str, Any]  # Any: what JSON holds

PATIENCE_S = 60


class Desk:
    """A gateway in front of two brokers, with a rule for each, and a spool in front of one."""

    def __init__(self, directory: Path, rabbitmq: RabbitMQ4, artemis: Artemis) -> None:
        self.name = f"desk-{uuid.uuid4().hex[:8]}"
        upstreams = {}
        directory.mkdir(parents=True, exist_ok=True)
        for broker, profile in ((rabbitmq, "rabbitmq4"), (artemis, "artemis")):
            secret = directory / f"password-{profile}"
            secret.write_text(broker.password)
            upstreams[profile] = {
                "hosts": [f"amqp://127.0.0.1:{broker.port}"],
                "profile": profile,
                "username": broker.username,
                "password_file": str(secret),
                "back_off": {"initial": "200ms", "maximum": "1s"},
            }
        self.token = directory / "token"
        self.token.write_text("let-me-in\n")
        rules = [
            {"queue": f"{self.name}.spool", "upstream": "rabbitmq4", "spool": True},
            {"queue": f"{self.name}.*", "upstream": "rabbitmq4"},
            {"queue": "other", "upstream": "artemis", "paused": True},
        ]
        config = {"upstreams": upstreams, "nodes": rules, "admin_token_file": str(self.token)}
        self.gateway = GatewayProcess(directory, config | {"drain_timeout": "1s"})

    @property
    def admin(self) -> str:
        return f"http://127.0.0.1:{self.gateway.admin_port}"

    def status(self) -> list[str]:
        """As it is shown."""
        done = self.gateway.tool(
            "ctl", "--admin", self.admin, "--token-file", str(self.token), "status"
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def comes_to(self, wanted: Callable[[Told], bool], name: str) -> Told:
        """What is told of an upstream once it is as it is wanted."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            upstreams = Admin(self.admin, self.token).ask("status")["upstreams"]
            (told,) = [each for each in upstreams if each["name"] == name]
            if wanted(told):
                return dict(told)
            assert time.monotonic() < deadline, told

    def used(self) -> dict[str, int]:
        """What `audit features` tells of clients, and how often."""
        done = self.gateway.tool("audit", "features", "--json", str(self.gateway.audit))
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(line["client"].endswith("from 127.0.0.1") for line in lines)
        return {line["feature"]: line["uses"] for line in lines}


@pytest.fixture
def desk(tmp_path: Path, rabbitmq4: RabbitMQ4, artemis: Artemis) -> Iterator[Desk]:
    made = Desk(tmp_path, rabbitmq4, artemis)
    for queue in ("spool", "far"):
        rabbitmq4.create_queue(f"{made.name}.{queue}")
    with made.gateway:
        yield made
    if not rabbitmq4.running:
        rabbitmq4.start()


def test_the_status_tells_of_an_outage_while_it_lasts_and_of_its_end(
    desk: Desk, rabbitmq4: RabbitMQ4
) -> None:
    desk.comes_to(lambda told: told["state"] == "up" and told["paused"] == 1, "artemis")
    told = desk.comes_to(lambda told: bool(told["state"] == "up"), "rabbitmq4")
    assert told["host"] == f"amqp://127.0.0.1:{rabbitmq4.port}"
    rabbitmq4.kill()
    talk = Talk(desk.gateway.amqp_port)
    talk.puts(f"{desk.name}.spool", b"1", b"2")
    waiting = talk.publishes(f"{desk.name}.far", b"3")
    told = desk.comes_to(
        lambda told: told["failed_tries"] >= 3 and told["next_try"] and told["held"], "rabbitmq4"
    )
    assert (told["state"], told["held"], told["spooled"], told["host"]) == ("down", 1, 2, "")
    assert "refused" in told["last_error"]
    assert told["next_try_in_s"] <= 15
    shown = desk.status()
    facts = [line for line in shown if line.startswith("  rabbitmq4: ")]
    assert re.search("tries in a row have failed; (the next is in|it is tried now)", facts[0])
    assert not any(line.startswith("  artemis: ") for line in shown)
    samples = desk.gateway.metrics()
    assert samples['gateway_upstream_down_seconds{upstream="rabbitmq4"}'] > 0
    assert samples['gateway_upstream_down_seconds{upstream="artemis"}'] == 0
    assert samples['gateway_upstream_held_messages{upstream="rabbitmq4"}'] == 1
    rabbitmq4.start()
    told = desk.comes_to(
        lambda told: told["state"] == "up" and told["held"] + told["spooled"] == 0, "rabbitmq4"
    )
    talk.completes(waiting)
    assert told["failed_tries"] == 0
    talk.detach()


def test_the_audit_log_names_who_uses_what_an_upstream_does_not_offer(desk: Desk) -> None:
    port, far = desk.gateway.amqp_port, f"{desk.name}.far"
    for _ in range(2):
        browser = Talk(port)
        with pytest.raises(RefusedError, match="540"):
            browser.subscribes(far, acquire=BROWSE)
    selecting = Talk(port)
    with pytest.raises(RefusedError, match="540"):
        selecting.does(spec.TxSelect())
        selecting.puts(far, b"in a transaction")
    distributed = Talk(port)
    with pytest.raises(RefusedError, match="540"):
        xid = spec.Xid(format=1, global_id=b"x", branch_id=b"b")
        distributed.does(spec.DtxSelect())
        distributed.does(spec.DtxStart(xid=xid))
        distributed.puts(far, b"in a branch")
    for talk in (browser, selecting, distributed):
        talk.detach()
    assert desk.gateway.stop() == 0
    used = desk.used()
    assert used.pop("dtx") == 1
    assert sorted(used.values()) == [1, 2]
    assert all("upstream rabbitmq4" in text for text in used)
    shown = desk.gateway.tool("audit", "features", str(desk.gateway.audit)).stdout
    assert "anonymous: from 127.0.0.1" in shown
