"""What is one name in the DNS."""

import pytest

from gateway.wire.dns_names import dns_name


@pytest.mark.parametrize("text", ["b.example", "B.EXAMPLE", "b.Example.", "b.example."])
def test_a_name_is_one_in_any_case_and_with_the_dot_of_the_root(text: str) -> None:
    assert dns_name(text) == "b.example"


@pytest.mark.parametrize("text", ["", "b", "b.example.org", "b.example..", "ab.example"])
def test_other_names_are_others(text: str) -> None:
    assert dns_name(text) != "b.example"
