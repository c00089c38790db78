"""Who reads the audit log by a program of his own has all numbers in the document."""

from enum import IntEnum, IntFlag
from pathlib import Path

import pytest

from gateway.audit.schema import Flag, Kind, Outcome, Reason

TEXT = (Path(__file__).parents[2] / "docs" / "accounting.md").read_text()


@pytest.mark.parametrize("numbers", [Kind, Outcome, Reason, Flag])
def test_every_number_of_a_record_is_in_the_document(numbers: type[IntEnum | IntFlag]) -> None:
    words = " ".join(TEXT.split())
    for name, number in numbers.__members__.items():
        said = f"{number.value} {name.lower().replace('_', '-')}"
        assert f" {said}," in words or f" {said}." in words, said
