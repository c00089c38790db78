"""An export loses nothing: what is read of it is what the store had, whatever wrote that store."""

from __future__ import annotations

import io
import json
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.stopped import filled
from support.verbs import amqp_gateway
from support.whole_gateway import WholeGateway
from vectors.stores.make_store import CONFIGURATION
from vectors.test_stores import NAMES, STORES

from gateway.errors import GatewayError
from gateway.message import Message
from gateway.offline.checking import Check
from gateway.offline.compacting import compact
from gateway.offline.directory import octets_of, to_read
from gateway.offline.exporting import Wanted, export, new_file
from gateway.offline.forms import NUMBERS, TEXTS
from gateway.offline.importing import import_into
from gateway.offline.living import Living
from gateway.offline.topology import Topology

NOW_MS = 1_700_000_100_000


def lines_of(directory: Path) -> bytes:
    out = io.BytesIO()
    with to_read(directory) as database:
        export(database, Wanted([]), out, NOW_MS)
    return out.getvalue()


def content(directory: Path) -> dict[tuple[str, str], list[Any]]:
    """Of each queue that is not deleted: all that its copies are, but for their numbers."""
    found: dict[tuple[str, str], list[Any]] = {}
    with to_read(directory) as database, closing(Living(database)) as living:
        for number, queue in Topology(database).queues.items():
            if queue.state != "deleted":
                found[queue.row.host, queue.row.name] = [
                    (copy.delivery_count, copy.annotations, facts(copy.message))
                    for copy in living.copies(number)
                ]
    return found


def facts(message: Message) -> tuple[object, ...]:
    return tuple(getattr(message, name) for name in (*NUMBERS, *TEXTS, "durable", "payload"))


@pytest.mark.parametrize("name", NAMES)
def test_stores_of_earlier_versions_are_whole_and_come_into_another_as_they_are(
    tmp_path: Path, name: str
) -> None:
    with tarfile.open(STORES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    assert list(Check(tmp_path / name).problems()) == []
    octets = lines_of(tmp_path / name)
    new = tmp_path / "new"
    import_into(new, io.BytesIO(octets), size=len(octets), who="ann", now_ms=NOW_MS)
    assert list(Check(new).problems()) == []
    assert content(new) == content(tmp_path / name)
    assert sum(map(len, content(new).values())) > 20
    with to_read(tmp_path / name) as one, to_read(new) as other:
        before, after = Topology(one), Topology(other)
        for part in ("exchanges", "bindings"):
            assert rows(getattr(after, part)) == rows(getattr(before, part))


@pytest.mark.parametrize("name", NAMES)
def test_stores_of_earlier_versions_are_compacted_and_take_messages_as_any(
    tmp_path: Path, name: str
) -> None:
    with tarfile.open(STORES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    data = tmp_path / name
    before = content(data)
    done = compact(data)
    assert octets_of(data) == done.after < done.before
    assert content(data) == before
    octets = lines_of(filled(tmp_path / "a", 3))
    import_into(data, io.BytesIO(octets), size=len(octets), who="ann", now_ms=NOW_MS)
    after = content(data)
    assert len(after.pop(("default", "orders"))) == 3
    assert after == before
    assert list(Check(data).problems()) == []
    gateway = WholeGateway(
        data, *CONFIGURATION[1:], "virtual_hosts=[{name: main}, {name: other}, {name: default}]"
    ).start()
    assert gateway.service.bridge.problems == []
    depths = {
        (host.name, queue.name): queue.depth
        for host in gateway.service.bridge.hosts.values()
        for queue in host.topology.queues.values()
    }
    gateway.stop()
    assert depths == {**{place: len(copies) for place, copies in before.items()}, **ORDERS}
    assert amqp_gateway("audit", "verify", str(data)).exit_code == 0


ORDERS = {("default", "orders"): 3}


def rows(of: list[Any]) -> list[bytes]:
    return sorted(each.encoded() for each in of)


def test_the_same_store_gives_the_same_lines_but_for_the_last(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 3)
    one, other = (lines_of(data).splitlines() for _ in range(2))
    assert one == other
    assert json.loads(one[-1])["exported"] == "2023-11-14T22:15:00.000Z"


def test_a_file_that_breaks_off_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_file(tmp_path / "all") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "all.new").write_text("half")
    with new_file(tmp_path / "all") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["all"]
    assert (tmp_path / "all").read_bytes() == b"whole"


def test_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    class Full(io.RawIOBase):
        def write(self, octets: object) -> int:
            raise OSError(28, "No space left on device")

    with (
        pytest.raises(GatewayError, match="No space left on device; nothing was"),
        new_file(tmp_path / "all"),
        to_read(filled(tmp_path / "data", 1)) as database,
    ):
        export(database, Wanted([]), Full(), NOW_MS)  # type: ignore[arg-type]  # a fake
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
