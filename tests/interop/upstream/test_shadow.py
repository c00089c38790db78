"""A real broker is the shadow of a local queue: it gets copies, and nobody else has part in it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from interop.brokers.artemis import Artemis
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess

COUNT = 20
PATIENCE_S = 60


def test_artemis_has_copies_of_what_consumers_of_the_gateway_get(
    tmp_path: Path, artemis: Artemis, name: str
) -> None:
    secret, token = tmp_path / "password", tmp_path / "token"
    secret.write_text(artemis.password)
    token.write_text("let-me-in\n")
    new = {
        "hosts": [f"amqp://127.0.0.1:{artemis.port}"],
        "profile": "artemis",
        "username": artemis.username,
        "password_file": str(secret),
    }
    settings = {
        "upstreams": {"new": new},
        "nodes": [{"queue": name, "upstream": None}],
        "virtual_hosts": [{"name": "default", "queues": [{"name": name}]}],
        "admin_token_file": str(token),
    }
    with GatewayProcess(tmp_path, settings) as gateway:

        def shadow(*words: str) -> str:
            admin = ("--admin", f"127.0.0.1:{gateway.admin_port}", "--token-file", str(token))
            done = gateway.tool("migrate", "shadow", *admin, *words)
            assert done.returncode == 0, done.stderr
            return done.stdout

        def send(count: int) -> None:
            sent = gateway.tool(
                *("send", "--to", name, "--port", str(gateway.amqp_port), "--durable"),
                *("--count", str(count), "--body", "{n}"),
            )
            assert sent.returncode == 0, sent.stderr

        shadow(name, "--to", "new/{queue}.trial")
        send(COUNT)
        deadline = time.monotonic() + PATIENCE_S
        while artemis.queue_depth(f"{name}.trial") < COUNT:
            assert time.monotonic() < deadline, gateway.log()
        told: dict[str, Any] = json.loads(shadow("--json"))
        assert told["copies"] == {"mirrored": COUNT, "dropped": 0}
        shadow(name, "--stop")
        send(1)
        taken = gateway.tool(
            *("receive", "--from", name, "--port", str(gateway.amqp_port)),
            *("--count", str(COUNT + 1)),
        )
        assert taken.returncode == 0, taken.stderr
        assert artemis.queue_depth(f"{name}.trial") == COUNT
        assert gateway.stop() == 0
    ledger_of(gateway.audit).assert_balanced()
