"""How numbers, times and tables are told."""

import pytest

from gateway.accounting.telling.words import (
    FOLDED,
    MANY,
    heads,
    lasting,
    left_out,
    moment,
    number,
    octets,
    table,
    traced,
)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1500, "1.5 s"),
        (90_000, "1.5 min"),
        (5_400_000, "1.5 h"),
        (172_800_000, "2 days"),
    ],
)
def test_a_length_of_time_has_the_unit_that_fits(value: float, told: str) -> None:
    assert lasting(value) == told


def test_numbers_and_sizes_are_for_people() -> None:
    assert [number(each) for each in (1234567, 0.5, 1234.5)] == ["1,234,567", "0.50", "1,234"]
    assert [octets(each) for each in (12, 1_500_000)] == ["12 octets", "1.5 MB"]


def test_a_moment_is_utc_and_exact_where_it_is_to_be() -> None:
    assert moment(1_790_000_000_007) == "2026-09-21 14:13:20"
    assert moment(1_790_000_000_007, exact=True) == "2026-09-21 14:13:20.007"
    assert moment(None) == "-"


def test_what_is_left_out_is_said() -> None:
    assert left_out(3, 3, "queues", "elsewhere") == ""
    assert "500 of 30,000 queues; elsewhere" in left_out(500, 30_000, "queues", "elsewhere")


def test_a_table_is_named_and_can_be_moved_by_keys() -> None:
    told = table("A <table>", "<th></th>", ["<td>1</td>"])
    assert 'aria-label="A &lt;table&gt;" tabindex="0"' in told
    assert told.endswith("<tbody><tr><td>1</td></tr></tbody></table></div>")


def test_a_table_of_many_columns_is_known_to_the_style_which_has_small_letters_for_it() -> None:
    assert '"wide many"' in table("Queues", heads(["queue"], map(str, range(MANY))), [])
    assert '"wide many"' not in table("Queues", heads(["queue"], map(str, range(MANY - 1))), [])


def test_of_a_long_table_the_rest_is_folded() -> None:
    rows = [f"<td>{each}</td>" for each in range(FOLDED + 7)]
    told = table("Queues", "<th></th>", rows)
    assert '<details class="more"><summary>7 more</summary>' in told
    assert told.count("<td>") == len(rows)
    assert "<details>" not in table("Queues", "<th></th>", rows[:FOLDED])


def test_a_log_that_is_elsewhere_is_traced_as_a_copy():
    assert traced("/logs/audit") == "/logs/audit"
    assert traced("s3a://logs/audit") == "COPY OF s3a://logs/audit"
