"""What is written against what a section takes."""

from __future__ import annotations

import pytest

from gateway.config.raw import validated
from gateway.config.section import Section
from gateway.errors import ConfigurationError


class Door(Section):
    """A section with a key that it cannot be without."""

    key: str
    width: int = 1


@pytest.mark.parametrize(
    ("raw", "problem"),
    [({}, ("key", "must be set")), ({"key": 7}, ("key", "must be a valid string"))],
)
def test_without_a_key_that_it_needs_there_is_no_section_and_all_is_told(raw, problem):
    with pytest.raises(ConfigurationError) as raised:
        validated(Door, raw | {"width": "wide", "height": 2})
    assert problem in raised.value.problems
    assert {key for key, _ in raised.value.problems} == {"key", "width", "height"}


def test_of_what_is_right_there_is_a_section_whatever_else_is_wrong():
    door, problems = validated(Door, {"key": "brass", "width": "wide"})
    assert (door.key, door.width) == ("brass", 1)
    assert [key for key, _ in problems] == ["width"]
