"""An export comes into a store: all of it or nothing, and the audit log hears of it."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import signal
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.bridge_ledger import BlockLog
from support.stopped import fill, filled, held, killed, take, traces
from support.whole_gateway import WholeGateway

from gateway.audit.reader import segment_paths
from gateway.cli.reading import Reading
from gateway.errors import GatewayError
from gateway.offline.checking import Check
from gateway.offline.directory import to_read
from gateway.offline.exporting import Wanted, export
from gateway.offline.importing import Imported, import_into
from gateway.store.database import Database
from gateway.store.log_rows import unpack_row
from gateway.store.sqlite import SqliteStore

MANY = 6000  # messages whose records are more than one turn has
NOW_MS = 1_700_000_100_000
Line = dict[str, Any]  # Any: what JSON holds


def exported(directory: Path, *queues: str) -> bytes:
    out = io.BytesIO()
    with to_read(directory) as database:
        export(database, Wanted(list(queues)), out, NOW_MS)
    return out.getvalue()


def bring(directory: Path, octets: bytes, *, again: bool = False) -> Imported:
    source = io.BytesIO(octets)
    return import_into(
        directory, source, size=len(octets), who="ann: all.jsonl", now_ms=NOW_MS, again=again
    )


def changed(octets: bytes, change: Callable[[list[Line]], None]) -> bytes:
    """Another export that is whole by its digest, whatever is in it."""
    lines = [json.loads(line) for line in octets.splitlines()]
    change(lines)
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    lines[-1]["sha256"] = sha256(body).hexdigest()
    return body + json.dumps(lines[-1]).encode() + b"\n"


def refused(directory: Path, octets: bytes, why: str, *, again: bool = False) -> None:
    """It says why, and what the directory holds is as it was."""
    before = exported(directory)
    with pytest.raises(GatewayError, match=why):
        bring(directory, octets, again=again)
    assert exported(directory).splitlines()[:-1] == before.splitlines()[:-1]
    assert list(Check(directory).problems()) == []


def kinds(directory: Path) -> list[str]:
    """The kinds of all records of the log, in order."""
    segments = segment_paths(directory / "audit")
    return [str(record["kind"]) for record in Reading(segments).records()]


def kinds_after_start(directory: Path) -> list[str]:
    """The same, of what a kill has left, with what the store alone has."""
    with to_read(directory) as database:
        bodies = [body for (body,) in database.execute("SELECT body FROM log ORDER BY number")]
    log = BlockLog()
    for body in bodies:
        log.append(unpack_row(body)[1])
    return [record.kind.name.lower() for record in log.records()]


def test_messages_come_to_the_end_of_their_queue_in_order_and_the_books_balance(
    tmp_path: Path,
) -> None:
    octets = exported(filled(tmp_path / "a", 3))
    data = filled(tmp_path / "b", 2)
    done = bring(data, octets)
    assert (done.messages, done.made, done.left_out, done.kept) == (3, 0, 0, [])
    gateway = WholeGateway(data).start()
    came = take(gateway, 10)
    gateway.stop()
    assert [letter.body.value for letter in came] == ["1", "2", "1", "2", "3"]
    assert not any(letter.redelivered for letter in came)
    ledger = gateway.ledger()
    ledger.assert_balanced()
    assert ledger.depths["orders"] == 0
    assert held(data) == {"orders": 0}


def test_an_empty_directory_becomes_a_store_with_all_that_was_exported(tmp_path: Path) -> None:
    gateway = WholeGateway(tmp_path / "a").start()
    client = gateway.connect_0_10()
    fill(gateway, 2)
    gateway.result(client.declare_queue("empty", durable=True))
    gateway.stop()
    done = bring(tmp_path / "new", exported(tmp_path / "a"))
    assert (done.messages, done.made) == (2, 2)
    assert {oct(path.stat().st_mode & 0o077) for path in (tmp_path / "new").iterdir()} == {"0o0"}
    assert list(Check(tmp_path / "new").problems()) == []
    assert held(tmp_path / "new") == {"orders": 2, "empty": 0}
    assert held(tmp_path / "new") == {"orders": 2, "empty": 0}


def test_what_is_brought_has_come_in_by_the_log_and_is_recovered_at_later_starts(
    tmp_path: Path,
) -> None:
    octets = exported(filled(tmp_path / "a", 2))
    data = filled(tmp_path / "b", 1)
    bring(data, octets)
    before = len(kinds(data))
    assert held(data) == {"orders": 3}
    first = kinds(data)[before:]
    assert [first.count(kind) for kind in ("received", "entered", "recovered")] == [2, 2, 1]
    assert held(data) == {"orders": 3}
    second = kinds(data)[before + len(first) :]
    assert [second.count(kind) for kind in ("received", "entered", "recovered")] == [0, 0, 3]


def test_only_what_was_there_may_have_been_seen_when_the_gateway_was_killed(
    tmp_path: Path,
) -> None:
    octets = exported(filled(tmp_path / "a", 2))
    gateway = WholeGateway(filled(tmp_path / "b", 2)).start()
    take(gateway, 1)
    data = killed(gateway, tmp_path / "killed")
    gateway.stop()
    bring(data, octets)
    again = WholeGateway(data).start()
    came = [(letter.body.value, letter.redelivered) for letter in take(again, 10)]
    again.stop()
    assert came == [("2", True), ("1", False), ("2", False)]
    again.ledger().assert_balanced()


def test_a_start_that_is_killed_while_it_tells_leaves_the_rest_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def multiply(lines: list[Line]) -> None:
        lines[-2:-1] = lines[-2:-1] * MANY
        lines[-1]["messages"] = MANY

    data = tmp_path / "b"
    bring(data, changed(exported(filled(tmp_path / "a", 1)), multiply))
    submit = SqliteStore.submit

    def until_killed(store: SqliteStore, turn: int, writes: bytes, audit_block: bytes) -> None:
        if turn <= 1:
            submit(store, turn, writes, audit_block)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, "submit", until_killed)
        gateway = WholeGateway(data).start()
        gateway.let_happen(lambda: gateway.service.store.counts.turns == 1)
        copy = tmp_path / "killed"
        shutil.copytree(data, copy)
    said = kinds_after_start(copy)
    assert 0 < said.count("entered") < MANY
    assert held(copy) == {"orders": MANY}
    told = kinds(copy)
    assert (told.count("received"), told.count("entered")) == (MANY, MANY)
    assert told.count("recovered") == said.count("entered")


def test_the_same_export_is_not_brought_twice_unless_that_is_meant(tmp_path: Path) -> None:
    octets = exported(filled(tmp_path / "a", 2))
    data = filled(tmp_path / "b", 0)
    bring(data, octets)
    refused(data, octets, "imported already, 2023-11-14T22:15:00.000Z: once more with --again")
    assert held(data) == {"orders": 2}
    refused(data, octets, "imported already")
    assert bring(data, octets, again=True).messages == 2
    assert held(data) == {"orders": 4}


def test_what_is_there_stays_as_it_is_and_is_told(tmp_path: Path) -> None:
    octets = exported(filled(tmp_path / "a", 0))
    data = filled(tmp_path / "b", 1)

    def limit(lines: list[Line]) -> None:
        row = next(line for line in lines if line.get("kind") == "queue")
        value = bytearray(base64.b64decode(row["value"]))
        at = value.index(b"orders") + len(b"orders") + 8  # behind the name and the number
        value[at] |= 1  # exclusive
        row["value"] = base64.b64encode(bytes(value)).decode()

    done = bring(data, changed(octets, limit))
    assert done.kept == ["queue 'orders' is there, made otherwise, and stays as it is"]
    assert held(data) == {"orders": 1}


def cut_off(octets: bytes) -> bytes:
    return octets[: len(octets) // 2]


def without_end(octets: bytes) -> bytes:
    return b"".join(octets.splitlines(keepends=True)[:-1])


def without_a_message(octets: bytes) -> bytes:
    lines = octets.splitlines(keepends=True)
    return b"".join(lines[:-2] + lines[-1:])


def with_more_behind(octets: bytes) -> bytes:
    return octets + b"{}\n"


@pytest.mark.parametrize(
    "spoil, why",
    [
        (cut_off, "breaks off in line"),
        (without_end, "breaks off in line"),
        (without_a_message, "their SHA-256 is other"),
        (with_more_behind, "something follows the end"),
        (lambda _octets: b"", "breaks off in line 1"),
        (lambda _octets: b"\xff\xfe\n", "line 1 is no JSON"),
        (lambda _octets: b"[1]\n", "line 1 is no object"),
        (lambda _octets: b"{}\n", "no export"),
        (lambda octets: octets.replace(b'"format": 1', b'"format": 2', 1), "format 2; this"),
        (lambda _octets: b"[" * 100_000 + b"\n", "line 1 is no JSON"),
        (lambda _octets: bytes(100_000), "line 1 is no JSON"),  # as of a device, which has no end
    ],
)
def test_what_is_no_whole_export_brings_nothing(
    tmp_path: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    octets = exported(filled(tmp_path / "a", 3))
    refused(filled(tmp_path / "b", 1), spoil(octets), why)


def put(name: str, value: object, *, stored: bool = False) -> Callable[[list[Line]], None]:
    """Write something else into the last message."""

    def change(lines: list[Line]) -> None:
        message = lines[-2]["stored"] if stored else lines[-2]
        message[name] = value

    return change


@pytest.mark.parametrize(
    "change, why",
    [
        (put("payload", "no base64!"), "line 5: `payload` is no base64"),
        (put("payload", 7), "`payload` is no text"),
        (put("stored", None), "it has no `stored`"),
        (put("durable", "yes"), "whether it is `durable`"),
        (put("delivery_count", -1), "`delivery_count` is no number from 0"),
        (put("encoding", 2, stored=True), "`encoding` is no number from 0 to 1"),
        (put("body_at", 10_000, stored=True), "its body begins behind its end"),
        (put("priority", True, stored=True), "`priority` is no number"),
        (put("arrived_ms", 1 << 63, stored=True), "`arrived_ms` is no number"),
        (put("routing_key", "\udcff", stored=True), "`routing_key` is no UTF-8"),
        (put("type", "letter"), "it is none of an export"),
        (lambda lines: lines[-1].update(messages=2), "it has 3 messages, and says that it has 2"),
        (lambda lines: lines[1].update(value=""), "line 2: "),
    ],
)
def test_a_line_that_says_something_impossible_brings_nothing(
    tmp_path: Path, change: Callable[[list[Line]], None], why: str
) -> None:
    octets = exported(filled(tmp_path / "a", 3), "orders")
    refused(filled(tmp_path / "b", 1), changed(octets, change), why)


class KilledAt(io.BytesIO):
    """An export that is read by a process which is killed at one of its lines."""

    def __init__(self, octets: bytes, line: int) -> None:
        super().__init__(octets)
        self.left = line

    def readline(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().readline(-1 if size is None else size)


def in_a_child(work: Callable[[], object]) -> int:
    """How a process ends that does this."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("line", [0, 2, 20, 43])
