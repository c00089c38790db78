"""What rows of the topology mean: each kind that a gateway writes is known here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from support.stores import one_message

from gateway.bridge.branches.rows import BranchRow, PageRow
from gateway.bridge.durable.imports import ALL, ImportRow
from gateway.bridge.durable.topology_rows import (
    BindingRow,
    ExchangeRow,
    NotesRow,
    QueueRow,
    RowKind,
    encoded_host,
    encoded_position,
)
from gateway.bridge.seams import QueueSettings
from gateway.bridge.staging.rows import PartRow, StagedRow
from gateway.offline.checking import Check
from gateway.offline.directory import to_read
from gateway.offline.listing import nodes
from gateway.offline.living import Living
from gateway.offline.topology import Topology
from gateway.store.database import Database
from gateway.store.log_rows import pack_row

HOST = "default"


def rows() -> dict[tuple[int, str], bytes | None]:
    """One of each kind."""

    def queue(name: str, number: int) -> bytes:
        return QueueRow(HOST, name, number, QueueSettings(durable=True)).encoded()

    binding = BindingRow(HOST, "e", "q", "k", {}, b"").encoded()
    brought = ImportRow(1, "ab" * 32, "file (ann)", 0, 1, 2)
    brought.told = ALL
    values = {
        RowKind.EXCHANGE: ExchangeRow(HOST, "e", "topic", False, "", b"", "").encoded(),
        RowKind.QUEUE: queue("q", 1),
        RowKind.BINDING: binding,
        RowKind.DISPATCHED: b"",
        RowKind.NOTES: NotesRow(HOST, 1, [(b"key", 1, b"value")]).encoded(),
        RowKind.STAGED: StagedRow(HOST, "user", "file", 9, 1, b"").encoded(),
        RowKind.STAGED_PART: PartRow(HOST, "user", "file", 0, 0, 1, b"content").encoded(),
        RowKind.TRANSIT: queue("t", 2),
        RowKind.DEBT: binding,
        RowKind.DELETED: queue("d", 3),
        RowKind.UNREADABLE: queue("u", 4),
        RowKind.PLAIN_HOST: encoded_host(HOST),
        RowKind.SEEN: encoded_position(7),
        RowKind.BRANCH: BranchRow(HOST, "1.a.b", number=5, user="ann").encoded(),
        RowKind.BRANCH_PAGE: PageRow(HOST, "1.a.b", 0).encoded(),
        RowKind.IMPORT: brought.encoded(),
    }
    assert set(values) == set(RowKind)
    return {(int(kind), "key"): value for kind, value in values.items()}


def store(directory: Path) -> Path:
    database = Database(directory / "store.sqlite")
    with database.as_incarnation(1):
        database.write_topology(rows())
        for number in range(1, 6):
            row = pack_row(one_message(number, queue_id=number).take(), b"")
            database.commit(number, row, {})
    database.close()
    return directory


def test_a_row_of_each_kind_is_known(tmp_path: Path) -> None:
    with to_read(store(tmp_path)) as database:
        topology = Topology(database)
    assert topology.unreadable == topology.damaged == []
    assert topology.hosts() == [HOST]
    assert topology.untold() == []
    assert list(topology.flaws()) == []


def test_messages_of_any_kind_of_queue_are_in_a_row(tmp_path: Path) -> None:
    keys = {problem.key for problem in Check(store(tmp_path)).problems()}
    assert keys == {"MESSAGE"}  # what these messages have in them is none of a protocol
    with to_read(tmp_path) as database, closing(Living(database)) as living:
        queues = [each for each in nodes(Topology(database), living) if each["type"] == "queue"]
    assert {each["name"]: each["state"] for each in queues} == {
        "q": "",
        "t": "in front of an upstream",
        "d": "deleted",
        "u": "its row cannot be read",
        "branch 1.a.b": "of a prepared branch",
    }
    assert all(each["messages"] == 1 for each in queues)
