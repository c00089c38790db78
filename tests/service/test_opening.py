"""What a start says of what the store has, and where it refuses to begin with it."""

import io
import pathlib
import shutil

import pytest
from support.stopped import filled
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.errors import ConfigurationError
from gateway.offline.directory import to_read
from gateway.offline.exporting import Wanted, export
from gateway.offline.importing import import_into
from gateway.store.unlogged import Unlogged


def test_a_start_that_comes_to_nothing_does_not_make_a_killed_store_one_that_was_closed_in_order(
    tmp_path: pathlib.Path,
) -> None:
    users = tmp_path / "users.yaml"
    users.write_text("alice: nonsense")
    gateway = WholeGateway(tmp_path / "alive").start()
    gateway.result(gateway.connect_0_10().declare_queue("q", durable=True))
    shutil.copytree(tmp_path / "alive", tmp_path / "killed")
    gateway.stop()
    for directory, clean in (("killed", False), ("alive", True)):
        with pytest.raises(ConfigurationError):
            WholeGateway(tmp_path / directory, f"users_file={users}")
        again = WholeGateway(tmp_path / directory).start()
        assert again.service.recovered.clean is clean
        again.stop()


def test_records_that_a_refusing_disk_has_cost_are_told_at_the_next_start_alone(
    tmp_path: pathlib.Path,
) -> None:
    gateway = WholeGateway(tmp_path).start()
    gateway.stop()
    last = int(gateway.service.bridge.audit.next_sequence) - 1
    unlogged = Unlogged(tmp_path)
    unlogged.open()
    unlogged.mark(last + 5)
    unlogged.close()
    told: list[str] = []
    for _ in range(2):
        with capturedLogs() as events:
            gateway = WholeGateway(tmp_path).start()
        gateway.stop()
        lines = [formatEvent(event) for event in events]
        told += [line for line in lines if "in memory alone" in line]
    (line,) = told
    assert f"5 records, numbers {last + 1} to {last + 5}, were in memory alone" in line


def test_what_was_imported_is_told_at_the_next_start_alone(tmp_path: pathlib.Path) -> None:
    out = io.BytesIO()
    with to_read(filled(tmp_path / "a", 2)) as database:
        export(database, Wanted([]), out, 0)
    out.seek(0)
    import_into(tmp_path / "b", out, size=0, who="a.jsonl (ann)", now_ms=0)
    told: list[str] = []
    for _ in range(2):
        with capturedLogs() as events:
            gateway = WholeGateway(tmp_path / "b").start()
        gateway.stop()
        lines = [formatEvent(event) for event in events]
        told += [line for line in lines if "were imported" in line]
    (line,) = told
    first = (1 << 44) + 1
    assert line.startswith(f"messages {first} to {first + 1} were imported while no gateway ran:")
    assert "from a.jsonl (ann), sha256 " in line
