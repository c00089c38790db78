"""Prepared branches: exports have them, imports bring them, and a check looks what they hold."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.prepared import NAME, with_branch
from support.stopped import filled, take
from support.whole_gateway import WholeGateway

from gateway.audit.reader import segment_paths
from gateway.bridge.branches.rows import BranchRow, PageRow, branch_row, page_row
from gateway.bridge.durable.topology_rows import RowKind
from gateway.cli.reading import Reading
from gateway.net.admin.branches import decide
from gateway.offline.checking import Check
from gateway.offline.directory import to_read
from gateway.offline.exporting import Wanted, export
from gateway.offline.importing import Imported, import_into
from gateway.store.database import Database
from gateway.store.log_rows import pack_row
from gateway.store.writes import TurnWriter


def exported(directory: Path) -> bytes:
    out = io.BytesIO()
    with to_read(directory) as database:
        export(database, Wanted([]), out, 0)
    return out.getvalue()


def bring(directory: Path, octets: bytes, *, again: bool = False) -> Imported:
    return import_into(
        directory, io.BytesIO(octets), size=len(octets), who="ann", now_ms=0, again=again
    )


def problems(directory: Path) -> list[str]:
    return [f"{key} {text}" for key, text in Check(directory).problems()]


def bodies(gateway: WholeGateway, queue: str) -> list[str]:
    return [str(letter.body.value) for letter in take(gateway, 10, queue)]


def held(directory: Path) -> tuple[BranchRow, PageRow]:
    """The only branch, and the only page of what it holds."""
    database = Database(directory / "store.sqlite")
    found = {row.kind: row.value for row in database.topology()[0]}
    database.close()
    return branch_row(found[RowKind.BRANCH]), page_row(found[RowKind.BRANCH_PAGE])


def change(
    directory: Path, rows: dict[tuple[int, str], bytes | None], writer: TurnWriter | None = None
) -> Path:
    """Rows of the topology, and of the log, as a gateway would have written them."""
    database = Database(directory / "store.sqlite")
    row = pack_row((writer or TurnWriter()).take(), b"")
    database.commit(database.last_row() + 1, row, rows)
    database.close()
    return directory


@pytest.mark.parametrize(
    ("how", "orders", "results"),
    [("commit", ["2", "3", "4"], ["5"]), ("rollback", ["1", "2", "3"], [])],
)
def test_a_branch_goes_on_in_another_store(
    tmp_path: Path, how: str, orders: list[str], results: list[str]
) -> None:
    data = tmp_path / "b"
    done = bring(data, exported(with_branch(tmp_path / "a")))
    assert (done.messages, done.left_out, done.kept) == (5, 0, [])
    assert problems(data) == []
    gateway = WholeGateway(data).start()
    decide(gateway.service.bridge, "", NAME, how)
    gateway.run()
    assert bodies(gateway, "orders") == orders
    assert bodies(gateway, "results") == results
    gateway.stop()
    gateway.ledger().assert_balanced()


def test_what_a_branch_has_accepted_nobody_else_gets_behind_what_was_there(tmp_path: Path) -> None:
    octets = exported(with_branch(tmp_path / "a"))
    data = filled(tmp_path / "b", 2)
    bring(data, octets)
    gateway = WholeGateway(data).start()
    assert bodies(gateway, "orders") == ["1", "2", "2", "3"]
    gateway.stop()
    gateway.ledger().assert_balanced()


def test_the_audit_log_has_a_branch_as_prepared_when_it_comes_and_as_back_from_then_on(
    tmp_path: Path,
) -> None:
    octets = exported(with_branch(tmp_path / "a"))
    data = filled(tmp_path / "b", 2)
    bring(data, octets)
    for told in (["prepared"], ["prepared", "recovered"]):
        WholeGateway(data).start().stop()
        records = Reading(segment_paths(data / "audit")).records()
        found = [str(each["outcome"]) for each in records if each["kind"] == "transaction"]
        assert found == told


def test_a_branch_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    octets = exported(with_branch(tmp_path / "a"))
    data = with_branch(tmp_path / "b")
    done = bring(data, octets)
    assert done.kept == [f"branch '{NAME}' is there, and stays as it is"]
    assert (done.messages, done.left_out) == (3, 2)
    assert problems(data) == []


def test_a_branch_of_which_all_is_there_is_no_problem(tmp_path: Path) -> None:
    assert problems(with_branch(tmp_path / "a")) == []


def test_what_a_branch_holds_and_is_not_there_is_told(tmp_path: Path) -> None:
    data = with_branch(tmp_path / "a")
    branch, page = held(data)
    gone = TurnWriter()
    for queue, position in page.accepts:
        gone.dequeue(queue, position)
    gone.dequeue(branch.number, page.held[0][1][0][1])
    change(data, {}, gone)
    accepted, published = problems(data)
    assert accepted.startswith(f"BRANCH {NAME}: position ")
    assert accepted.endswith("of queue 'orders', which it has accepted, is not there")
    assert f"BRANCH {NAME}: what it is to publish to 'orders' is not there: position" in published


def test_what_two_branches_have_accepted_is_told(tmp_path: Path) -> None:
    data = with_branch(tmp_path / "a")
    branch, page = held(data)
    page.text, page.held = "1.79.62", []
    other = BranchRow(page.host, page.text, number=0, state=branch.state)
    change(
        data,
        {
            (int(RowKind.BRANCH), other.key()): other.encoded(),
            (int(RowKind.BRANCH_PAGE), page.key()): page.encoded(),
        },
    )
    (told,) = problems(data)
    assert "of queue 'orders' is accepted by" in told


def test_a_page_of_no_branch_is_told(tmp_path: Path) -> None:
    page = PageRow("/", "1.79.62", 0)
    data = change(filled(tmp_path / "a"), {(int(RowKind.BRANCH_PAGE), page.key()): page.encoded()})
    assert problems(data) == ["BRANCH 1.79.62 holds something, and is in no row"]
