"""The matrix itself: whole, and shown as it is."""

import pytest
from interop.upstream import matrix


def test_every_row_says_something_of_every_broker() -> None:
    for capability, row in matrix.read().items():
        assert row.keys() == {"about", *matrix.BROKERS}, capability


def test_the_page_on_upstreams_shows_the_matrix_as_it_is() -> None:
    text = matrix.PAGE.read_text()
    assert matrix.shown(text) == text, "run tests/interop/upstream/matrix.py"


def test_an_outcome_that_the_record_does_not_have_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTEROP_MATRIX", raising=False)
    matrix.check("exclusive", "artemis", "405")
    with pytest.raises(AssertionError, match="exclusive, artemis: 'yes'"):
        matrix.check("exclusive", "artemis", "yes")
