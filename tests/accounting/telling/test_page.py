"""What the page's style sees to, as browsers have shown it: nothing is cut off, none is misread."""

import re

from gateway.accounting.telling.page import PAGE

STYLE = re.search("<style>(.*)</style>", PAGE.template, re.DOTALL)[1]


def media(condition: str) -> str:
    """The rules behind it."""
    begin = STYLE.index("{", STYLE.index(f"@media {condition}")) + 1
    depth, at = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(STYLE[at], 0)
        at += 1
    return STYLE[begin : at - 1]


def test_a_number_is_on_one_line_also_on_paper() -> None:
    rules = re.findall(r"([^{}]*)\{([^{}]*)\}", STYLE)
    said = [what for who, what in rules if re.search(r"td\.n(?![.\w])|\.n(?= |$)", who)]
    assert any("white-space: nowrap" in what for what in said)
    assert not [what for what in said if "normal" in what or "anywhere" in what]


def test_charts_keep_their_size_on_a_phone_where_their_letters_could_not_be_read() -> None:
    assert "svg { min-width: 640px; }" in media("(max-width: 700px)")


def test_the_name_of_a_line_stays_where_a_table_is_moved_and_breaks_where_it_is_long() -> None:
    assert re.search(r"td:first-child \{ position: sticky; left: 0;", STYLE)
    assert re.search(r"td:first-child:not\(\.n\) \{ overflow-wrap: anywhere;", STYLE)


def test_steps_are_divided_between_sheets_and_what_is_folded_is_named_on_them() -> None:
    on_paper = media("print")
    assert re.search(r"pre \{[^}]*overflow: visible;", on_paper)
    assert "details.more:not([open]) > summary::after" in on_paper
