"""Each break that is planted is found by its name, with its message, once, and nothing else is."""

from pathlib import Path

import pytest
from support import planted_table

from gateway.accounting.steps.breaks import BreakClass


@pytest.fixture(scope="module")
def lines(spark, tmp_path_factory) -> list[planted_table.Line]:
    return planted_table.table(spark, Path(tmp_path_factory.mktemp("table")))


def test_all_of_it_is_found_and_nothing_else(lines) -> None:
    wrong = [str(line) for line in lines if not line.right]
    assert wrong == []


def test_a_log_with_a_break_ends_with_exit_code_1(lines) -> None:
    assert {line.exit_code for line in lines} == {1}


def test_every_class_has_a_line(lines) -> None:
    wanted = {str(each) for each in BreakClass} - {"UNDECLARED_LOSS"}  # which needs real bodies
    assert wanted <= {line.break_class for line in lines}
