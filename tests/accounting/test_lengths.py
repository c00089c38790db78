"""Lengths of time, as command lines have them."""

from argparse import ArgumentTypeError

import pytest

from gateway.accounting.lengths import length_of_time


@pytest.mark.parametrize("text", ["0", "2.5", "1e8"])
def test_a_length_is_any_number_from_none_on(text: str) -> None:
    assert length_of_time(text) == float(text)


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1e9", ""])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no length of time"):
        length_of_time(text)
