"""Where one message went, from the records of an audit log."""

import shutil
from pathlib import Path
from uuid import UUID

import pytest
from support.audit_logs import ScriptedGateway
from support.lives import lived
from support.verbs import amqp_gateway

from gateway.amqp_1_0 import types
from gateway.amqp_1_0.primitives.encoding import to_bytes
from gateway.audit.digests import digest
from gateway.audit.ends import last_sequence_of
from gateway.audit.reader import segment_paths
from gateway.audit.story import Record
from gateway.cli.trace import digests_of, messages_at
from gateway.wire.tagged import Tagged

ID = "8c79d4bf-09b3-350a-9cd3-127a4be2ac36"
OCTETS = UUID(ID).bytes


def spelled(octets: bytes) -> str:
    return f"{digest(octets) % (1 << 64):016x}"


@pytest.mark.parametrize(
    ("given", "octets"),
    [
        (ID, OCTETS),
        (f"ID:{ID}", OCTETS),
        (ID, to_bytes(Tagged(types.UUID, OCTETS))),
        (ID, to_bytes(Tagged(types.STRING, ID))),
        (f"ID:{ID}", to_bytes(Tagged(types.STRING, f"ID:{ID}"))),
        (f"ID:{ID}", to_bytes(Tagged(types.STRING, ID))),
        ("17", to_bytes(Tagged(types.ULONG, 17))),
        ("17", to_bytes(Tagged(types.STRING, "17"))),
    ],
)
def test_a_message_id_is_found_as_either_protocol_may_have_had_it(
    given: str, octets: bytes
) -> None:
    assert spelled(octets) in digests_of(given)


def test_a_number_too_large_for_a_message_id_is_a_text() -> None:
    assert digests_of(str(1 << 64)) == {spelled(to_bytes(Tagged(types.STRING, str(1 << 64))))}


def record(kind: str, **fields: object) -> Record:
    return {"time_ms": 1_700_000_000_123, "kind": kind, **fields}


def test_messages_are_found_by_what_they_had_to_do_with_and_when() -> None:
    steps = [
        record("received", message=7, exchange="x"),
        record("entered", message=7, node="orders"),
        record("entered", message=8, node="other"),
        record("queue-checkpoint", node="orders", depth=1),
        record("entered", message=9, node="orders") | {"time_ms": 2_000_000_000_000},
    ]
    assert messages_at(steps, "orders") == {7, 9}
    assert messages_at(steps, "orders", 1_700_000_000_124) == {9}
    assert messages_at(steps, "orders", None, 1_700_000_000_123) == {7}


def test_of_several_gateways_the_steps_are_told_in_the_order_of_time(tmp_path: Path) -> None:
    logs = []
    for name, later in (("a", 0), ("b", 1)):
        gateway = ScriptedGateway(tmp_path / name)
        gateway.now_ms += later
        message = gateway.publish("orders")
        gateway.turn()
        gateway.now_ms += 5
        gateway.consume("orders", message)
        gateway.stop()
        logs.append(str(gateway.close()))
    done = amqp_gateway("audit", "trace", "--message", "1", *logs)
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [(Path(line[0]).name, line[3]) for line in lines] == [
        *(("a", "received"), ("a", "entered"), ("b", "received"), ("b", "entered")),
        *(("a", "sent"), ("a", "settled"), ("b", "sent"), ("b", "settled")),
    ]


def test_what_is_missing_where_the_story_goes_on_is_told_and_makes_it_exit_1(
    tmp_path: Path,
) -> None:
    gateway = ScriptedGateway(tmp_path / "log", segment_octets=2000)
    message = gateway.publish("orders")
    for _ in range(30):
        gateway.publish("other")
        gateway.turn()
    gateway.consume("orders", message)
    gateway.stop()
    segment_paths(gateway.close())[1].unlink()
    done = amqp_gateway("audit", "trace", "--message", str(message), str(tmp_path / "log"))
    assert done.exit_code == 1
    steps = [line.split()[1:] for line in done.stdout.splitlines()]
    assert steps[2][:2] == ["--", "records"]
    none = amqp_gateway("audit", "trace", "--message", "999", str(tmp_path / "log"))
    assert none.exit_code == 1
    assert "no message has the number 999; but of the log records " in none.stderr


def test_where_nothing_is_found_it_is_told_where_the_log_begins(tmp_path: Path) -> None:
    gateway = ScriptedGateway(tmp_path / "log", segment_octets=1000)
    for _ in range(30):
        gateway.consume("orders", gateway.publish("orders"))
        gateway.turn()
    gateway.stop()
    log = gateway.close()
    whole = Path(shutil.copytree(log, tmp_path / "whole"))
    asked = ("audit", "trace", "--message", "999")
    assert amqp_gateway(*asked, str(log)).stderr.endswith("no message has the number 999\n")
    for path in segment_paths(log)[:2]:
        path.unlink()
    first = last_sequence_of(segment_paths(whole)[:2]) + 1
    begins = f"the log begins with record {first}: what was before is not in it"
    done = amqp_gateway(*asked, str(log))
    assert done.exit_code == 1
    assert done.stderr.endswith(f"no message has the number 999; but {begins}\n")
    done = amqp_gateway(*asked, str(whole), str(log))
    assert done.stderr.endswith(f"no message has the number 999; but {log}: {begins}\n")


def test_a_correlation_id_is_that_of_the_request(tmp_path: Path) -> None:
    lived(tmp_path, messages=1)
    log = str(tmp_path / "audit")
    done = amqp_gateway("audit", "trace", "--correlation-id", "none", log)
    assert done.exit_code == 1
    assert done.stderr.startswith("the log has no correlation-ids: ")
    assert "no message has the message-id 'none'" in done.stderr
