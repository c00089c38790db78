"""The page of mapping rows: as the rows are, and whole."""

from pathlib import Path

from gateway.codegen import mapping
from gateway.translate import mapping_rows

PAGE = Path(__file__).parents[2] / "docs" / "mapping.md"


def test_the_page_is_what_the_rows_yield() -> None:
    assert PAGE.read_text(encoding="utf-8") == mapping.page(), "run: python -m gateway.codegen"


def test_every_row_stands_on_the_page_once() -> None:
    page = mapping.page()
    for row in mapping_rows.ALL:
        assert page.count(f"| {row.number} | `{row.id}` |") == 1, row.id


def test_every_policy_is_explained() -> None:
    for policy in mapping_rows.POLICIES:
        assert f"| {policy} | " in mapping.HEAD, policy


def test_a_row_says_where_it_applies_and_what_becomes_of_what_does_not_fit() -> None:
    row = mapping_rows.ROWS["delivery.immediate"]
    assert (mapping.direction(row), mapping.policy(row)) == ("to 1.0", "escrow, else drop")
    row = mapping_rows.ROWS["values.uuid"]
    assert (mapping.direction(row), mapping.policy(row)) == ("both", "exact")


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert mapping.cell("a|b") == "a\\|b"
