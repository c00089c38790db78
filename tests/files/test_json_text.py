"""JSON by somebody else is read, or is a ValueError: it breaks nothing."""

import pytest

from gateway.files.json_text import json_value


def test_what_is_said_is_read():
    assert json_value(b'{"one": [1, 2.5, null]}') == {"one": [1, 2.5, None]}
    assert json_value("[]") == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1,]", b"\xff\xfe\xff", "[" * 100_000, '{"a":' * 100_000, "9" * 100_000],
    ids=["empty", "half", "comma", "octets", "deep list", "deep object", "long number"],
)
def test_what_is_no_json_that_can_be_read_is_a_value_error(text: str | bytes):
    with pytest.raises(ValueError, match=r"."):
        json_value(text)


def test_numbers_that_are_not_whole_are_read_as_it_is_said():
    assert json_value("[1, 1.50, NaN]", fractions=str, constants=len) == [1, "1.50", 3]
