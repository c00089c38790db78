"""The examples of RFC 4013, section 3, and its rules."""

import pytest

from gateway.net.saslprep import saslprep


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("a\u00a0b", "a b"),
        ("", ""),
        ("\u0627\u0628", "\u0627\u0628"),
    ],
)
def test_text_is_brought_to_its_prepared_form(text: str, prepared: str) -> None:
    assert saslprep(text) == prepared


@pytest.mark.parametrize(
    "text", ["\u0007", "\u06271", "\u0627a\u0628", "\ue000", "\u0221", "\ufffd"]
)
def test_prohibited_unassigned_and_mixed_direction_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not allowed|mixed"):
        saslprep(text)
