"""`store export`, `import` and `compact`: files, exit codes, what is printed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.stopped import filled, held, traces
from support.verbs import amqp_gateway
from support.whole_gateway import WholeGateway


def test_what_is_exported_comes_into_another_gateway(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    before = traces(data)
    done = amqp_gateway("store", "export", "--out", str(tmp_path / "all"), str(data))
    assert (done.exit_code, done.output[:24]) == (0, "3 messages, 132 octets, ")
    assert traces(data) == before
    assert (tmp_path / "all").stat().st_mode & 0o077 == 0
    brought = amqp_gateway("store", "import", str(tmp_path / "all"), str(tmp_path / "new"))
    assert brought.exit_code == 0
    assert brought.output.startswith("3 messages, 132 octets; 1 queues and exchanges made; sha256")
    assert held(tmp_path / "new") == {"orders": 3}


def test_standard_output_and_input_are_an_export_too(tmp_path: Path) -> None:
    done = amqp_gateway("store", "export", "--out", "-", str(filled(tmp_path / "data", 2)))
    assert done.exit_code == 0
    assert done.stderr.startswith("2 messages, 88 octets, ")
    told = amqp_gateway("store", "import", "-", str(tmp_path / "new"), given=done.stdout)
    assert told.exit_code == 0
    assert held(tmp_path / "new") == {"orders": 2}


def test_a_file_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "all").write_text("mine")
    done = amqp_gateway(
        "store", "export", "--out", str(tmp_path / "all"), str(filled(tmp_path / "data", 1))
    )
    assert (done.exit_code, done.stderr) == (1, f"amqp-gateway: {tmp_path}/all is there already\n")
    assert (tmp_path / "all").read_text() == "mine"


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    data = str(filled(tmp_path / "data", 1))
    names = set(tmp_path.iterdir())
    for out, queue in (("all", "bills"), ("none/all", "orders")):
        done = amqp_gateway("store", "export", "--out", str(tmp_path / out), "-q", queue, data)
        assert done.exit_code == 1
        assert done.stderr.count("\n") == 1
    assert set(tmp_path.iterdir()) == names


def test_only_what_is_wanted_is_exported(tmp_path: Path) -> None:
    gateway = WholeGateway(filled(tmp_path / "data", 2)).start()
    client = gateway.connect_0_10()
    gateway.result(client.declare_queue("other", durable=True))
    gateway.stop()
    data = str(tmp_path / "data")

    def lines(*options: str) -> list[tuple[str, str]]:
        done = amqp_gateway("store", "export", "--out", "-", *options, data)
        assert done.exit_code == 0
        read = [json.loads(line) for line in done.stdout.splitlines()]
        return [(each["type"], each.get("name", "")) for each in read[1:-1]]

    row, message = ("topology", "orders"), ("message", "")
    assert lines("--queue", "orders") == [row, message, message]
    assert lines("--queue", "other") == [("topology", "other")]
    assert lines("-q", "orders", "--since", "2023-11-14T22:13:21") == [row]
    assert lines("-q", "orders", "--until", "2023-11-14T22:13:20") == [row]
    assert lines("-q", "orders", "--since", "2023-11-14T22:13:20") == [row, message, message]
    assert lines("--virtual-host", "elsewhere") == []


def test_people_and_programs_can_read_a_message_of_it(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1, priority=3, content_type="text/plain")
    done = amqp_gateway("store", "export", "--out", "-", str(data))
    lines = done.stdout.splitlines(keepends=True)
    message = json.loads(lines[-2])
    assert message["body"] == {"type": "string", "value": "1"}
    assert (message["host"], message["queue"], message["priority"]) == ("default", "orders", 3)
    end = json.loads(lines[-1])
    assert end["sha256"] == hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()


def test_an_import_that_is_refused_says_why_and_changes_nothing(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    (tmp_path / "bad").write_text('{"type": "letter"}\n')
    before = traces(data)
    for file, why in ((tmp_path / "bad", "no export"), (tmp_path / "none", "cannot read")):
        told = amqp_gateway("store", "import", str(file), str(data))
        assert (told.exit_code, told.stderr.count("\n")) == (1, 1)
        assert why in told.stderr
    kept = {name: octets for name, (octets, _mode, _at) in traces(data).items()}
    assert kept == {name: octets for name, (octets, _mode, _at) in before.items()}


@pytest.mark.parametrize("command", ["import", "compact"])
def test_a_running_gateways_store_is_not_changed(tmp_path: Path, command: str) -> None:
    (tmp_path / "all").write_text("")
    gateway = WholeGateway(tmp_path / "data").start()
    given = [str(tmp_path / "all")] if command == "import" else []
    told = amqp_gateway("store", command, *given, str(tmp_path / "data"))
    gateway.stop()
    assert told.exit_code == 1
    assert told.stderr == (
        f"amqp-gateway: data directory {tmp_path}/data is used by another process\n"
    )


def test_compacting_says_how_much_it_gave_back(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    done = amqp_gateway("store", "compact", str(data))
    assert (done.exit_code, done.stderr) == (0, "")
    before, _octets, _before, after, *_rest = done.output.replace(",", "").split()
    assert int(after) == (data / "store.sqlite").stat().st_size <= int(before)
    assert held(data) == {"orders": 3}
