"""Charts are well-formed, named, and nothing of them lies outside."""

import re
from xml.etree import ElementTree

import pytest

from gateway.accounting.telling.charts import WIDTH, Bar, Series, bars, lines
from gateway.accounting.telling.words import number

AT = 1_790_000_000_000


def drawing(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(AT, 0)],
        [(AT, 5)],
        [(AT, 0), (AT + 1, 0)],
        [(AT + each, each**3) for each in range(99)],
    ],
)
@pytest.mark.parametrize("steps", [True, False])
def test_a_line_stays_inside_whatever_its_values(points: list, steps: bool) -> None:
    told = lines("Depth & more", [Series("one", points, steps)], number)
    figure = drawing(told)
    svg = figure.find(".//svg")
    assert svg is not None
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == "Depth & more"
    numbers = [float(each) for each in re.findall(r"-?\d+\.\d", " ".join(_paths(svg)))]
    assert all(0 <= each <= WIDTH for each in numbers)


def _paths(svg: ElementTree.Element) -> list[str]:
    return [each.get("d") or "" for each in svg.iter("path")]


def test_names_of_several_lines_are_told_and_of_one_are_not() -> None:
    one, two = Series("came", [(AT, 1)]), Series("left", [(AT, 2)])
    assert "legend" not in lines("x", [one], number)
    assert lines("x", [one, two], number).count("<li>") == 2


def test_the_longest_bar_fills_the_room_and_none_is_a_hair() -> None:
    told = drawing(bars("x", ["a"], [Bar("q", [50], "50"), Bar("r", [100], "100")]))
    wide = [float(each.get("width") or 0) for each in told.iter("rect")]
    assert wide == [220.0, 440.0]
    none = drawing(bars("x", ["a"], [Bar("q", [0], "0")]))
    assert [each.get("width") for each in none.iter("rect")] == ["0.0"]


def test_a_name_is_escaped_and_a_long_one_cut() -> None:
    told = bars("x", ["a"], [Bar("<q>" + "x" * 90, [1], "1")])
    drawing(told)
    assert "&lt;q&gt;" in told
    assert "x" * 40 not in told