def test_a_kill_while_it_reads_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int
) -> None:
    monkeypatch.setattr("gateway.offline.importing.ROW_OCTETS", 1000)
    octets = exported(filled(tmp_path / "a", 40))
    data = filled(tmp_path / "b", 1)
    source = KilledAt(octets, line)
    status = in_a_child(lambda: import_into(data, source, size=0, who="ann", now_ms=NOW_MS))
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert list(Check(data).problems()) == []
    assert held(data) == {"orders": 1}
    bring(data, octets)
    assert held(data) == {"orders": 41}


@pytest.mark.parametrize("when", ["before", "behind"])
def test_a_kill_behind_the_commit_leaves_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    octets = exported(filled(tmp_path / "a", 3))
    data = filled(tmp_path / "b", 1)
    real = Database.checkpoint

    def killed_at(database: Database, *, shrink: bool = False) -> None:
        if when == "behind":
            real(database, shrink=shrink)
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        monkeypatch.setattr(Database, "checkpoint", killed_at)
        bring(data, octets)

    assert os.WTERMSIG(in_a_child(work)) == signal.SIGKILL
    refused(data, octets, "imported already")
    assert held(data) == {"orders": 4}


def test_without_room_it_says_so_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    octets = exported(filled(tmp_path / "a", 3))
    data = filled(tmp_path / "b", 1)
    before = traces(data)
    monkeypatch.setattr("gateway.offline.directory.free_octets", lambda _directory: len(octets))
    with pytest.raises(GatewayError, match="there is no room for it on the disk"):
        bring(data, octets)
    assert traces(data) == before


def test_a_log_without_its_store_is_not_given_another(tmp_path: Path) -> None:
    octets = exported(filled(tmp_path / "a", 1))
    data = filled(tmp_path / "b", 1)
    (data / "store.sqlite").unlink()
    with pytest.raises(GatewayError, match="but an audit log beside it"):
        bring(data, octets)
    (data / "store.sqlite").touch()
    with pytest.raises(GatewayError, match="do not belong together"):
        bring(data, octets)


def test_messages_of_queues_that_are_gone_are_counted_and_left_out(tmp_path: Path) -> None:
    octets = exported(filled(tmp_path / "a", 3))

    def forget(lines: list[Line]) -> None:
        for line in lines:
            if line.get("kind") == "queue":
                line["number"] = 8  # deleted

    done = bring(tmp_path / "new", changed(octets, forget))
    assert (done.messages, done.left_out, done.made) == (0, 3, 0)
    assert held(tmp_path / "new") == {}
