"""`check` and `serve`: what a configuration comes to, and how either ends."""

from __future__ import annotations

import json
import os
import pathlib
import threading
from typing import Any

import pytest
import yaml
from support.verbs import amqp_gateway

from gateway.cli import run
from gateway.errors import StartupError


def test_check_prints_what_a_configuration_comes_to(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("drain_timeout: 90s\n")
    done = amqp_gateway("check", "--config", str(file), "--set", "limits.links=5")
    assert done.exit_code == 0
    told = yaml.safe_load(done.output)
    assert (told["drain_timeout"], told["limits"]["links"]) == ("90s", 5)


def test_check_reports_all_problems_and_exits_with_2(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    users.write_text("alice: nonsense")
    done = amqp_gateway("check", "--set", "limits.links=0", "--set", "admin=x")
    assert done.exit_code == 2
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [
        "admin",
        "limits.links",
    ]
    assert amqp_gateway("check", "--set", f"users_file={users}").exit_code == 2


def test_check_lists_the_keys_and_the_schema() -> None:
    listed = amqp_gateway("check", "--keys").output
    assert "drain_timeout (duration, default 25s)" in listed
    assert "tls.certificate (path, required)" in listed
    assert "tls.client_ca (path)" in listed
    profiles = amqp_gateway("check", "--profiles").output
    assert "artemis\n    Apache ActiveMQ Artemis" in profiles
    assert "queue (template, default {queue})\n    The address of a queue" in profiles
    schema = json.loads(amqp_gateway("check", "--schema").output)
    assert "drain_timeout" in schema["properties"]


def test_serve_hands_the_settings_on_and_exits_as_the_service_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[Any] = []
    monkeypatch.setattr(run, "begin_logging", lambda *_, **__: None)
    monkeypatch.setattr(run, "run", lambda settings, _again, **_: served.append(settings) or 3)
    assert amqp_gateway("serve", "--set", "limits.links=5").exit_code == 3
    assert served[0].limits.links == 5

    def cannot(_settings: object, _read_again: object, **_: object) -> int:
        raise StartupError("cannot listen on 127.0.0.1:5672: Address already in use")

    monkeypatch.setattr(run, "run", cannot)
    done = amqp_gateway("serve")
    assert done.exit_code == 1
    assert done.stderr == "amqp-gateway: cannot listen on 127.0.0.1:5672: Address already in use\n"
    assert amqp_gateway("serve", "--set", "admin=0.0.0.0:1").exit_code == 2


WRONG_FILES = {
    "[" * 5000: "nested deeper",
    "? [a]\n: b": "a key must be a word at line 1",
    "admin: 2001-99-99": "no value of timestamp at line 1, column 8",
    "listen: \0": "the character U+0000 is not allowed, at line 1, column 9",
    "admin: 127.0.0.1:0\nadmin: 127.0.0.1:1": "admin: stands twice (line 2)",
    "users_file: '~nobody/x'": "users_file: there is no file",
    f"users_file: {'x' * 300}": "users_file: there is no file",
    'data_directory: "a\\0b"': "a NUL character at line 1, column 17",
    "limits: {links: .nan}": "limits.links: must be",
    "": "is empty",
}


@pytest.mark.parametrize("text", WRONG_FILES, ids=lambda text: text[:12])
def test_a_configuration_that_cannot_be_read_is_told(text: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    done = amqp_gateway("check", "--config", str(file))
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    assert WRONG_FILES[text] in done.stderr


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/full"])
def test_a_configuration_without_end_is_too_large(file: str) -> None:
    done = amqp_gateway("check", "--config", file)
    assert (done.exit_code, done.stderr) == (2, f"{file}: is larger than 4194304 octets\n")


def test_a_configuration_may_come_by_a_pipe(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("drain_timeout: 90s\n",))
    writer.start()
    done = amqp_gateway("check", "--config", str(pipe))
    writer.join()
    assert (done.exit_code, yaml.safe_load(done.stdout)["drain_timeout"]) == (0, "90s")


def test_check_tells_of_all_files_at_once(tmp_path: pathlib.Path) -> None:
    for name in ("certificate", "key", "users", "access"):
        (tmp_path / name).write_text("nothing of the kind")
    changes = [
        f"tls.certificate={tmp_path}/certificate",
        f"tls.key={tmp_path}/key",
        f"users_file={tmp_path}/users",
        f"access.file={tmp_path}/access",
    ]
    done = amqp_gateway("check", *(part for each in changes for part in ("--set", each)))
    assert done.exit_code == 2
    keys = [line.partition(": ")[0] for line in done.stderr.splitlines()]
    assert keys == ["tls.certificate", f"{tmp_path}/access", f"{tmp_path}/users"]
