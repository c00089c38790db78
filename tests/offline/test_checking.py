"""Whether a data directory is whole: what is wrong with it is told, and nothing is written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support.stopped import fill, filled, killed, take, traces
from support.stores import message, one_message
from support.whole_gateway import WholeGateway

from gateway.audit.records.log import AuditLog
from gateway.bridge.durable.topology_rows import (
    BindingRow,
    QueueRow,
    RowKind,
)
from gateway.bridge.seams import QueueSettings
from gateway.errors import GatewayError
from gateway.offline.checking import Check
from gateway.store.contents import checksum_of
from gateway.store.database import Database
from gateway.store.log_rows import pack_row
from gateway.store.writes import TurnWriter

BODY = b"x" * 50


def problems(directory: Path) -> list[str]:
    """Kinds and texts of what is found, without a trace of the look."""
    before = traces(directory)
    found = [f"{key} {text}" for key, text in Check(directory).problems()]
    assert traces(directory) == before
    return found


def told(directory: Path) -> str:
    check = Check(directory)
    assert list(check.problems()) == []
    return "\n".join([*check.summary, *check.recovery])


def changed(directory: Path, *statements: str) -> Path:
    database = sqlite3.connect(directory / "store.sqlite")
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return directory


def with_row(directory: Path, writer: TurnWriter) -> Path:
    """Another row of the log, which is as a gateway would have written it."""
    database = Database(directory / "store.sqlite")
    row = pack_row(writer.take(), b"")
    database.commit(database.last_row() + 1, row, {})
    database.close()
    return directory


def test_what_a_gateway_leaves_is_whole_and_what_is_in_it_is_told(tmp_path: Path) -> None:
    text = told(filled(tmp_path / "data", 3))
    assert "1 virtual hosts, 0 exchanges, 1 queues, 0 bindings" in text
    assert "3 messages in queues, 132 octets, the oldest of 2023-11-14T22:13:20" in text
    assert "it was closed in order" in text


def test_what_a_kill_left_is_no_problem_and_what_a_start_will_do_is_told(tmp_path: Path) -> None:
    gateway = WholeGateway(filled(tmp_path / "data", 3)).start()
    take(gateway, 1)
    copy = killed(gateway, tmp_path / "killed")
    gateway.stop()
    before = traces(copy)
    text = told(copy)
    assert "not closed in order: the gateway was killed, or this is a copy" in text
    assert "messages of 1 queues may have been seen by a consumer" in text
    assert "octets of store.sqlite-wal will be copied into the store" in text
    assert traces(copy) == before


def test_a_backup_of_a_gateway_that_goes_on_is_whole(tmp_path: Path) -> None:
    gateway = WholeGateway(filled(tmp_path / "data", 2)).start()
    fill(gateway, 3)
    done: list[str] = []
    gateway.service.backup.make(tmp_path / "copy").addCallback(done.append)
    gateway.wait_until(lambda: bool(done))
    text = told(tmp_path / "copy")
    gateway.stop()
    assert "5 messages in queues" in text


def test_audit_records_that_the_store_alone_has_are_told(tmp_path: Path) -> None:
    audit = AuditLog(1, 1)
    audit.clock(0, 0)
    database = Database(tmp_path / "store.sqlite")
    database.started(1)
    database.commit(1, pack_row(b"", b""), {})
    database.commit(2, pack_row(b"", audit.take_block(0, stored=True)), {})
    database.close()
    told_by = told(tmp_path)
    assert "audit records of 1 rows are in the store alone: the log will get them" in told_by


def test_a_store_that_is_used_is_told_and_not_read(tmp_path: Path) -> None:
    gateway = WholeGateway(tmp_path / "data").start()
    with pytest.raises(GatewayError, match="a gateway is using"):
        list(Check(tmp_path / "data").problems())
    gateway.stop()


def test_a_directory_without_a_store_is_told(tmp_path: Path) -> None:
    for directory in (tmp_path / "none", tmp_path):
        with pytest.raises(GatewayError, match=r"No such file|there is no .*store\.sqlite"):
            list(Check(directory).problems())


def test_a_pipe_in_the_place_of_the_store_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "store.sqlite")
    with pytest.raises(GatewayError, match="is no regular file"):
        list(Check(tmp_path).problems())


def test_a_store_behind_a_link_is_read_as_serve_does(tmp_path: Path) -> None:
    filled(tmp_path / "data", 1)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert "1 messages in queues" in told(tmp_path / "link")


def test_a_file_of_sqlite_that_is_no_store_is_told(tmp_path: Path) -> None:
    changed(tmp_path, "CREATE TABLE people (name TEXT)")
    with pytest.raises(GatewayError, match="it is no store of a gateway: it has no table log"):
        list(Check(tmp_path).problems())


def test_a_store_of_another_format_is_told(tmp_path: Path) -> None:
    data = changed(filled(tmp_path / "data", 1), "UPDATE meta SET value = 9 WHERE key = 'format'")
    with pytest.raises(GatewayError, match="it has format 9; this program has 1"):
        list(Check(data).problems())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"no database at all" * 1000),
        lambda path: os.truncate(path, path.stat().st_size // 2),
        lambda path: os.truncate(path, path.stat().st_size // 2 - 100),
        lambda path: path.write_bytes(path.read_bytes()[:8192] + b"\0" * 30_000),
    ],
)
def test_a_file_that_is_broken_is_a_problem_of_sqlite(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    data = filled(tmp_path / "data", 30)
    spoil(data / "store.sqlite")
    found = problems(data)
    assert found
    assert found[0].startswith("SQLITE ")


def test_a_row_that_is_not_as_it_was_written_is_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 2)
    spoilt = "substr(body, 1, 60) || x'00' || substr(body, 62)"
    changed(data, f"UPDATE log SET body = CAST({spoilt} AS BLOB)")
    found = problems(data)
    assert found
    assert all(line.startswith("ROW row ") and "checksum" in line for line in found)


def test_a_row_that_has_become_text_is_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 2)
    changed(
        data,
        "UPDATE log SET body = CAST(x'ff00ff' AS TEXT)",
        "UPDATE topology SET key = CAST(x'ff00ff' AS TEXT) WHERE kind = 2",
    )
    assert {line.partition(" ")[0] for line in problems(data)} == {"ROW", "TOPOLOGY"}


def test_a_row_that_is_missing_is_a_problem(tmp_path: Path) -> None:
    data = changed(filled(tmp_path / "data", 2), "DELETE FROM topology WHERE kind = 2")
    assert [line.partition(" ")[0] for line in problems(data)] == ["QUEUE", "ROWS_MISSING"]


def test_what_was_set_aside_stays_a_problem(tmp_path: Path) -> None:
    data = changed(
        filled(tmp_path / "data", 2),
        "INSERT INTO damaged VALUES (2, 7, x'00')",
        "INSERT INTO damaged_topology VALUES (2, 3, 'key', x'00', 1)",
    )
    assert [line[:39] for line in problems(data)] == [
        "ROWS_MISSING set aside by start 2: row ",
        "ROWS_MISSING set aside by start 2: topo",
    ]


def test_a_row_of_the_topology_that_is_changed_is_a_problem(tmp_path: Path) -> None:
    data = changed(filled(tmp_path / "data", 1), "UPDATE topology SET checksum = 1 WHERE kind = 2")
    assert [line.partition(" ")[0] for line in problems(data)] == ["TOPOLOGY", "QUEUE"]


def test_a_row_of_a_later_version_is_a_problem(tmp_path: Path) -> None:
    value = b"\x09"
    checksum = checksum_of(99, "k", value)
    data = changed(
        filled(tmp_path / "data", 1),
        f"INSERT INTO topology VALUES (99, 'k', x'09', {checksum})",
        f"INSERT INTO topology VALUES (3, 'k', x'09', {checksum_of(3, 'k', value)})",
    )
    assert problems(data) == [
        "TOPOLOGY topology 3 'k': topology row of version 9",
        "TOPOLOGY topology 99 'k': no row of this version is of that kind",
    ]


def test_messages_of_a_queue_without_a_row_are_a_problem(tmp_path: Path) -> None:
    data = with_row(filled(tmp_path / "data", 1), one_message(1, queue_id=77))
    assert problems(data)[0] == "QUEUE queue number 77 is in no row, and holds 1 messages"


def test_two_messages_in_one_place_are_a_problem_and_one_that_is_written_again_is_none(
    tmp_path: Path,
) -> None:
    data = filled(tmp_path / "data", 1)
    again = one_message(1, 5, queue_id=77)
    again.message(message(5, BODY))
    again.enqueue(77, 1, 5)
    with_row(with_row(data, again), one_message(1, 5, queue_id=77))
    assert not [line for line in problems(data) if line.startswith("POSITION")]
    with_row(data, one_message(1, 6, queue_id=77))
    wrong = "POSITION queue number 77: position 1 has message 5, and message 6"
    assert wrong in problems(data)


def test_a_message_in_no_queue_is_a_problem(tmp_path: Path) -> None:
    writer = TurnWriter()
    writer.message(message(5, BODY))
    found = problems(with_row(filled(tmp_path / "data", 1), writer))
    assert [line.partition(":")[2] for line in found] == [" message 5 is in no queue"]


def test_an_entry_without_its_message_is_a_problem(tmp_path: Path) -> None:
    writer = TurnWriter()
    writer.enqueue(1, 1, 5)
    (found,) = problems(with_row(filled(tmp_path / "data", 1), writer))
    assert "message 5 is enqueued but not in its turn" in found


def test_a_message_that_cannot_be_decoded_is_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    database = sqlite3.connect(data / "store.sqlite")
    (queue,) = [row for row in database.execute("SELECT value FROM topology WHERE kind = 2")]
    number = int.from_bytes(queue[0][queue[0].index(b"orders") + 6 :][:8], "big")
    database.close()
    writer = TurnWriter()
    for position, payload, digest in ((1 << 50, b"\xff" * 9, 0), ((1 << 50) + 1, b"", 7)):
        facts = {"encoding": 1, "message_format": 0, "body_at": 0, "body_digest": digest}
        writer.message(message(position, payload, **facts))
        writer.enqueue(number, position, position)
    found = problems(with_row(data, writer))
    assert [line.partition(": ")[2] for line in found] == [
        "its octets cannot be decoded",
        "its body is not the one that came",
    ]
    assert "of queue 'orders'" in found[0]


def test_a_binding_whose_ends_are_not_there_is_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    database = Database(data / "store.sqlite")
    row = BindingRow("/", "nowhere", "nobody", "k", {}, b"")
    good = BindingRow("default", "amq.topic", "orders", "k", {}, b"")
    rows = {(int(RowKind.BINDING), each.row_key()): each.encoded() for each in (row, good)}
    database.write_topology(rows)
    database.close()
    assert problems(data) == [
        "REFERENCE binding of 'nobody' to 'nowhere' in '/': there is no such queue",
        "REFERENCE binding of 'nobody' to 'nowhere' in '/': there is no such exchange",
    ]


def test_two_queues_of_one_number_are_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    database = Database(data / "store.sqlite")
    rows = [QueueRow("default", name, 77, QueueSettings(durable=True)) for name in ("a", "b")]
    database.write_topology({(int(RowKind.QUEUE), row.name): row.encoded() for row in rows})
    database.close()
    assert problems(data) == ["REFERENCE queue number 77 is that of 'a' and 'b'"]


def test_a_log_that_is_not_what_the_store_remembers_is_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    for segment in (data / "audit").iterdir():
        segment.unlink()
    assert {line.partition(" ")[0] for line in problems(data)} == {"AUDIT"}


def test_a_backup_that_was_not_finished_is_a_problem(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    (data / "unfinished-backup").touch()
    assert problems(data) == [f"BACKUP it was not finished: {data}/unfinished-backup"]
