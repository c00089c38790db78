"""Files that were staged go out with an export of everything, and come into another store."""

import io
from pathlib import Path

from support.stopped import filled
from support.whole_gateway import WholeGateway

from gateway.bridge.branches.rows import BranchRow
from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.staging.area import Staged
from gateway.bridge.staging.rows import StagedRow, staged_row
from gateway.offline.branches import ComingBranches
from gateway.offline.directory import to_read
from gateway.offline.exporting import Exported, Wanted, export
from gateway.offline.files import ComingFiles
from gateway.offline.importing import Imported, import_into
from gateway.store.interface import TopologyRow

NOW_MS = 1_700_000_100_000
HEADER = b"\0\0\0\x04\x09\x01\0\0"


def staged(directory: Path, **files: bytes) -> Path:
    """A gateway has run in which alice has staged such files, and was stopped."""
    gateway = WholeGateway(directory).start()
    area = gateway.service.bridge.default_host.staging
    for name, octets in files.items():
        made = area.open("alice", name, 2 * len(octets), 0, gateway.service.bridge.now_ms)
        assert isinstance(made, Staged)
        area.describe(made, HEADER, gateway.service.bridge.now_ms)
        area.append(made, octets, gateway.service.bridge.now_ms)
    gateway.run()
    gateway.stop()
    return directory


def found(directory: Path) -> dict[str, tuple[int, bytes, bytes]]:
    """What is there at the next start, by identifier."""
    gateway = WholeGateway(directory).start()
    area = gateway.service.bridge.default_host.staging
    names = [name for name in ("a", "b") if area.find("alice", name) is not None]
    files = {name: area.find("alice", name) for name in names}
    told = {name: (each.size, each.header, each.content()) for name, each in files.items() if each}
    gateway.stop()
    gateway.ledger().assert_balanced()
    return told


def exported(directory: Path, *queues: str) -> tuple[bytes, Exported]:
    out = io.BytesIO()
    with to_read(directory) as database:
        done = export(database, Wanted(list(queues)), out, NOW_MS)
    return out.getvalue(), done


def bring(directory: Path, octets: bytes) -> Imported:
    source = io.BytesIO(octets)
    return import_into(directory, source, size=len(octets), who="ann", now_ms=NOW_MS)


def test_what_is_staged_comes_along_and_can_be_gone_on_with(tmp_path: Path) -> None:
    parts = b"x" * 40_000
    octets, told = exported(staged(tmp_path / "old", a=b"hello", b=parts))
    assert told.files_left_out == 0
    assert bring(tmp_path / "new", octets).files == 2
    assert found(tmp_path / "new") == {
        "a": (10, HEADER, b"hello"),
        "b": (80_000, HEADER, parts),
    }


def test_what_is_staged_there_already_stays_as_it_is_with_all_its_parts(tmp_path: Path) -> None:
    octets, _ = exported(staged(tmp_path / "old", a=b"1" * 40_000, b=b"2"))
    new = staged(tmp_path / "new", a=b"other")
    done = bring(new, octets)
    assert (done.files, done.kept) == (
        1,
        ["file 'a' of user 'alice' is staged already, and stays as it is"],
    )
    assert found(new) == {"a": (10, HEADER, b"other"), "b": (2, HEADER, b"2")}


def test_an_export_of_some_queues_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    directory = filled(staged(tmp_path / "old", a=b"1"))
    octets, told = exported(directory, "orders")
    assert told.files_left_out == 1
    assert bring(tmp_path / "new", octets).files == 0
    assert found(tmp_path / "new") == {}


def test_a_file_of_a_branch_is_that_branchs_only_if_it_comes_along() -> None:
    branches = ComingBranches({}, lambda number: number)
    row = BranchRow("/", "1.61.62", number=7, state=2, prepared_ms=1, timeout_s=60, user="alice")
    branches.branch(TopologyRow(RowKind.BRANCH, row.key(), row.encoded()))
    files = ComingFiles({})
    for name, branch in (("a", "1.61.62"), ("b", "1.63.64"), ("c", "")):
        file = StagedRow("/", "alice", name, 5, 1, HEADER, branch)
        files.row(TopologyRow(RowKind.STAGED, file.key(), file.encoded()))
    brought = [staged_row(value) for value in files.rows(NOW_MS, branches).values()]
    assert [(file.identifier, file.branch) for file in brought] == [
        ("a", "1.61.62"),
        ("b", ""),
        ("c", ""),
    ]
