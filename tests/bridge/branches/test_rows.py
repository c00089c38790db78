"""Rows and pages of branches, as the store keeps them."""

import pytest
from support.field_names import field_names

from gateway.bridge.branches.rows import BranchRow, PageRow, branch_row, page_row, pages_of
from gateway.bridge.durable.topology_rows import RowKind, numbers_of
from gateway.errors import DecodeError
from gateway.store.interface import TopologyRow


def row() -> BranchRow:
    return BranchRow(
        "/", "1.aa.bb", number=7, state=4, prepared_ms=1_790_000_000_000, timeout_s=60, user="joe"
    )


def page(number: int = 0) -> PageRow:
    made = PageRow("/", "1.aa.bb", number)
    made.accepts = [(1, 2), (1, 3)]
    made.held = [("amq.topic", [(1, 10), (2, 11)]), ("", [(2, 12)])]
    return made


def fields(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in field_names(value)}


def test_a_branch_comes_back_as_it_was() -> None:
    assert fields(branch_row(row().encoded())) == fields(row())


def test_a_page_comes_back_as_it_was() -> None:
    assert fields(page_row(page(3).encoded())) == fields(page(3))


def test_the_pages_of_a_branch_lie_in_its_span_in_their_order() -> None:
    first, behind = pages_of("/", "1.aa.bb")
    keys = [page(number).key() for number in (0, 1, 300)]
    assert keys == sorted(keys)
    assert all(first <= key < behind for key in keys)
    assert not first <= row().key() < behind
    assert not first <= PageRow("/", "1.aa.bbcc", 0).key() < behind


def test_the_number_of_a_shelf_is_known_as_a_queues() -> None:
    stored = TopologyRow(int(RowKind.BRANCH), row().key(), row().encoded())
    assert numbers_of([stored]) == {7}


@pytest.mark.parametrize("octets", [b"", b"\2", row().encoded()[:-1], page().encoded()[:-1]])
def test_what_is_cut_off_or_of_another_version_is_unreadable(octets: bytes) -> None:
    with pytest.raises(DecodeError):
        branch_row(octets)
    with pytest.raises(DecodeError):
        page_row(octets)
