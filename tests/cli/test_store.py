"""`store check` and `store list`: what they print, and by which exit code they end."""

from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from support.stopped import filled, traces
from support.verbs import amqp_gateway
from support.whole_gateway import WholeGateway

from gateway.clients.letter import Letter, Typed


def damaged(directory: Path) -> Path:
    """One row of the log is not as it was written."""
    database = sqlite3.connect(directory / "store.sqlite")
    spoilt = "UPDATE log SET body = zeroblob(40) WHERE number = (SELECT min(number) FROM log)"
    database.execute(spoilt)
    database.commit()
    database.close()
    return directory


def test_a_whole_store_is_whole(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    before = traces(data)
    checked = amqp_gateway("store", "check", str(data))
    assert checked.exit_code == 0
    assert checked.output.splitlines()[-1] == "whole"
    assert "3 messages in queues" in checked.output
    assert traces(data) == before


def test_each_problem_is_a_line_with_its_key(tmp_path: Path) -> None:
    checked = amqp_gateway("store", "check", str(damaged(filled(tmp_path / "data", 3))))
    assert checked.exit_code == 1
    assert checked.output.startswith("ROW row ")
    assert checked.output.splitlines()[-1] == "1 problems"


@pytest.mark.parametrize("command", [("check",), ("list",), ("export", "--out", "-")])
def test_a_store_that_is_used_is_refused_in_one_line(tmp_path: Path, command: list[str]) -> None:
    gateway = WholeGateway(tmp_path / "data").start()
    told = amqp_gateway("store", *command, str(tmp_path / "data"))
    gateway.stop()
    assert told.exit_code == (3 if command[0] == "check" else 1)
    assert told.stderr.count("\n") == 1
    assert f"a gateway is using {tmp_path}/data" in told.stderr


def test_an_output_that_ends_early_ends_the_list_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path / "data", 3)
    written: list[str] = []
    complaints: list[object] = []

    def echo(text: str, err: bool = False) -> None:
        written.append(text)
        if len(written) == 2:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("gateway.cli.store.click.echo", echo)
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    told = amqp_gateway("store", "list", str(data), "--queue", "orders")
    del told
    gc.collect()
    assert len(written) == 2
    assert complaints == []


@pytest.mark.parametrize("command", [("check",), ("list",), ("export", "--out", "-"), ("compact",)])
def test_what_is_no_data_directory_is_told_in_one_line(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "foreign").mkdir()
    sqlite3.connect(tmp_path / "foreign" / "store.sqlite").execute("CREATE TABLE t (a)").close()
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "store.sqlite")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("none", "file", "foreign", "pipe", "loop", "."):
        told = amqp_gateway("store", *command, str(tmp_path / name))
        assert told.exit_code == (3 if command[0] == "check" else 1), name
        assert told.stderr.count("\n") == 1, told.stderr
        assert told.exception is None or isinstance(told.exception, SystemExit)


def test_what_may_not_be_read_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(directory: Path) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", str(directory))

    monkeypatch.setattr("gateway.offline.directory.os.listdir", refuse)  # root may read all
    told = amqp_gateway("store", "check", str(tmp_path))
    assert (told.exit_code, told.stderr) == (3, f"store check: {tmp_path}: Permission denied\n")


def test_queues_are_shown_with_what_they_hold(tmp_path: Path) -> None:
    shown = amqp_gateway("store", "list", str(filled(tmp_path / "data", 3)))
    assert shown.exit_code == 0
    lines = [line.split() for line in shown.output.splitlines()]
    assert lines[0] == ["virtual", "hosts:", "default"]
    assert ["orders", "3", "132", "2023-11-14T22:13:20.000Z", "default"] in lines


def test_messages_of_a_queue_are_a_line_each_in_its_order(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3, priority=7, message_id="0" * 32, correlation_id="c-1")
    shown = amqp_gateway("store", "list", "--queue", "orders", str(data))
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert len(lines) == 3
    assert [int(line.split()[0]) for line in lines] == sorted(
        int(line.split()[0]) for line in lines
    )
    for said in ("priority 7", "correlation-id c-1", "key orders", "0-10", "arrived 2023-11-14"):
        assert all(said in line for line in lines)


def test_json_has_an_object_a_line(tmp_path: Path) -> None:
    data = str(filled(tmp_path / "data", 2, ttl_ms=1_000_000))
    nodes = [json.loads(line) for line in _lines("--json", data)]
    (queue,) = [each for each in nodes if each["type"] == "queue"]
    assert (queue["name"], queue["messages"], queue["octets"]) == ("orders", 2, 104)
    messages = [json.loads(line) for line in _lines("--json", "--queue", "orders", data)]
    assert [each["type"] for each in messages] == ["message", "message"]
    assert messages[0]["ttl_ms"] == 1_000_000
    assert messages[0]["expires"] == "2023-11-14T22:30:00.000Z"
    assert (messages[0]["redelivered"], messages[0]["delivery_count"]) == (False, 0)


def _lines(*arguments: str) -> list[str]:
    shown = amqp_gateway("store", "list", *arguments)
    assert shown.exit_code == 0
    return shown.output.splitlines()


def test_names_that_a_terminal_would_obey_are_escaped(tmp_path: Path) -> None:
    evil = "red\x1b[31m\r\nowned\u202e"
    gateway = WholeGateway(tmp_path / "data").start()
    client = gateway.connect_0_10()
    gateway.result(client.declare_queue(evil, durable=True))
    letter = Letter(body=Typed("string", "x"), durable=True, correlation_id=evil)
    gateway.result(client.send(evil, letter))
    gateway.stop()
    shown = [
        amqp_gateway("store", *command, str(tmp_path / "data")).output
        for command in (
            ("list",),
            ("list", "--json"),
            ("list", "--queue", evil),
            ("list", "--queue", evil, "--json"),
            ("export", "--out", "-"),
        )
    ]
    for text in shown:
        assert "owned" in text
        assert all(each.isprintable() for line in text.split("\n") for each in line)


def test_a_queue_that_is_not_there_is_told(tmp_path: Path) -> None:
    data = str(filled(tmp_path / "data", 1))
    told = amqp_gateway("store", "list", "--queue", "bills", data)
    assert (told.exit_code, told.stderr) == (1, "amqp-gateway: there is no queue 'bills'\n")
    told = amqp_gateway("store", "list", "--queue", "orders", "--virtual-host", "other", data)
    assert told.stderr == "amqp-gateway: there is no queue 'orders' in 'other'\n"


def test_of_a_damaged_store_what_can_be_read_is_shown_and_the_rest_told(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    whole = amqp_gateway("store", "list", "--queue", "orders", str(data)).output.splitlines()
    shown = amqp_gateway("store", "list", "--queue", "orders", str(damaged(data)))
    assert shown.exit_code == 1
    assert shown.stdout.splitlines() == whole[1:]
    assert shown.stderr.startswith("not read: row ")


def test_a_directory_that_cannot_be_written_is_read_as_any(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 2)
    shutil.copytree(data, tmp_path / "copy")
    (tmp_path / "copy" / "lock").unlink()
    for path in (tmp_path / "copy", *(tmp_path / "copy").rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    before = traces(tmp_path / "copy")
    assert amqp_gateway("store", "check", str(tmp_path / "copy")).exit_code == 0
    assert amqp_gateway("store", "list", str(tmp_path / "copy")).exit_code == 0
    assert traces(tmp_path / "copy") == before
    for path in ((tmp_path / "copy"), (tmp_path / "copy" / "audit")):
        path.chmod(0o700)
