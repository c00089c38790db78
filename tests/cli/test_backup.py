"""`backup`: what it asks the admin port for."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

import pytest
from support.verbs import amqp_gateway

from gateway.cli import ctl


def test_backup_asks_for_a_directory_that_the_gateway_can_find(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    asked: list[Any] = []

    def answer(request: Any, timeout: float, **tls: object) -> Any:
        asked.append((request.full_url, json.loads(request.data)))
        return io.BytesIO(json.dumps({"done": "done"}).encode())

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answer)
    monkeypatch.chdir(tmp_path)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("backup", "--token-file", str(token), "copy")
    assert (done.exit_code, done.output) == (0, "done\n")
    wanted = {"directory": str(tmp_path / "copy")}
    assert asked == [("http://127.0.0.1:9672/ctl/backup", wanted)]
    assert amqp_gateway("backup", "copy").exit_code == 2
