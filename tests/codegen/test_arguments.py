"""The page of arguments is as their table is."""

from pathlib import Path

from gateway.codegen import arguments
from gateway.faces.arguments.of_queues import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "arguments.md"


def test_the_page_is_what_the_table_yields() -> None:
    assert PAGE.read_text(encoding="utf-8") == arguments.page(), "run: python -m gateway.codegen"


def test_every_argument_that_is_read_stands_on_the_page_once() -> None:
    _, _, table = arguments.page().partition("|---|---|---|\n")
    told = [line.split("|")[1].strip() for line in table.splitlines()]
    for name in NAMES:
        assert sum(f"`{name}`" in names.split(", ") for names in told) == 1, name
