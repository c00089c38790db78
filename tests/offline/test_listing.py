"""What an operator is shown of a store's nodes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from support.stopped import filled
from support.stores import one_message

from gateway.bridge.durable.topology_rows import QueueRow, RowKind, row_key
from gateway.bridge.seams import QueueSettings
from gateway.offline.directory import to_read
from gateway.offline.forms import Told
from gateway.offline.listing import messages, nodes, numbers_of
from gateway.offline.living import Living
from gateway.offline.topology import Topology
from gateway.store.database import Database
from gateway.store.log_rows import pack_row


def stand(directory: Path) -> Path:
    """A queue with two messages, one of that name in another host, one deleted, one in no row."""
    filled(directory, 2)
    database = Database(directory / "store.sqlite")
    rows = {}
    for kind, host, number in ((RowKind.QUEUE, "other", 70), (RowKind.DELETED, "default", 71)):
        row = QueueRow(host, "orders", number, QueueSettings(durable=True))
        rows[int(kind), row_key(host, "orders", str(number))] = row.encoded()
    database.write_topology(rows)
    for number, queue in enumerate((70, 71, 99), start=database.last_row() + 1):
        row = pack_row(one_message(number, queue_id=queue).take(), b"")
        database.commit(number, row, {})
    database.close()
    return directory


def test_each_queue_has_what_it_holds_and_how_it_stands(tmp_path: Path) -> None:
    with to_read(stand(tmp_path / "data")) as store, closing(Living(store)) as living:
        queues = [each for each in nodes(Topology(store), living) if each["type"] == "queue"]
    assert [_seen(each) for each in queues] == [
        ("default", "orders", 2, ""),
        ("default", "orders", 1, "deleted"),
        ("other", "orders", 1, ""),
        ("", "", 1, "in no row"),
    ]


def _seen(each: Told) -> tuple[str, str, int, str]:
    return each["host"], each["name"], each["messages"], each["state"]


def test_queues_are_found_by_name_and_host(tmp_path: Path) -> None:
    with to_read(stand(tmp_path / "data")) as store, closing(Living(store)) as living:
        topology = Topology(store)
        everywhere = numbers_of(topology, living, ["orders"], "")
        assert len(everywhere) == 3
        assert numbers_of(topology, living, ["orders"], "other") == [70]
        assert {*numbers_of(topology, living, [], "")} == {*everywhere, 99}
        assert len(list(messages(living, everywhere))) == 4
